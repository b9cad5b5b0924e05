"""The redactor: one object that every way out shares."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from attest_otel.config import RedactionConfig
from attest_otel.redaction.edges import breaks_off
from attest_otel.redaction.finder import Finder
from attest_otel.redaction.screen import clean, cut
from attest_otel.redaction.writing import write

Hook = Callable[[str], str]

FAILED = "[redaction failed]"
REPLACED = "[redacted:secret]"
MAX_DEPTH = 32
MAX_REMEMBERED = 1_024
MAX_REMEMBERED_CHARS = 256
MAX_PROMPTS = 16
MAX_PROMPT_CHARS = 65_536
_BETWEEN = " \n "
"""Between texts that are looked at together: no secret reaches over it, not even one in lines of base64."""
_SURROGATE = re.compile("[\ud800-\udfff]")


class Redactor:
    """Replaces what looks like a secret with `[redacted:kind]`; thread-safe, linear in the text, never raises.

    Args:
        config: the settings; by default the built-in patterns.
        hook: called with every text after the patterns; returns it without what only the user knows
            to be secret. Where it raises or returns anything but text, the value is dropped.
    """

    def __init__(self, config: RedactionConfig | None = None, *, hook: Hook | None = None) -> None:
        settings = config or RedactionConfig()
        self._finder = finder_of(settings) if settings.enabled else None
        self._hook = hook or settings.hook
        self._remembered = self._show if self._hook is not None else lru_cache(MAX_REMEMBERED)(self._show)
        self._harmless: set[str] = set()
        self._of_prompts = lru_cache(MAX_PROMPTS)(self.named_values)

    def redact(self, text: str) -> str:
        """Return the text without secrets."""
        try:
            return self._redacted(text, cut=False)
        except Exception:  # noqa: BLE001  # what can't be cleaned isn't shown
            return FAILED

    def redact_cut(self, text: str) -> str:
        """Return a text without secrets that was cut at its end: half a secret there is taken out as well."""
        try:
            return self._redacted(text, cut=True)
        except Exception:  # noqa: BLE001
            return FAILED

    def redact_value(self, value: Any) -> Any:
        """Return plain data with every text in it, keys included, redacted."""
        try:
            return self._value(value, 0)
        except Exception:  # noqa: BLE001
            return FAILED

    def is_secret_name(self, key: Any, value: Any) -> bool:
        """Return whether a key's name says that its value, unless it is empty or a mere yes or no, is secret."""
        if self._finder is None or not isinstance(key, str) or isinstance(value, bool | float) or value is None:
            return False
        return value not in ("", [], {}, ()) and self._finder.is_key_name(key)

    def show(self, text: str, limit: int) -> str:
        """Return the text as a person's screen may have it: redacted, cut to `limit` characters, cleaned.

        The last short texts are remembered: reasons and names are the same from run to run.
        """
        plain = type(text) is str and len(text) <= MAX_REMEMBERED_CHARS
        return self._remembered(text, limit) if plain else self._show(text, limit)

    def _show(self, text: str, limit: int) -> str:
        return clean(cut(self.redact(text), limit))

    def finds(self, text: str) -> bool:
        """Return whether redacting may change a text; True where that can't be told."""
        if self._hook is not None:
            return True
        try:
            return self._finder is not None and bool(self._finder.find(_encoded(text)))
        except Exception:  # noqa: BLE001
            return True

    def finds_any(self, texts: Iterable[str]) -> bool:
        """Return whether redacting may change any of some texts.

        They are looked at together, which costs much less than apart, and short ones that were harmless are
        remembered: most of a report's words are the same from run to run.
        """
        fresh = [text for text in texts if text not in self._harmless]
        if not fresh:
            return False
        if self._finder is not None and self._finder.is_anchored:
            found = any(map(self.finds, fresh))
        else:
            found = any(map(_may_break_off, fresh)) or self.finds(_BETWEEN.join(fresh))
        if not found:
            self._remember(fresh)
        return found

    def _remember(self, harmless: list[str]) -> None:
        if len(self._harmless) >= MAX_REMEMBERED:
            self._harmless.clear()
        self._harmless.update(text for text in harmless if len(text) <= MAX_REMEMBERED_CHARS)

    def named_values(self, text: str) -> frozenset[str]:
        """Return the values in a text that are secret because of their key's name."""
        if self._finder is None:
            return frozenset()
        try:
            return frozenset(value.decode("utf-8", "replace") for value in self._finder.named_values(_encoded(text)))
        except Exception:  # noqa: BLE001
            return frozenset()

    def named_values_of_prompt(self, text: str) -> frozenset[str]:
        """Do the same for a text that many runs share (a system prompt): the last ones are remembered."""
        return self._of_prompts(text) if len(text) <= MAX_PROMPT_CHARS else self.named_values(text)

    def _redacted(self, text: str, *, cut: bool) -> str:
        if self._finder is not None:
            found = _without_secrets(self._finder, text, cut=cut)
            text = found if found is not None else json.dumps(self._value(json.loads(text), 0))
        if self._hook is None:
            return text
        answer = self._hook(text)
        return answer if isinstance(answer, str) else FAILED

    def _value(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._redacted(value, cut=False)
        if isinstance(value, bool | float) or value is None:
            return value
        if isinstance(value, int):
            text = str(value) if value.bit_length() < 512 else ""  # noqa: PLR2004  # no card or account is longer
            return value if self._redacted(text, cut=False) == text else self._redacted(text, cut=False)
        if depth >= MAX_DEPTH:
            return FAILED
        if isinstance(value, dict):
            return {self._value(key, depth + 1): self._member(key, part, depth + 1) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self._value(part, depth + 1) for part in value]
        return FAILED

    def _member(self, key: Any, value: Any, depth: int) -> Any:
        return REPLACED if self.is_secret_name(key, value) else self._value(value, depth)


def _without_secrets(finder: Finder, text: str, *, cut: bool) -> str | None:
    """Return the text without secrets, None where it is JSON whose members have to be looked at one by one."""
    spots = finder.find(_encoded(text), cut=cut)
    if not spots:
        return text
    written = write(text.encode("utf-8", "surrogatepass"), spots)
    return None if written is None else written.decode("utf-8", "surrogatepass")


def _may_break_off(text: str) -> bool:
    return ("{" in text or "[" in text) and breaks_off(_encoded(text))


def _encoded(text: str) -> bytes:
    """Return the text's UTF-8, with as many bytes for a lone surrogate as it would have itself."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text).encode()


def finder_of(config: RedactionConfig) -> Finder:
    """Return the finder of some settings; made once for each."""
    key = (tuple(config.patterns), tuple(config.key_names))
    found = _finders.get(key)
    if found is None:
        if len(_finders) >= _MAX_FINDERS:
            _finders.clear()
        found = _finders[key] = Finder(*key)
    return found


_MAX_FINDERS = 64
_finders: dict[tuple[tuple[str, ...], tuple[str, ...]], Finder] = {}
