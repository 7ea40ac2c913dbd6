"""What the protocol guarantees: admissible models, norm bounds, certified thresholds."""

from valid_ref.guarantees.admissible import (
    AdmissibleError,
    Distance,
    Ellipsoid,
    admissible_ball,
    admissible_ellipsoid,
    best_byzantine_vectors,
    distance_to_admissible,
    in_relaxed_set,
    is_admissible,
    phi,
)
from valid_ref.guarantees.bounds import (
    BoundsError,
    GivenConstants,
    configured_bounds,
    derive_bounds,
    range_conflicts,
)
from valid_ref.guarantees.certificate import (
    Certificate,
    CertificateError,
    NetworkProblem,
    certify,
)
from valid_ref.guarantees.heterogeneity import heterogeneity, is_heterogeneous
from valid_ref.guarantees.thresholds import (
    Level,
    Origin,
    Thresholds,
    calibrate,
    calibrated_weighting,
    certified_thresholds,
    shortfalls,
    thresholds_from_runs,
)

__all__ = [
    "AdmissibleError",
    "BoundsError",
    "Certificate",
    "CertificateError",
    "Distance",
    "Ellipsoid",
    "GivenConstants",
    "Level",
    "NetworkProblem",
    "Origin",
    "Thresholds",
    "admissible_ball",
    "admissible_ellipsoid",
    "best_byzantine_vectors",
    "calibrate",
    "calibrated_weighting",
    "certified_thresholds",
    "certify",
    "configured_bounds",
    "derive_bounds",
    "distance_to_admissible",
    "heterogeneity",
    "in_relaxed_set",
    "is_admissible",
    "is_heterogeneous",
    "phi",
    "range_conflicts",
    "shortfalls",
    "thresholds_from_runs",
]
