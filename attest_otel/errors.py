"""Every error that attest_otel raises on purpose.

AttestError
├── BadInputError        a file, a record or an option is not what it must be
│   ├── RunFileError     a run file, a trace file: names file, line and field
│   └── ConfigError      attest.yaml, cases, rules: names file and path
│       └── ContractError    an expectation that the tools' definitions contradict
└── ReportTimeoutError   no report came in the time the caller gave (also a TimeoutError)
"""

from __future__ import annotations


class AttestError(Exception):
    """The root of the tree; catching it catches all of them."""


class BadInputError(AttestError, ValueError):
    """Something a person wrote is not what it must be; the message says what, where and what was expected."""


class RunFileError(BadInputError):
    """A run file or trace file, or one record of it, cannot be read."""


class ConfigError(BadInputError):
    """A configuration, a cases file or a rules file cannot be used."""


class FieldError(ValueError):
    """A part of a setting is wrong; pydantic's validators raise it, to say where in the setting it stands."""

    def __init__(self, location: tuple[int | str, ...], message: str) -> None:
        super().__init__(message)
        self.location = location


class ContractError(ConfigError):
    """A case expects what the tools' current definitions do not have, or expects nothing at all."""


class ReportTimeoutError(AttestError, TimeoutError):
    """The report of a run did not come in the time given."""
