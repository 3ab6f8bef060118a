"""Refusals of the gateway, with what to do about them."""

import httpx

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
        "401": "check ROTA_API_KEY (or ROTA_ADMIN_KEY for this command), or restart `rota up`",
        "403": "this key lacks permission: team commands need the team's key, `rota dead` the administrator's",
        "429": "try again later",
        "503": "a part of Rota is unavailable: `rota doctor` names it",
    }
    return ApiError(
        f"{error.get('message', '')} ({answer.status_code} {code})",
        status=answer.status_code,
        code=code,
        hint=hints.get(code) or hints.get(str(answer.status_code), ""),
        details=[f"{field.get('field')}: {field.get('message')}" for field in error.get("fields") or []],
    )
