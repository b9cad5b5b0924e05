"""What `make e2e` runs: makes the parts, then the end-to-end tests, with pytest's exit code."""

from __future__ import annotations

import sys

import pytest

from tests.e2e import build

if __name__ == "__main__":
    if build.main([]):
        sys.exit(1)
    sys.exit(pytest.main(["-m", "e2e", "tests/e2e", "-ra", *sys.argv[1:]]))
