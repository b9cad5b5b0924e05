"""The spans of one run -> one Trajectory, the same way for every convention."""

from __future__ import annotations

from collections.abc import Sequence

from attest_otel.read.span import SpanRecord
from attest_otel.trajectory import Trajectory


def build_trajectory(root: SpanRecord | None, spans: Sequence[SpanRecord]) -> Trajectory:
    """Rebuild one run; total: anomalies are said in the record, never raised.

    Args:
        root: the run's own span, or None when no span stands for the run.
        spans: every span of the run, the root among them or not, in any order.

    Returns:
        The run record. Messages the user sent after the task are in `metadata["user_turns"]`, in order.
    """
    raise NotImplementedError
