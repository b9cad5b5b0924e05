"""Properties 31 and 32: what the redactor takes out, what it leaves, JSON stays JSON, and its time is linear."""

from __future__ import annotations

import base64
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attest_otel.config import RedactionConfig, resolve_config
from attest_otel.errors import ConfigError
from attest_otel.redaction import FAILED, Redactor
from attest_otel.redaction.numbers import is_card, luhn

A = "Ab3dEf6hIj9lMn2pQr5tUv8xYz1"
LOWER_HEX = "0123456789abcdef0123456789abcdef"
REDACTOR = Redactor()

SECRETS = {
    "aws_key": "AKIA" + "IOSFODNN7EXAMPLE",
    "github_token": "ghp_" + A + A[:9],
    "github fine-grained": "github_pat_" + A + "_" + A,
    "gitlab_token": "glpat-" + A[:20],
    "slack_token": "xoxb-" + "123456789012-" + A,
    "slack hook": "https://hooks.slack.com/services/T000/B000/" + A,
    "stripe_key": "sk_live_" + A,
    "openai": "sk-" + "proj-" + A + A,
    "openai, old": "sk-" + A + A[:21],
    "anthropic": "sk-" + "ant-api03-" + A + "-" + A + "AA",
    "google": "AIza" + A + A[:8],
    "google refresh": "ya29." + A + A,
    "npm_token": "npm_" + A + A[:9],
    "pypi_token": "pypi-" + "AgEIcHlwaS5vcmc" + A,
    "sendgrid_key": "SG." + A[:22] + "." + A + A[:16],
    "twilio_key": "SK" + LOWER_HEX,
    "azure": "AccountKey=" + A + A + "==",
    "azure sas": "?sv=2024&sig=" + A + "%3D",
    "huggingface": "hf_" + A + A[:7],
    "vault_token": "hvs." + A,
    "telegram": "1234567890:AA" + A + "-_abcd",
    "bearer": "Bearer " + A,
    "basic": "Basic " + base64.b64encode(b"user:hunter2").decode(),
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + A,
    "pem": f"-----BEGIN RSA PRIVATE KEY-----\n{A}\n{A}\n-----END RSA PRIVATE KEY-----",
    "pem without an end": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{A}\n{A}",
    "connection": f"postgresql://app:{A}@db.internal:5432/x",
    "url with a user": f"https://{A}@git.example/x",
    "odbc": f"Server=x;Uid=app;Pwd={A};Database=y",
    "email": "jörg.o'neil+tag@mail.example.co.uk",
    "card": "4111111111111111",
    "card in groups": "3782 822463 10005",
    "card with dashes": "5555-5555-5555-4444",
    "iban": "DE89370400440532013000",
    "iban in groups": "GB82 WEST 1234 5698 7654 32",
    "key name": f'{{"password": "{A}"}}',
    "key name, snake": f'{{"aws_secret_access_key": "{A}"}}',
    "key name, bare": f"api_key={A} next",
    "key name, header": f"Cookie: session={A}; theme=dark",
    "key name, python": f"{{'client_secret': '{A}'}}",
    "key name, xml": f"<password>{A}</password>",
    "key name, flag": f"login --token {A} --user bob",
    "key name, pairs": f'[{{"name": "Authorization", "value": "{A}"}}]',
    "key name, escaped": json.dumps(json.dumps({"db_password": A})),
    "key name, twice escaped": json.dumps(json.dumps(json.dumps({"token": A}))),
    "key name, object": f'{{"credentials": {{"user": "bob", "x": ["{A}"]}}}}',
    "key name, query": f"https://x.example/?access_token={A}&page=2",
}
ORDINARY = [
    "ORD-448192", "order 1234567890123456 of 2026-05-01", "4200.00 EUR", "LH 1234 on 12.05.2026 at 10:45", "550e8400-e29b-41d4-a716-446655440000",
    "41111111-1111-1111-8111-111111111111", "d41d8cd98f00b204e9800998ecf8427e", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "4111111111111112", '{"amount_cents": 4200, "id": 4111111111111112}', "0.4111111111111111", "1790000000000000000", "1790000000123",
    '{"max_tokens": 1024, "next_page_token": "CAUQAA", "token": null}', "toolu_01A09q90qw90lq917835lq9", "call_abc123DEF456ghi789JKL012", "the basic information was sent",
    "risk-management-and-more-words", "see https://example.com/a/b?c=d and http://host:8080/x", "a@b", "user @ home", "DE89 is a road",
    "gift card 1234", "user_id: mei_kovacs_8020", "tracking 1Z999AA10123456784", "base64 is a word-like-thing_with_underscores", "HAT001 -> HAT139",
    "#W2378156", "9523456873", '["1656367028", "6843647669"]', "the secretary cooks cookies", "trace 0af7651916cd43dd8448eb211c80319c", "v1.2.3-rc.4+build.5",
]  # fmt: skip


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("around", ["{}", "say {} now", "é\n{}\n"])
def test_secrets_go(name: str, around: str) -> None:
    """Every kind of secret goes, wherever it stands in a text; doing it twice changes nothing more."""
    secret = SECRETS[name]
    shown = REDACTOR.redact(around.format(secret))
    hidden = A if A in secret else secret
    assert hidden not in shown
    assert "[redacted:" in shown
    assert REDACTOR.redact(shown) == shown


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    """Order ids, amounts, dates, flights, UUIDs, hashes, call ids and prose are shown as they are."""
    for form in (text, f"note: {text}.", json.dumps({"note": text}), json.dumps([json.dumps({"note": text})])):
        assert REDACTOR.redact(form) == form


