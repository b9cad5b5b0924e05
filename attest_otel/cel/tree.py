"""The two protobuf parts of CEL: the message types rules are checked against, and the tree of a compiled rule.

The tree is read to learn what an expression reads and how deeply it iterates, which bounds its cost,
and which patterns it holds, so that a bad one is refused at load. Source of the field numbers:
cel-spec, `cel/expr/syntax.proto` and `checked.proto`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

Declared = Mapping[str, Mapping[str, str]]

_WRAPPED = ".google.protobuf."
_TYPES = {"string": 9, "int": 3, "bool": 8, "message": 11}
_WELL_KNOWN = {"string?": "StringValue", "bool?": "BoolValue", "int?": "Int64Value", "any": "Value"}
_COMPARING = frozenset({"_==_", "_!=_", "@in"})
_TREE: Declared = {
    "Checked": {"expr=4": "Expr"},
    "Expr": {
        "constant=3": "Constant",
        "ident=4": "Ident",
        "select=5": "Select",
        "call=6": "CallExpr",
        "list=7": "ListExpr",
        "struct=8": "Struct",
        "fold=9": "Fold",
    },
    "Constant": {"text=6": "string?raw"},
    "Ident": {"name=1": "string"},
    "Select": {"operand=1": "Expr", "field=2": "string"},
    "CallExpr": {"target=1": "Expr", "function=2": "string", "args=3": "Expr*"},
    "ListExpr": {"elements=1": "Expr*"},
    "Struct": {"entries=2": "Entry*"},
    "Entry": {"map_key=3": "Expr", "value=4": "Expr"},
    "Fold": {"range=2": "Expr", "start=4": "Expr", "condition=5": "Expr", "step=6": "Expr", "result=7": "Expr"},
}


@dataclass(frozen=True, slots=True)
class Shape:
    """What an expression reads, how often, how deeply it iterates, its constant patterns, and the names it compares calls' with."""

    fields: frozenset[str]
    reads: int
    depth: int
    patterns: tuple[str, ...]
    names: tuple[str, ...]


def message_pool(messages: Declared) -> Any:
    """Return a descriptor pool with the declared messages, in package `attest`."""
    from google.protobuf import descriptor_pb2, descriptor_pool, struct_pb2, wrappers_pb2  # noqa: PLC0415

    pool = descriptor_pool.DescriptorPool()
    for module in (wrappers_pb2, struct_pb2):
        copy = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(copy)
        pool.Add(copy)
    pool.Add(_file("attest", messages, ["google/protobuf/wrappers.proto", "google/protobuf/struct.proto"]))
    return pool


def read_shape(serialized: bytes, known: frozenset[str]) -> Shape:
    """Return the shape of a compiled expression; of its fields, those among `known`."""
    from google.protobuf import any_pb2  # noqa: PLC0415

    packed = any_pb2.Any.FromString(serialized)
    root = _checked_class().FromString(packed.value).expr
    fields: list[str] = []
    patterns: list[str] = []
    names: dict[str, None] = {}
    deepest = 0
    for node, depth in _walk(root):
        deepest = max(deepest, depth)
        if node.HasField("select"):
            fields.append(node.select.field)
        if node.HasField("call") and node.call.function == "matches" and node.call.args:
            last = node.call.args[-1]
            patterns += _texts(last)
        if node.HasField("call") and node.call.function in _COMPARING and any(map(_is_name, node.call.args)):
            names.update(dict.fromkeys(text for side in node.call.args for text in _texts(side)))
    read = [name for name in fields if name in known]
    return Shape(frozenset(read), len(read), deepest, tuple(patterns), tuple(names))


def _is_name(node: Any) -> bool:
    """Return whether a node is `call.name` or `run.calls[0].name`; `call.arguments.name` is none."""
    if not node.HasField("select") or node.select.field != "name":
        return False
    owner = node.select.operand
    return bool(owner.HasField("ident") or (owner.HasField("call") and owner.call.function == "_[_]"))


def _texts(node: Any) -> list[str]:
    """Return the constant text that a node is, or the constant texts of a list."""
    if node.HasField("list"):
        return [text for element in node.list.elements for text in _texts(element)]
    return [node.constant.text] if node.HasField("constant") and node.constant.HasField("text") else []


def _walk(root: Any) -> Iterator[tuple[Any, int]]:
    """Go through a tree, each node with the number of iterations it stands in."""
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        if node.HasField("fold"):
            fold = node.fold
            stack += [(fold.range, depth), (fold.start, depth), (fold.result, depth)]
            stack += [(fold.condition, depth + 1), (fold.step, depth + 1)]
        elif node.HasField("select"):
            stack.append((node.select.operand, depth))
        elif node.HasField("call"):
            stack += [(child, depth) for child in (node.call.target, *node.call.args)]
        elif node.HasField("list"):
            stack += [(child, depth) for child in node.list.elements]
        elif node.HasField("struct"):
            stack += [(child, depth) for entry in node.struct.entries for child in (entry.map_key, entry.value)]


@cache
def _checked_class() -> Any:
    from google.protobuf import descriptor_pool, message_factory  # noqa: PLC0415

    pool = descriptor_pool.DescriptorPool()
    pool.Add(_file("attest_tree", _TREE, []))
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("attest_tree.Checked"))


def _file(package: str, messages: Declared, dependencies: list[str]) -> Any:
    from google.protobuf import descriptor_pb2  # noqa: PLC0415

    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3", dependency=dependencies)
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for position, (field, kind) in enumerate(fields.items(), 1):
            plain, _, number = field.partition("=")
            _add_field(message, plain, int(number or position), kind, package)
    return file


def _add_field(message: Any, name: str, number: int, kind: str, package: str) -> None:
    label = 3 if kind.endswith("*") else 1
    if kind == "string?raw":
        message.oneof_decl.add(name=f"_{name}")
        message.field.add(name=name, number=number, label=label, type=_TYPES["string"], oneof_index=0, proto3_optional=True)
    elif kind in _TYPES:
        message.field.add(name=name, number=number, label=label, type=_TYPES[kind])
    else:
        base = kind.rstrip("*")
        full = _WRAPPED + _WELL_KNOWN[base] if base in _WELL_KNOWN else f".{package}.{base}"
        message.field.add(name=name, number=number, label=label, type=_TYPES["message"], type_name=full)
