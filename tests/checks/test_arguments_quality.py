"""What no schema can say: placeholders, leaked markup, queries beside the point; and the lesson's two batch questions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from attest_otel.checks.arguments.quality import content_words, has_good_query, is_valid_call
from tests.checks.argument_runs import call, findings, tool, view

TEXT = {"type": "string"}
TASK = "Which rate limit does the free plan have?"
SEARCH = tool("search", required=("query",), properties={"query": TEXT, "page": {"type": "integer"}}, query_arguments=["query"])


def verdicts(arguments: dict[str, Any], used: dict[str, Any] | None = None, **more: Any) -> list[str]:
    """The verdicts of one call of a tool with these text arguments."""
    used = used or tool("t", required=tuple(arguments), properties={key: {} for key in arguments})
    return [f.verdict for f in findings(call(json.dumps(arguments), name=used["name"]), tools=[used], **more)]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("q", "null"), ("q", "undefined"), ("q", "string"), ("q", "TODO"), ("q", " tbd "), ("order_id", "<order_id>"), ("q", "<your name>"), ("q", "..."),
        ("email", "<email>"), ("customerName", "<name>"), ("q", "{{ order_id }}"), ("q", "YOUR_API_KEY"), ("q", "your-api-key"), ("q", "your_order_id"),
        ("q", "ORDER_ID_HERE"), ("q", "INSERT_NAME"), ("q", "[your name]"), ("q", ""), ("q", "  \n"), ("q", "[object Object]"), ("l", ["null"]), ("o", {"x": "TODO"}),
    ],
)  # fmt: skip
def test_placeholders(key: str, value: Any) -> None:
    """A word that only holds the place of a value, wherever it stands, and a blank required text: to be reviewed."""
    assert verdicts({key: value}) == ["placeholder"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("q", "none"), ("q", "nullable columns"), ("q", "a string of pearls"), ("q", "<div>"), ("q", "<p>null</p>"), ("q", "from here"), ("q", "your order"),
        ("column_type", "string"), ("content", ""), ("new_string", ""), ("replacement", ""), ("separator", " "), ("q", "test"), ("q", "N/A"), ("q", "unknown"),
        ("q", "0"), ("q", "${HOME}"), ("q", "[a-z]+"), ("q", "x < y"), ("q", "Todo list app"), ("slug", "your-account"), ("q", "."), ("q", "*"), ("city", "Here"),
    ],
)  # fmt: skip
def test_values_that_only_look_like_placeholders(key: str, value: str) -> None:
    """A value somebody may well mean raises no alarm."""
    assert verdicts({key: value}) == ["valid"]


def test_a_word_the_schema_or_the_task_names_is_no_placeholder() -> None:
    """Enum, const, default and examples declare a word; a task that says it asks for it."""
    for declared in ({"enum": ["null", "x"]}, {"const": "null"}, {"default": "null"}, {"examples": ["null"]}):
        assert verdicts({"q": "null"}, tool("t", properties={"q": declared})) == ["valid"]
    assert verdicts({"q": "TODO"}, task="Find every todo comment") == ["valid"]
    assert verdicts({"q": ""}, tool("t", properties={"q": TEXT})) == ["valid"]


@pytest.mark.parametrize(
    "leak",
    [
        '</parameter>\n<parameter name="surname">', "</parameter>\n", "Ana</parameter>", "x</invoke>", '<invoke name="f">', "<function_calls>", "</function_calls>",
        "<tool_call>", '<tool_call>{"name":"f"}</tool_call>', "<|tool_call|>", "<|tool_calls_section_begin|>", "<\uff5ctool\u2581calls\u2581begin\uff5c>",
        "<|im_end|>", "<|python_tag|>", "<arg_key>x</arg_key>", "<function_call>", "[TOOL_CALLS]", "[TOOL_REQUEST]", "```tool_code\nprint(1)", "<function=search>", "<ns:invoke name='x'>", "<|channel|>",
    ],
)  # fmt: skip
def test_protocol_markup_in_a_value_is_a_leak(leak: str) -> None:
    """Tool-call markup in a value blocks, as deep as it stands; escaped or not."""
    for arguments in ({"q": leak}, {"q": f"some text {leak}"}, {"l": [{"x": leak}]}):
        assert verdicts(arguments) == ["markup_leak"]
    escaped = json.dumps({"q": leak}).replace("<", "\\u003c")
    assert [f.verdict for f in findings(call(escaped, name="t"), tools=[tool(properties={"q": {}})])] == ["markup_leak"]


def test_markup_in_a_key_is_a_leak() -> None:
    """A parameter's name can be broken as well as its value."""
    assert "markup_leak" in verdicts({'q">x</parameter>': "y"})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("content", "<html><body><p>x</p></body></html>"), ("content", '<config><parameter name="a">1</parameter></config>'), ("q", '<parameter name="a"/>'),
        ("content", '<function_calls><invoke name="f"><parameter name="a">1</parameter></invoke></function_calls>'), ("code", "if (a<b) { return c>d }"),
        ("q", "<param>x</param>"), ("q", "List<String>"), ("q", "<!-- invoke -->"), ("q", "[TOOLS]"), ("q", "```python\nx\n```"), ("q", "a <| b |> c"), ("q", "<invoker>"),
    ],
)  # fmt: skip
def test_other_markup_is_content(key: str, value: str) -> None:
    """HTML, XML, code and whole protocol examples in documents are what the argument is for."""
    assert verdicts({key: value}) == ["valid"]


