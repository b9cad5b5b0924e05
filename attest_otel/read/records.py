"""Make run-record models from values that were checked where they were read, without checking them again.

pydantic's own `model_construct` works out the signature of each default factory at every call, which
costs more than reading the span; here the empty defaults are given, and the set of given fields is
still only what was given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from attest_otel.trajectory import Tool, ToolCall, Trajectory

Model = TypeVar("Model", bound=BaseModel)

_FACTORIES: dict[type[BaseModel], dict[str, Callable[[], Any]]] = {
    model: {name: field.default_factory for name, field in model.model_fields.items() if field.default_factory is not None}  # type: ignore[misc]
    for model in (Tool, ToolCall, Trajectory)
}


def make(model: type[Model], given: Mapping[str, Any]) -> Model:
    """Return a model of these values; fields that are not given have their defaults and count as not set."""
    defaults = {name: factory() for name, factory in _FACTORIES.get(model, {}).items() if name not in given}
    return model.model_construct(_fields_set=set(given), **defaults, **given)
