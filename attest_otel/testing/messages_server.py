"""A loopback HTTP server that speaks the Anthropic Messages API from a script.

    refund = ToolUse("issue_refund", '{"amount_cents": 4200.0}')
    with MessagesServer([Reply([refund]), Reply("Done.")]) as server:
        client = anthropic.Anthropic(base_url=server.base_url, api_key="any")

For tests, demos and examples: standard library only, starts in milliseconds, listens on 127.0.0.1 only,
keeps the requests it got, and leaves no thread behind. Where the environment names an HTTP proxy, give
the client `trust_env=False`, or the proxy gets the requests.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self

from attest_otel.testing.loopback_http import LoopbackServer, RecordedRequest
from attest_otel.testing.render import Rendered, render
from attest_otel.testing.script import Answer, Failure, RawReply, Reply, Script

MAX_KEPT_REQUESTS = 1000
COUNTED_INPUT_TOKENS = 10
MESSAGES_PATH = "/v1/messages"
COUNT_PATH = "/v1/messages/count_tokens"
_POLL_SECONDS = 0.01


class MessagesServer:
    """Answers `POST /v1/messages`, streamed or not, as a context manager; thread-safe.

    Each answer of a list is used once; when none is left, requests get a 400 that says so. A function
    is asked for every request and may be called from several threads at once. Counting tokens
    (`/v1/messages/count_tokens`) uses no answer of the script; any other path is a 404.

    Args:
        script: the answers, in order, or a function from the request's JSON to an answer.
        max_kept_requests: how many of the latest requests `requests` keeps.
    """

    def __init__(self, script: Script = (), *, max_kept_requests: int = MAX_KEPT_REQUESTS) -> None:
        self._ask = script if callable(script) else None
        self._answers: Iterator[Answer | str] = iter(()) if callable(script) else iter(list(script))
        self._requests: deque[RecordedRequest] = deque(maxlen=max_kept_requests)
        self._answered = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server: LoopbackServer | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def base_url(self) -> str:
        """What the client's `base_url` must be."""
        if self._server is None:
            raise RuntimeError("the server is not running: use it in a with block or call start()")
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def requests(self) -> list[RecordedRequest]:
        """The latest requests to any path, oldest first."""
        with self._lock:
            return list(self._requests)

    def start(self) -> None:
        """Listen; a server is started once."""
        if self._server is not None or self._closing.is_set():
            raise RuntimeError("a MessagesServer is started once")
        self._server = LoopbackServer(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            args=(_POLL_SECONDS,),
            name="attest-messages-server",
            daemon=True,
        )
        self._thread.start()

    def close(self) -> None:
        """Stop: cut open connections, end delays, join every thread. Closing twice is closing once."""
        self._closing.set()
        server, self._server = self._server, None
        if server is None:
            return
        server.shutdown()
        if self._thread is not None:
            self._thread.join()
        server.cut_connections()
        server.server_close()

    def respond(self, request: RecordedRequest) -> Rendered:
        """Return the response to a request, and keep the request."""
        with self._lock:
            self._requests.append(request)
        path = request.path.partition("?")[0].rstrip("/")
        if request.method != "POST" or path not in {MESSAGES_PATH, COUNT_PATH}:
            return render(Failure(404, f"no such endpoint: {request.method} {path}"), {}, 0)
        if request.json is None:
            return render(Failure(400, "the request's body is not a JSON object"), {}, 0)
        if path == COUNT_PATH:
            return render(RawReply(json.dumps({"input_tokens": COUNTED_INPUT_TOKENS})), request.json, 0)
        return self._scripted(request.json)

    def wait(self, seconds: float) -> bool:
        """Wait unless the server closes; return whether it still runs."""
        return not self._closing.wait(seconds) if seconds else not self._closing.is_set()

    def _scripted(self, request: dict[str, Any]) -> Rendered:
        with self._lock:
            self._answered += 1
            number = self._answered
            given = next(self._answers, None)
        if self._ask is not None:
            given = _asked(self._ask, request)
        if given is None:
            given = Failure(400, f"the script has no answer left for request {number}")
        return render(Reply(given) if isinstance(given, str) else given, request, number)


def _asked(ask: Callable[[dict[str, Any]], Answer | str], request: dict[str, Any]) -> Answer | str:
    try:
        return ask(request)
    except Exception as fault:  # noqa: BLE001 - the script's fault must reach the client as an answer
        return Failure(400, f"the script raised {type(fault).__name__}: {fault}")
