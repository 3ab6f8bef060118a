"""Failures of model providers in words for people: which model, where, and why; never a key or a whole address."""

import re
import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

from executor.agents.connectors import Connector
from rota_common.errors import Permanent
from rota_common.redaction import without_credentials

DEPTH = 8
"""Causes of an error that are looked at."""

REASONS = {
    401: "the key is refused",
    403: "the key isn't permitted this",
    404: "there is no such model or address",
    408: "it took too long",
    413: "the prompt is too large",
    429: "too many requests or tokens",
    529: "overloaded",
}

KINDS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (ConnectionRefusedError, "connection refused"),
    (socket.gaierror, "unknown host"),
    (ssl.SSLError, "no secure connection"),
    ((ConnectionResetError, BrokenPipeError), "connection broken"),
    (TimeoutError, "timeout"),
)
TIMEOUTS, BROKEN = re.compile("Timeout"), re.compile("RemoteProtocolError|ReadError|ClientPayloadError|Incomplete")


def unavailable(connector: Connector, error: BaseException, status: object) -> str:
    """A failure that passes."""
    answered = (isinstance(status, int) and status < 500) or status in (503, 529)
    kind = _kind(error)
    if kind:
        return f"{_model(connector)} doesn't answer ({kind})"
    if answered or _from_server(error):
        return f"{_model(connector)} can't answer now ({_reason(status)})"
    return f"{_model(connector)} doesn't answer ({type(error).__name__})"


def not_taken(error: BaseException, status: object) -> bool:
    """Has the provider surely not begun an answer? Where that is open, it may bill one."""
    if status in (409, 425, 429, 503, 529) and _from_server(error):
        return True
    return any(isinstance(each, ConnectionRefusedError | socket.gaierror) for each in _chain(error))


def refused(connector: Connector, error: BaseException, status: object) -> str:
    """A failure that stays; with the provider's words, without the key."""
    text = without_credentials(str(getattr(error, "message", error)), [connector.key] if connector.key else [])
    return f"{_model(connector)} refuses the request ({_reason(status)}): {text[:500]}"


def forbidden_address(error: BaseException) -> Permanent | None:
    """The refusal of an address that a team wrote, whatever it was wrapped into."""
    return next((each for each in _chain(error) if isinstance(each, Permanent)), None)


def causes(error: BaseException) -> list[str]:
    """The kinds of its causes, without their texts, which may contain addresses and keys. litellm reports whatever it
    doesn't know as a failed connection, its own mistakes too."""
    return [type(cause).__name__ for cause in _chain(error)][1:]


def _model(connector: Connector) -> str:
    return f"model {connector.model} at {host(connector)}"


def host(connector: Connector) -> str:
    """Host and port alone; the provider's name where it is the provider's own."""
    try:
        parts = urlsplit(connector.host)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return connector.type
    return f"{parts.hostname}{port}" if parts.hostname else connector.type


def _reason(status: object) -> str:
    if not isinstance(status, int):
        return "no reason given"
    return f"{status}, {REASONS[status]}" if status in REASONS else str(status)


def _from_server(error: BaseException) -> bool:
    """Has a server answered? litellm gives a failed connection the status 500, too."""
    return any(getattr(each, "response", None) is not None and _name(each, "StatusError") for each in _chain(error))


def _kind(error: BaseException) -> str:
    chain = list(_chain(error))
    for each in reversed(chain):
        for kinds, words in KINDS:
            if isinstance(each, kinds):
                return words
    if any(TIMEOUTS.search(type(each).__name__) for each in chain):
        return "timeout"
    return "connection broken" if any(BROKEN.search(type(each).__name__) for each in chain) else ""


def _name(error: BaseException, part: str) -> bool:
    return any(part in kind.__name__ for kind in type(error).__mro__)


def _chain(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    for _ in range(DEPTH):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or cause.__context__
