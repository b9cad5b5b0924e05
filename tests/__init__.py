"""Tests of attest_otel: the rooms of the package, mirrored."""
