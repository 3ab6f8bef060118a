"""Refusals of the gateway, with what to do about them; keys that no request can carry."""

from http import HTTPStatus

import httpx

from rota import context
from rota.errors import CliError


class ApiError(CliError):
    """The gateway refused the request; `status` is the HTTP status, `code` the gateway's error code."""

    def __init__(self, what: str, *, status: int, code: str, hint: str = "", details: list[str] | None = None) -> None:
        super().__init__(what, hint=hint, details=details)
        self.status, self.code = status, code


def refused(answer: httpx.Response) -> ApiError:
    """The error of a response that is no success."""
    try:
        error = answer.json()["error"]
    except (ValueError, KeyError, TypeError):
        error = {"code": str(answer.status_code), "message": answer.text[:300] or answer.reason_phrase}
    code = str(error.get("code", ""))
    hints = {
        "source_exists": "`rota sources show NAME` shows it, `rota sources rotate NAME` changes its secret",
        "bad_signature": "sign with the secret of the source",
        "role_too_low": "`rota keys` lists the team's keys and their roles; an owner's key creates others",
        "429": "try again later",
        "503": "a part of Rota is unavailable: `rota doctor` names it",
    }
    return ApiError(
        f"{error.get('message', '')} ({answer.status_code} {code})",
        status=answer.status_code,
        code=code,
        hint=hints.get(code) or _about_key(answer) or hints.get(str(answer.status_code), ""),
        details=[f"{field.get('field')}: {field.get('message')}" for field in error.get("fields") or []],
    )


def expected_key(key: str) -> str:
    """The key itself. CliError for one that no header can carry, without showing it."""
    odd = [number for number, letter in enumerate(key, 1) if not "!" <= letter <= "~"]
    if odd:
        what = (
            f"expected a key of ASCII letters, digits and signs, got {len(key)} characters, of which "
            f"{len(odd)} can't be in a key, the first at place {odd[0]}"
        )
        raise CliError(what, hint=f"copy the key again: it is from {_setting_of(key) or 'this command'}")
    return key


def _about_key(answer: httpx.Response) -> str:
    """What to do about a key that is unknown or of another role; empty for any other refusal."""
    if answer.status_code not in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return ""
    key = answer.request.headers.get("authorization", "").removeprefix("Bearer ")
    setting = _setting_of(key)
    if answer.status_code == HTTPStatus.FORBIDDEN:
        sent = f"the key from {setting}" if setting else "this key"
        return f"{sent} lacks permission: team commands need the team's key, `rota dead` the administrator's"
    if not setting:
        return "set ROTA_API_KEY (for commands of administrators ROTA_ADMIN_KEY) to a key of this Rota"
    own = ", or restart `rota up`, which writes it" if context.own_rota(context.load()) else ""
    return f"the key is from {setting}: correct it{own}"


def _setting_of(key: str) -> str:
    """The variable or the context's file that this key is from; empty for any other."""
    given = context.load()
    named = {"api_key": given.api_key, "admin_key": given.admin_key}
    return next((context.origin(field) for field, value in named.items() if value and value == key), "")
