"""Auditing of routes: whatever isn't read is recorded, with names and no values."""

import contextlib
import json
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from rota_common.runtime.logs import logger
from rota_contracts.messages.audit import UNKNOWN_STATUS
from rota_contracts.model import ALL, Json
from trigger_gateway.audit.entry import UNAUDITED, AuditEntry, names_of
from trigger_gateway.http.client_ip import client_ip
from trigger_gateway.http.dependencies import use_cases_of
from trigger_gateway.problems import STATUS, Problem

READING = frozenset({"GET", "HEAD", "OPTIONS"})


def audited(route: str, methods: set[str]) -> bool:
    return route not in UNAUDITED and not methods <= READING


class Recording:
    """One request's entry. Used as a context: what is raised in it decides whether something was changed."""

    def __init__(self, request: Request, route: str) -> None:
        self._request, self._route = request, route
        self._audit = use_cases_of(request).audit
        self._entry: AuditEntry | None = None
        self._answer: Response | None = None

    async def __aenter__(self) -> "Recording":
        request, team = self._request, str(self._request.path_params.get("team", ALL))
        address = client_ip(request, use_cases_of(request).trusted_proxies)
        named = {"request_id": str(request.state.request_id), "address": address}
        self._entry = await self._audit.begin(request.state.caller, team, self._route, **named)
        return self

    def answered(self, answer: Response) -> None:
        self._answer = answer

    def succeeded(self, body: dict[str, Json]) -> None:
        """As if it were answered with this."""
        self.answered(JSONResponse(body))

    async def __aexit__(self, _: Any, error: BaseException | None, __: Any) -> None:
        assert self._entry is not None
        status = self._answer.status_code if self._answer else _status(error)
        body = _json(self._answer.body) if self._answer else None
        given = getattr(self._request.state, "given", None)
        on = names_of(self._request.path_params, given, body) | getattr(self._request.state, "on", {})
        changed = not 400 <= status < 500
        try:
            await self._audit.end(self._entry, status=status, on=on, changed=changed)
        except Exception as failure:  # the change is made, and its entry stays as one whose outcome is unknown
            reason = type(failure).__name__
            logger(service="trigger-gateway").error("audit entry not finished", **on, action=self._route, reason=reason)


def _status(error: BaseException | None) -> int:
    """Of an error; unknown for one that may have come after the change."""
    match error:
        case Problem():
            return STATUS[type(error)]
        case RequestValidationError():
            return 422
        case HTTPException():
            return error.status_code
    return UNKNOWN_STATUS


def _json(body: Any) -> Any:
    with contextlib.suppress(ValueError):
        return json.loads(bytes(body))
    return None