JSON_TEXTS = [
    {"card": 4111111111111111, "n": [4111111111111111, 4111111111111111, 7]},
    {"a": json.dumps({"card": 4111111111111111, "password": "x y", "pin": 1234})},
    {"a": json.dumps([4111111111111111])},
    {"a": json.dumps({"b": json.dumps({"ssn": 123456789})})},
    {"password": {"a": [1, {"b": "}"}]}, "z": 1},
    {"token": 'with "quotes" and \\ back', "z": "\u2028"},
    {"secret": ["a", "b"], "ghp_" + A: A},
    ["mail jo@example.com", "DE89370400440532013000"],
    {"note": "Authorization: Bearer abc123def\nnext line"},
]


@pytest.mark.parametrize("value", JSON_TEXTS)
@pytest.mark.parametrize("spelling", [{}, {"ensure_ascii": False}, {"indent": 1}, {"separators": (",", ":")}])
def test_json_stays_json(value: object, spelling: dict[str, object]) -> None:
    """What was JSON is JSON afterwards; a bare number becomes a text."""
    text = json.dumps(value, **spelling)  # type: ignore[arg-type]
    shown = REDACTOR.redact(text)
    assert shown != text
    json.loads(shown)
    assert "4111" not in shown
    assert "123456789" not in shown


def test_a_redacted_number_is_a_text() -> None:
    """The replacement of a bare number carries quotes, as deep as the JSON around it is escaped."""
    assert json.loads(REDACTOR.redact('{"card": 4111111111111111}')) == {"card": "[redacted:card]"}
    inner = json.loads(REDACTOR.redact(json.dumps({"a": json.dumps({"card": 4111111111111111})})))
    assert json.loads(inner["a"]) == {"card": "[redacted:card]"}


