"""The team's agents and robots as an MCP server, over streamable HTTP."""

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from rota_contracts.model import Name
from trigger_gateway.http.auth_routes import CallerDep, team_router
from trigger_gateway.http.dependencies import UseCasesDep, check_json
from trigger_gateway.teams.authenticate import Caller
from trigger_gateway.use_cases import UseCases

router = team_router("mcp")


@router.post(
    "/mcp",
    summary="Use agents and robots as tools, by the Model Context Protocol",
    response_class=JSONResponse,
    responses={202: {"description": "a notification was taken"}, 406: {"description": "an answer as JSON isn't taken"}},
)
async def mcp(team: Name, request: Request, use: UseCasesDep, caller: CallerDep) -> Response:
    """Streamable HTTP without sessions. Tools: `ask_…` for each public agent, `run_…` for each robot that people may
    start, `execution_status` and `cancel_execution`; of these, what the key's role may do."""
    check_json(request)
    return _Served(use, request, team=team, caller=caller)


class _Served(Response):
    def __init__(self, use: UseCases, request: Request, *, team: str, caller: Caller) -> None:
        super().__init__()
        self._given = use, team, caller, request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # At the first use: importing the SDK takes 10 MB and 0.3 s.
        from trigger_gateway.mcp.protocol import serve
        from trigger_gateway.mcp.team_tools import TeamTools

        use, team, caller, request = self._given
        await serve(TeamTools(use=use, team=team, caller=caller), request, scope, receive, send)
