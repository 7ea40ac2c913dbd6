"""How fast the reference is, as ratios measured side by side in one run.

    python -m benchmarks [--quick] [--only SECTION] [--output DIRECTORY]

Linear algebra libraries get one thread, before numpy is loaded: ratios are of one processor.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
