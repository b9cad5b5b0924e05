"""Which fields the model of a setting has, so that an error about an unknown one can say which was meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import NoneType
from typing import Any, get_args, get_origin

from pydantic import BaseModel


def fields_at(model: type[BaseModel] | None, location: Iterable[int | str]) -> list[str]:
    """Return the fields of the models that may stand at a location in a model, in their order; none without a model.

    A step that no type has, such as the name of a union's branch, leads nowhere else.
    """
    kinds: list[Any] = [] if model is None else [model]
    for step in location:
        kinds = list(_members(kinds, step)) or kinds
    return list(dict.fromkeys(name for kind in _expanded(kinds) if _is_model(kind) for name in kind.model_fields))


def _members(kinds: Iterable[Any], step: int | str) -> Iterator[Any]:
    for kind in _expanded(kinds):
        if _is_model(kind):
            if step in kind.model_fields:
                yield kind.model_fields[step].annotation
        elif get_origin(kind) is dict and isinstance(step, str):
            yield get_args(kind)[1]
        elif get_origin(kind) is list and isinstance(step, int):
            yield get_args(kind)[0]


def _expanded(kinds: Iterable[Any]) -> Iterator[Any]:
    """Yield the types without what is annotated to them, and each branch of a union."""
    for kind in kinds:
        inner = get_args(kind)
        if get_origin(kind) in (dict, list) or _is_model(kind) or not inner:
            yield kind
        elif hasattr(kind, "__metadata__"):
            yield from _expanded(inner[:1])
        else:
            yield from _expanded(part for part in inner if part is not NoneType)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
