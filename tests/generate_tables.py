"""The README's reference tables, made from the code: `make docs` writes them, a test holds them.

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from opentelemetry.metrics import Meter, NoOpMeter, NoOpMeterProvider

from attest_otel import attributes
from attest_otel.config import AttestConfig, Limits
from attest_otel.export.metrics import EvaluationMetrics
from attest_otel.judge.telemetry import JudgeTelemetry
from attest_otel.live.health import Health, HealthMetrics

README = Path(__file__).resolve().parents[1] / "README.md"
SOURCE = Path(attributes.__file__)
_TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
_CONSTANT = re.compile(r'^([A-Z_]+): Final = "(.+)"$')
_SHOWN = {
    "GenAI conventions: spans": "agent, model and tool spans",
    "Our recorder's own: agent spans": "agent spans, by this recorder",
    "Our recorder's own: tool spans": "tool spans, by this recorder",
    "GenAI conventions: evaluation results": "evaluation events",
    "Evaluation spans and events": "evaluation spans and events",
    "Metric attributes": "metrics",
}


def attribute_table() -> str:
    """Return the attributes by where they stand."""
    groups: dict[str, list[str]] = {}
    heading = ""
    for line in SOURCE.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            heading = line[2:].rstrip(".")
        found = _CONSTANT.match(line)
        if found and heading in _SHOWN and ("." in found[2]):
            groups.setdefault(_SHOWN[heading], []).append(
                f"`{found[2]}`" if not found[2].endswith(".") else f"`{found[2]}<check>`"
            )
    return _table(("on", "attributes"), ((where, ", ".join(names)) for where, names in groups.items()))


def metric_table() -> str:
    """Return the instruments that the package makes, with kind, unit and meaning."""
    provider = _Noting()
    EvaluationMetrics(provider, AttestConfig())
    JudgeTelemetry("model", None, provider)
    HealthMetrics(provider, _Pipeline().health)
    rows = ((f"`{name}`", kind, unit.strip("{}"), text) for name, (kind, unit, text) in provider.meter.instruments.items())
    return _table(("instrument", "kind", "unit", "what it says"), rows)


def limit_table() -> str:
    """Return the limits of the live pipeline with their defaults."""
    rows = (
        (f"`{name}`", f"{field.default:,}" if isinstance(field.default, int) else f"{field.default:g}")
        for name, field in Limits.model_fields.items()
    )
    return _table(("`limits:`", "default"), rows)


TABLES: dict[str, Callable[[], str]] = {
    "attributes": attribute_table,
    "metrics": metric_table,
    "limits": limit_table,
}


def with_tables(text: str) -> str:
    """Return the text with every table as the code says it."""
    return _TABLE.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}{found[3]}", text)


class _NotingMeter(NoOpMeter):
    """Notes every instrument that is made."""

    def __init__(self) -> None:
        super().__init__("noting")
        self.instruments: dict[str, tuple[str, str, str]] = {}

    def _note(self, kind: str, name: str, unit: str, description: str) -> None:
        self.instruments[name] = (kind, unit, description)

    def create_counter(self, name: str, unit: str = "", description: str = "") -> Any:
        """Note a counter."""
        self._note("counter", name, unit, description)
        return super().create_counter(name, unit, description)

    def create_histogram(self, name: str, unit: str = "", description: str = "", **more: Any) -> Any:
        """Note a histogram."""
        self._note("histogram", name, unit, description)
        return super().create_histogram(name, unit, description, **more)

    def create_observable_counter(self, name: str, callbacks: Any = None, unit: str = "", description: str = "") -> Any:
        """Note an observable counter."""
        self._note("counter", name, unit, description)
        return super().create_observable_counter(name, callbacks, unit, description)

    def create_observable_gauge(self, name: str, callbacks: Any = None, unit: str = "", description: str = "") -> Any:
        """Note an observable gauge."""
        self._note("gauge", name, unit, description)
        return super().create_observable_gauge(name, callbacks, unit, description)


class _Noting(NoOpMeterProvider):
    """Gives every scope the same noting meter."""

    def __init__(self) -> None:
        self.meter = _NotingMeter()

    def get_meter(self, name: str, version: str | None = None, schema_url: str | None = None, attributes: Any = None) -> Meter:
        """Return the noting meter."""
        return self.meter


class _Pipeline:
    """Something whose health can be asked."""

    def health(self) -> Health:
        """Return that of nothing."""
        return Health()


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8")
