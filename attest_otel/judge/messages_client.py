"""One question over HTTP: the Messages API through the official client, and what can go wrong on the way.

The client never retries by itself and follows no redirects; it belongs to one event loop (asyncio or
trio). Answers are asked for by JSON Schema (`output_config.format`), the API's own closed form. It
knows no length limits and no `maxItems`: those are left to the check of the answer afterwards.

Temperature 0 exists only in API version 2023-06-01, and only for models that don't think by themselves;
others refuse it. So it is sent with that version, and a model that refuses is asked again without, once,
and from then on: its thoughts count as output, so it gets room for them.

The key is read from the environment and stays in the client. One that can't be sent, because a line end
or the like is in it, is not given to the client, whose own debug log would show it. No text of the server, which may
repeat a key, gets into a reason: only its status, and its error type where that is a plain word.
"""

from __future__ import annotations

import importlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from attest_otel.judge.backoff import is_retried, retry_after_seconds
from attest_otel.judge.budget import estimated_tokens
from attest_otel.judge.question import Question
from attest_otel.quiet import quiet

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

MAX_BODY_BYTES = 4_000_000
THOUGHT_TOKENS = 4_096
TEMPERATURE_VERSION = "2023-06-01"
QUESTION_FAULTS = frozenset({400, 413, 422})
"""Statuses that are about one question, not about the service."""

