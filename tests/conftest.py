"""What all tests share: the same settings on every machine, and a recorder as it is at the start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings as hypothesis_settings

from attest_otel.attributes import CAPTURE_ENV, CONFIG_ENV
from attest_otel.record import settings

hypothesis_settings.register_profile("attest", deadline=None)
hypothesis_settings.load_profile("attest")

OUTSIDE = (
    CONFIG_ENV,
    CAPTURE_ENV,
    "ANTHROPIC_API_KEY",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TIMEOUT",
    "NO_COLOR",
    "FORCE_COLOR",
)


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own settings and keys reach no test."""
    for name in OUTSIDE:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _recorder_as_at_the_start(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Recorder settings that one test puts in force don't reach the next."""
    before = settings._settings
    yield
    settings._settings = before