@pytest.mark.parametrize(
    "secret",
    [
        "sk-" + "ant-api03-" + A + A,
        "ghp_" + A + A,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + A,
        "postgres://app:" + A + "@h/x",
    ],
)
@pytest.mark.parametrize("mark", [" … (250 characters left out) … ", "…[9000 characters, sha256 0123abcd]…", "…"])
def test_half_a_secret_beside_a_cut_goes(secret: str, mark: str) -> None:
    """Over text that somebody cut, the halves of a secret on both sides of the mark go too."""
    for at in range(len(secret) // 2, len(secret) - 1, 5):
        shown = REDACTOR.redact(f"key {secret[:at]}{mark}" + ("" if mark == "…" else f"{A[:16]} end"))
        assert secret[at - 8 : at] not in shown
        assert A[:16] not in shown
    broken = f'{{"note": "{secret[:-10]}'
    assert secret[12:-10] not in REDACTOR.redact(broken)
    assert secret[12:-10] not in REDACTOR.redact_cut(f"so it is {secret[:-10]}")


def test_redacted_before_cut() -> None:
    """What is shown is cut after it was redacted: no half of a secret survives the cut."""
    text = "x" * 40 + " ghp_" + A
    for limit in range(30, 70):
        assert "ghp_" not in REDACTOR.show(text, limit)


def test_the_users_own_patterns_key_names_and_hook() -> None:
    """Own patterns, key names and a hook are applied, in escaped text as well."""
    redactor = Redactor(
        RedactionConfig(patterns=[r"EMP-\d{4}"], key_names=["badge_no"]), hook=lambda text: text.replace("walrus", "#")
    )
    assert redactor.redact("EMP-1234 walrus") == "[redacted:custom] #"
    assert redactor.redact('{"Badge-No": "77"}') == '{"Badge-No": "[redacted:secret]"}'
    assert "EMP" not in redactor.redact("EMP\\u002d1234")


@pytest.mark.parametrize(("pattern", "said"), [("(?=a)b", "RE2"), (r"(a)\1", "RE2"), ("(a", "RE2"), ("a*", "empty")])
def test_bad_patterns_are_refused_when_read(pattern: str, said: str) -> None:
    """A pattern that RE2 can't run, or that matches nothing at all, is refused with its place named."""
    with pytest.raises(ConfigError, match=rf"redaction\.patterns.*{said}"):
        resolve_config({"redaction": {"patterns": [pattern]}})


def test_a_redactor_that_fails_drops_the_value() -> None:
    """Where the hook raises or returns no text, nothing of the value is shown."""

    def broken(text: str) -> str:
        raise ValueError(text)

    assert Redactor(hook=broken).redact("walrus") == FAILED
    assert Redactor(hook=lambda text: None).redact("walrus") == FAILED  # type: ignore[arg-type,return-value]
    assert Redactor(hook=broken).redact_value({"a": ["walrus"]}) == FAILED
    assert "walrus" not in repr(Redactor(hook=broken))


def test_switched_off_it_changes_nothing() -> None:
    """`enabled: false` is the user's wish."""
    assert Redactor(RedactionConfig(enabled=False)).redact(SECRETS["jwt"]) == SECRETS["jwt"]


_PIECES = ["Ordinary words.", "a" * 20, "Zm9v" * 5, "{", " [{", "token", '"password":', "AKIA", "", "→", "41111111"]
_SECRET_TEXTS = (
    [f"x {secret}" for secret in SECRETS.values()]
    + list(SECRETS.values())
    + [base64.b64encode(s.encode()).decode() for s in SECRETS.values()]
)


@given(st.lists(st.sampled_from(_PIECES + _SECRET_TEXTS) | st.text(max_size=20), max_size=6))
def test_texts_looked_at_together_hide_nothing(texts: list[str]) -> None:
    """Where one of several texts is changed by itself, looking at all of them at once says so."""
    if any(REDACTOR.redact(text) != text for text in texts):
        assert REDACTOR.finds_any(texts)


def test_what_is_remembered_as_harmless_hides_nothing() -> None:
    """A text looked at before is not looked at again, beside a secret or alone; a secret is found however often it comes."""
    redactor = Redactor()
    assert not redactor.finds_any(["The tool is allowed.", "pay"])
    for _ in range(2):
        assert redactor.finds_any(["The tool is allowed.", SECRETS["jwt"], "pay"])
    assert not redactor.finds_any(["pay", "The tool is allowed."])
    assert not redactor.finds_any(f"word {number}" for number in range(3_000))


def test_a_pattern_may_ask_where_a_text_begins() -> None:
    """A pattern of the user's with an anchor finds the text it is meant for among others."""
    redactor = Redactor(RedactionConfig(patterns=["^run-[0-9]+$"]))
    assert redactor.finds_any(["first", "run-42", "last"])
    assert not redactor.finds_any(["first", "a run-42", "last"])


@given(st.text(max_size=300))
def test_any_text_is_taken(text: str) -> None:
    """No text, lone surrogates included, makes the redactor fail, and doing it twice is doing it once."""
    shown = REDACTOR.redact(text)
    assert shown != FAILED
    assert REDACTOR.redact(shown) == shown


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda s: st.lists(s) | st.dictionaries(st.text(max_size=8), s),
    )
)
def test_any_json_stays_json(value: object) -> None:
    """Whatever is found in a JSON text, it stays JSON."""
    json.loads(REDACTOR.redact(json.dumps({"v": value, "password": value, "card": 4111111111111111})))


@pytest.mark.parametrize(
    ("digits", "right"),
    [(b"4111111111111111", True), (b"4111111111111112", False), (b"378282246310005", True), (b"9999999999999995", False)],
)
def test_cards_have_a_brand_and_a_check_digit(digits: bytes, right: bool) -> None:
    """A card is of a known brand, has its length, and passes Luhn."""
    assert is_card(digits) is right
    assert luhn(b"79927398713")


HOSTILE = [
    "eyJ-AKIAXXXXXXXXXXXXXXXX-", ".AKIAXXXXXXXXXXXXXXXX", "://a:", "-----BEGIN ", "-----BEGIN A-----", "a", "1", "4 ", "4111 ", '"password":', '{"password":',
    'password="', '\\"token\\":\\"', "\\", "\\u0041", "%41", "&#65;", "\u200b", "@", "a@", "a.", "jo@example.com ", "…", " … (1 characters left out) … ",
    "{", '"', "QUtJQVhYWFhYWFhYWFhYWFhYWFg", "DE89 3704 0044 ", "basic aaaaaaaa ", "--token ", "<password>", '"token","', "[redacted:card]", '{"a":[4111111111111111,',
]  # fmt: skip
SMALL, LARGE = 60_000, 480_000


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_is_linear(unit: str) -> None:
    """Eight times the text takes about eight times as long, however hostile; the square would be 64."""

    def seconds(size: int) -> float:
        text = (unit * (size // len(unit) + 1))[:size]
        times = []
        for _ in range(2):
            began = time.perf_counter()
            REDACTOR.redact(text)
            times.append(time.perf_counter() - began)
        return min(times)

    assert seconds(LARGE) < 28 * max(seconds(SMALL), 0.002)
