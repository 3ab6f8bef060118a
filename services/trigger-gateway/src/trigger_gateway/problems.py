"""Problems: the reasons for which a request is refused, and their HTTP statuses."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from rota_common.redaction import REDACTED, without_credentials

LIMIT = 300

_HIDDEN = (
    r"\b[a-z][a-z0-9+.-]*://[^\s\"'<>]*[^\s\"'<>,;.)\]}]",  # addresses, which may hold a password
    r"\b[a-z]:\\[^\s\"']+",
    r"(?<![\w.])(?:~|\.{1,2})?/[\w.@+~-]+(?:/[\w.@+~-]*)*",
    r"(?<![\w-])[\w+/=-]{32,}(?![\w-])",  # no word of a language is as long as a key
)
_PATTERN = re.compile("|".join(_HIDDEN), re.IGNORECASE)


@dataclass(frozen=True)
class FieldProblem:
    """A problem of one field, named by its path: `robot_config.clock.times.0`."""

    field: str
    message: str


class Problem(Exception):
    """`code` is for programs, `message` for people; neither may hold a path, an address or a secret.

    `cause` isn't answered: it is for the owner's log, `<word>: <sentence>`.
    """

    def __init__(self, code: str, message: str, *, fields: Sequence[FieldProblem] = (), cause: str = "") -> None:
        super().__init__(message)
        self.code, self.message = code, message
        self.cause = cause
        self.fields = tuple(fields)


class Malformed(Problem):
    """The body can't be read."""


class Unauthenticated(Problem):
    """The caller is unknown."""


class Forbidden(Problem):
    """The caller may not do this, or a signature is wrong."""


class NotFound(Problem):
    """It does not exist."""


class Conflict(Problem):
    """It contradicts the current state."""


class Invalid(Problem):
    """The body can be read but is not valid; `fields` say where."""


class TooLarge(Problem):
    """The body, or a part of it, is larger than may be."""


class TooMany(Problem):
    """A rate limit is used up, or a backlog is full; it is worth another try `after` so many seconds."""

    def __init__(self, code: str, message: str, *, after: int) -> None:
        super().__init__(code, message)
        self.after = after


class ShareUsed(Problem):
    """The team has its share of what all teams share."""


class Failed(Problem):
    """The request can't be fulfilled, and the caller is not at fault."""


class StoredNotApplied(Problem):
    """The change is stored and will be applied, but other services have not seen it yet."""


def no_source(team: str, name: str) -> NotFound:
    return NotFound("source_not_found", f"team {team} has no source {name}")


STATUS: dict[type[Problem], int] = {
    Malformed: 400,
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    TooLarge: 413,
    ShareUsed: 409,
    Invalid: 422,
    TooMany: 429,
    StoredNotApplied: 503,
    Failed: 500,
}


def error_body(code: str, message: str, fields: Sequence[FieldProblem] = ()) -> dict[str, object]:
    """An error as the API's callers read it."""
    error: dict[str, object] = {"code": code, "message": message}
    if fields:
        error["fields"] = [{"field": each.field, "message": each.message} for each in fields]
    return {"error": error}


def invalid(code: str, message: str, error: ValidationError) -> Invalid:
    """Pydantic's errors as a Problem."""
    fields = [FieldProblem(".".join(str(part) for part in e["loc"]), plain(e["msg"])) for e in error.errors()]
    return Invalid(code, message, fields=fields)


def plain(message: str) -> str:
    """Pydantic's sentence without its own prefix."""
    return message.removeprefix("Value error, ")


def redacted(text: str) -> str:
    """One line, at most 300 characters, with paths, addresses and the values of credentials as `[REDACTED]`."""
    shown = _PATTERN.sub(REDACTED, without_credentials(" ".join(text.split())))
    return shown if len(shown) <= LIMIT else shown[: LIMIT - 1] + "…"
