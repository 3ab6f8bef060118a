"""Links of mails about approvals: GET shows the call and changes nothing, POST decides. The token is the authority."""

from contextlib import suppress
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import Path, Request, Response
from fastapi.responses import HTMLResponse

from rota_common.errors import Transient
from rota_contracts.messages.approval import Decision
from trigger_gateway.approvals.notice_texts import outcome
from trigger_gateway.http.approval_page import approval_page, message_page
from trigger_gateway.http.auth_routes import CountedRoute, Handler, counted_router
from trigger_gateway.http.client_ip import client_ip
from trigger_gateway.http.dependencies import UseCasesDep, use_cases_of
from trigger_gateway.http.errors import RETRY_AFTER_S
from trigger_gateway.problems import STATUS, FieldProblem, Invalid, Problem, TooMany

FORM = "application/x-www-form-urlencoded"
BY_LINK = {Decision.APPROVE.value: Decision.APPROVE, Decision.DENY.value: Decision.DENY}
"""`always` is about more than the arguments that the page shows."""

FORGED = "link_invalid"
TAKES = {
    "requestBody": {
        "required": True,
        "content": {
            FORM: {
                "schema": {
                    "type": "object",
                    "required": ["decision"],
                    "properties": {"decision": {"type": "string", "enum": list(BY_LINK)}},
                }
            }
        },
    }
}


class LinkRoute(CountedRoute):
    """Shows every refusal as a page. A forged link counts as an unknown key of its address."""

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            use = use_cases_of(request)
            address = client_ip(request, use.trusted_proxies)
            try:
                use.rates.check_failed_keys(address)
                try:
                    return await handle(request)
                except Problem as error:
                    if error.code == FORGED:
                        await use.rates.failed_key(address)
                    raise
            except (Problem, Transient) as error:
                return _refusal_page(error)

        return handler


def _refusal_page(error: Problem | Transient) -> Response:
    if isinstance(error, Transient):
        page = message_page(503, "Not now", f"{error}: nothing is known to have changed, try again")
        after = RETRY_AFTER_S
    else:
        page = message_page(STATUS[type(error)], "Nothing was changed", error.message)
        after = error.after if isinstance(error, TooMany) else 0
    if after:
        page.headers["retry-after"] = str(after)
    return page


router = counted_router("approvals", LinkRoute)
Token = Annotated[str, Path(description="from the mail")]


@router.get("/approvals/{token}", summary="Show a call that waits, by a mailed link", response_class=HTMLResponse)
async def show_approval_link(token: Token, use: UseCasesDep) -> Response:
    """Changes nothing: programs that scan mail open links."""
    return approval_page(await use.decide_by_link.open(token))


@router.post(
    "/approvals/{token}",
    summary="Approve or deny a call by a mailed link",
    response_class=HTMLResponse,
    openapi_extra=TAKES,
)
async def use_approval_link(token: Token, request: Request, use: UseCasesDep) -> Response:
    decision = _decision(request.headers.get("content-type", ""), await request.body())
    address = client_ip(request, use.trusted_proxies)
    decided = await use.decide_by_link.decide(
        token, decision, request_id=str(request.state.request_id), address=address
    )
    return message_page(200, "Thank you", outcome(decided.approval))


def _decision(content_type: str, body: bytes) -> Decision:
    given: list[str] = []
    if content_type.partition(";")[0].strip().lower() == FORM and body.isascii():
        with suppress(ValueError):  # more fields than any page of ours sends
            given = parse_qs(body.decode(), max_num_fields=5).get("decision", [])
    if len(given) != 1 or given[0] not in BY_LINK:
        problem = FieldProblem("decision", f"expected {' or '.join(BY_LINK)}, as the page sends it")
        raise Invalid("invalid_request", "expected a decision: approve or deny", fields=[problem])
    return BY_LINK[given[0]]
