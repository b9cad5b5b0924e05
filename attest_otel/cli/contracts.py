"""The contract check for recorded runs: a case against the tools that its run declares, once for each pair."""

from __future__ import annotations

from collections.abc import Callable

from attest_otel.contract import check_contract
from attest_otel.errors import ContractError
from attest_otel.grader import Attest
from attest_otel.trajectory import Trajectory


class RunContracts:
    """Checks each case once for each set of tools it meets; a broken contract is told, and the run still graded."""

    def __init__(self, attest: Attest, complain: Callable[[str], None]) -> None:
        self._attest = attest
        self._complain = complain
        self._seen: set[tuple[str, frozenset[str]]] = set()

    def check(self, run: Trajectory) -> None:
        """Check the contract of the case that a run names."""
        view = self._attest.view(run)
        if view.case is None or not view.tools:
            return
        key = (view.case.case_id, frozenset(view.tools))
        if key in self._seen:
            return
        self._seen.add(key)
        try:
            check_contract([view.case], list(view.tools.values()))
        except ContractError as error:
            self._complain(str(error))