KEY_ENV = "ANTHROPIC_API_KEY"
TOKEN_ENV = "ANTHROPIC_AUTH_TOKEN"  # noqa: S105  # the name, not the token
_UNSENDABLE = re.compile(r"[^\x21-\x7e]")
_PLAIN_WORD = re.compile(r"[a-z_]{1,40}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a request got no message.

    Attributes:
        reason: a clause for a person.
        error_type: a word for spans and metrics: a status, `timeout`, `connection`, ...
        limit: the answer's closed word.
        retried: whether asking again may help.
        retry_after: seconds the server asked to wait.
        works: whether the service works all the same.
        spent: whether the model may have been at work.
    """

    reason: str
    error_type: str
    limit: str = "error"
    retried: bool = False
    retry_after: float | None = None
    works: bool = False
    spent: bool = False


class MessagesClient:
    """Sends questions to one model. For one event loop; `sampling` is shared by all clients of a judge."""

    def __init__(self, model: str, base_url: str | None, timeout_seconds: float, sampling: Sampling) -> None:
        self._model = model
        self._base_url = base_url
        self._timeout = timeout_seconds
        self._sampling = sampling
        self._sdk: Any = None
        self._client: AsyncAnthropic | None = None

    async def prepare(self) -> Failure | None:
        """Import the SDK, which takes a second, in a thread, and open a client; say why there can be none."""
        if self._client is None:
            sdk = await anyio.to_thread.run_sync(importlib.import_module, "anthropic")
            if any(_UNSENDABLE.search(os.environ.get(name, "").strip()) for name in (KEY_ENV, TOKEN_ENV)):
                return Failure(
                    "the API key for the grading model holds a character that HTTP refuses",
                    "unusable_key",
                    "no_model",
                )
            if self._client is None:
                self._sdk, self._client = sdk, self._open(sdk)
        return None

    async def send(self, question: Question) -> bytes | Failure:
        """Return the response's body; a Failure where there is none.

        Raises only on cancellation; `prepare` comes first.
        """
        cold = not self._sampling.refused
        try:
            with quiet():
                return await self._body(question, cold=cold)
        except Exception as error:  # noqa: BLE001  # whatever the client raises is a value here
            return self._failure(error, cold=cold)

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            with quiet():
                await client.close()

    def _open(self, sdk: Any) -> AsyncAnthropic:
        http_client = sdk.DefaultAsyncHttpxClient(follow_redirects=False)
        key = os.environ.get(KEY_ENV, "").strip() or None
        client: AsyncAnthropic = sdk.AsyncAnthropic(
            api_key=key,
            base_url=self._base_url,
            max_retries=0,
            timeout=self._timeout,
            http_client=http_client,
        )
        return client

    async def _body(self, question: Question, *, cold: bool) -> bytes | Failure:
        if self._client is None:
            return Failure("the grading model's client is closed", "closed")
        async with self._client.messages.with_streaming_response.create(**self._request(question, cold=cold)) as response:
            body = bytearray()
            try:
                async for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > MAX_BODY_BYTES:
                        # Reading on then ends with an error, which leaves no generator behind.
                        await response.close()
            except Exception:
                if len(body) <= MAX_BODY_BYTES:
                    raise
            if len(body) > MAX_BODY_BYTES:
                return Failure(
                    f"the grading model's response has more than {MAX_BODY_BYTES} bytes",
                    "too_large",
                    spent=True,
                )
            return bytes(body)

    def _request(self, question: Question, *, cold: bool) -> dict[str, Any]:
        schema = self._sdk.transform_schema(_plain(question.schema))
        request: dict[str, Any] = {
            "model": self._model,
            "max_tokens": question.max_tokens + (0 if cold else THOUGHT_TOKENS),
            "system": question.system,
            "messages": [{"role": "user", "content": question.user}],
            "output_config": {"format": {"type": "json_schema", "schema": schema}},
        }
        if cold:
            request["extra_body"] = {"temperature": 0}
            request["extra_headers"] = {"anthropic-version": TEMPERATURE_VERSION}
        return request

    def _failure(self, error: Exception, *, cold: bool) -> Failure:
        sdk = self._sdk
        if isinstance(error, sdk.APIStatusError):
            return self._refused(error.status_code, error.response.headers, error.body, cold=cold)
        if isinstance(error, sdk.APITimeoutError):
            return Failure(
                f"the grading model did not answer within {self._timeout:g} s",
                "timeout",
                "timeout",
                spent=True,
            )
        if type(error.__cause__).__name__ == "LocalProtocolError":
            return Failure(
                "the request to the grading model could not be built: a header or its base URL holds a character that HTTP refuses",
                "request",
                works=True,
            )
        if isinstance(error, sdk.APIConnectionError) or type(error).__module__.startswith("httpx"):
            return Failure(
                "the connection to the grading model failed or was cut",
                "connection",
                retried=True,
                spent=True,
            )
        if isinstance(error, TypeError) and "authentication" in str(error):
            return Failure(
                "there is no API key for the grading model: ANTHROPIC_API_KEY is not set",
                "no_key",
                "no_model",
                works=True,
            )
        return Failure(f"asking the grading model failed: {type(error).__name__}", type(error).__name__)

    def _refused(self, status: int, headers: Mapping[str, str], body: object, *, cold: bool) -> Failure:
        kind, message = _error_of(body)
        if status == 400 and cold and ("temperature" in message or "anthropic-version" in message):  # noqa: PLR2004
            self._sampling.refused = True
            return Failure("the grading model takes no temperature", "temperature", retried=True, works=True)
        word = f"{status} ({kind})" if kind else str(status)
        return Failure(
            f"the grading model's API answered {word}",
            str(status),
            "rate" if status == 429 else "error",  # noqa: PLR2004
            retried=is_retried(status, headers),
            retry_after=retry_after_seconds(headers),
            works=status in QUESTION_FAULTS,
        )


class Sampling:
    """Whether the model was found to refuse temperature 0. Only ever set, so safe for several threads."""

    def __init__(self) -> None:
        self.refused = False

    def estimated_tokens(self, question: Question) -> int:
        """Return about how many tokens a question may take, answer and thoughts included."""
        asked = f"{question.system}{question.user}{json.dumps(_plain(question.schema))}"
        return estimated_tokens(asked) + question.max_tokens + (THOUGHT_TOKENS if self.refused else 0)


def _error_of(body: object) -> tuple[str, str]:
    """Return the error's type, where it is a plain word, and its message, which is only ever searched."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return "", ""
    kind, message = error.get("type"), error.get("message")
    word = kind if isinstance(kind, str) and _PLAIN_WORD.fullmatch(kind) is not None else ""
    return word, message if isinstance(message, str) else ""


def _plain(schema: Any) -> Any:
    """Return a schema in dicts and lists, the forms the SDK asks for."""
    if isinstance(schema, Mapping):
        return {key: _plain(value) for key, value in schema.items()}
    return [_plain(value) for value in schema] if isinstance(schema, (list, tuple)) else schema
