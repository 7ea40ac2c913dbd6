"""A run you can look at: the view of a run as a document, and one self-contained page of it.

Nothing of the reference imports this package but the command line.
"""

from valid_ref.report.build import erratum_view, run_view, view_of
from valid_ref.report.page import render_page
from valid_ref.report.view import FORMAT, PageView
from valid_ref.report.watched import watch_played, watch_recording, watch_replay, watch_run

__all__ = [
    "FORMAT",
    "PageView",
    "erratum_view",
    "render_page",
    "run_view",
    "view_of",
    "watch_played",
    "watch_recording",
    "watch_replay",
    "watch_run",
]
