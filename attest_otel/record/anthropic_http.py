"""HTTP clients for the Anthropic SDK that note the provider's raw text of every tool input.

    client = anthropic.Anthropic(http_client=attest_otel.anthropic_http_client())

They are anthropic's own default clients, with its time-outs, limits, redirects and proxies; any transport
the caller gives stays in place. anthropic is imported when a client is made, not before.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2


def anthropic_http_client(**httpx_kwargs: Any) -> httpx2.Client:
    """Return a client for `anthropic.Anthropic(http_client=...)`; the arguments are httpx's.

    Raises:
        ImportError: anthropic is not installed.
    """
    client: httpx2.Client = _clients().NotingClient(**httpx_kwargs)
    return client


def async_anthropic_http_client(**httpx_kwargs: Any) -> httpx2.AsyncClient:
    """Return a client for `anthropic.AsyncAnthropic(http_client=...)`; the arguments are httpx's.

    Raises:
        ImportError: anthropic is not installed.
    """
    client: httpx2.AsyncClient = _clients().AsyncNotingClient(**httpx_kwargs)
    return client


def _clients() -> Any:
    try:
        return import_module("attest_otel.record.anthropic_clients")
    except ImportError as missing:
        raise ImportError(
            f"the Anthropic HTTP clients need the package anthropic, which cannot be imported ({missing}); "
            "install it with: pip install anthropic",
            name=missing.name,
        ) from missing