def test_quoted_markup_is_no_leak() -> None:
    """Markup that the task or an earlier output holds was quoted by the model, not leaked by it."""
    used = tool("t", properties={"q": {}})
    assert verdicts({"q": "</parameter>"}, used, task="Why does </parameter> show up?") == ["valid"]
    steps = [call("{}", name="t", output="found: </parameter>"), call('{"q":"</parameter>"}', name="t")]
    assert [f.verdict for f in findings(*steps, tools=[used])] == ["valid", "valid"]
    assert [f.verdict for f in findings(*reversed(steps), tools=[used])] == ["markup_leak", "valid"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What does the FREE plan cost?", {"free", "plan", "cost"}), ("HTTP-429, api_key!", {"http", "429", "api", "key"}), ("is it an ox", set()), ("", set()),
        ("thats everything you did read", set()), ("备份 保留多久", {"备份", "保留多久", "保留", "留多", "多久"}), ("환불", {"환불"}), ("Größe der Straße", {"größe", "der", "straße"}),
    ],
)  # fmt: skip
def test_content_words_follow_the_lesson(text: str, expected: set[str]) -> None:
    """Lower case, split at everything that isn't a letter or digit, three letters or more, no stop words; pairs of characters where no spaces are."""
    assert content_words(text) == expected


@pytest.mark.parametrize(
    ("arguments", "verdict", "valid", "good"),
    [
        ({"query": "rate limit"}, "valid", True, True), ({"query": "please help"}, "low_quality", True, False), ({"query": ""}, "placeholder low_quality", False, False),
        ({"query": "  "}, "placeholder low_quality", False, False), ({"query": "TODO"}, "placeholder", True, False), ({}, "schema_invalid", False, False), ({"query": 5}, "schema_invalid", False, False),
        ({"query": "plan", "page": "x"}, "schema_invalid", False, False), ("{", "unparseable", False, False), (None, "unchecked", None, None),
    ],
)  # fmt: skip
def test_the_ladder_parse_then_judge(arguments: Any, verdict: str, valid: bool | None, good: bool | None) -> None:
    """An invalid or blank query is no good query; a valid one is good when it shares a content word with the task."""
    raw = arguments if arguments is None or isinstance(arguments, str) else json.dumps(arguments)
    run = view(call(raw, name="search"), tools=[SEARCH], task=TASK)
    assert [f.verdict for f in findings(call(raw, name="search"), tools=[SEARCH], task=TASK)] == verdict.split()
    assert is_valid_call(run, run.calls[0]) is valid
    assert has_good_query(run, run.calls[0]) is good


def test_where_there_is_nothing_to_judge_the_answer_is_none() -> None:
    """No query arguments, no task, an optional query left out: no quality. No schema and no query: no validity."""
    plain = tool("t", properties={"q": TEXT})
    optional = tool("t", properties={"q": TEXT}, query_arguments=["q"])
    bare: dict[str, Any] = {"name": "t", "side_effecting": False}
    table: list[tuple[dict[str, Any], str | None, str, bool | None, bool | None]] = [
        (plain, TASK, "{}", True, None),
        (optional, TASK, "{}", True, None),
        (SEARCH | {"name": "t"}, None, '{"query":"x"}', True, None),
        (bare, TASK, "{}", None, None),
    ]
    table += [
        (bare | {"query_arguments": ["q"]}, TASK, "{}", False, False),
        (bare | {"query_arguments": ["q"]}, TASK, '{"q":"free plan"}', True, True),
    ]
    table += [(optional, TASK, '{"q":["free","x"]}', False, False), (optional, TASK, '{"q":" "}', True, False)]
    for used, task, raw, valid, good in table:
        run = view(call(raw, name="t"), tools=[used], task=task)
        assert (is_valid_call(run, run.calls[0]), has_good_query(run, run.calls[0])) == (valid, good)
