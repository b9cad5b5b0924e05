"""Spans and files -> run records: one small module a convention, one builder for all."""
