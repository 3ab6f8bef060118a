"""The client of the gateway's HTTP API."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx
from httpx_sse import SSEError, aconnect_sse

from rota.api_error import expected_key, refused
from rota.connection_errors import connection_hint, connection_problem, is_loopback
from rota.errors import CliError

Json = dict[str, Any]
TIMEOUT_S = 15.0
UNENDING = httpx.Timeout(TIMEOUT_S, read=None)
REPLAY_TIMEOUT_S = 45.0
PAGE_SIZE = 100
DROPPED = "rota.dropped"


class Api:
    """One team's API: `async with Api(url, team, key=key) as api:`. Every method raises CliError when it fails."""

    def __init__(self, url: str, team: str, *, key: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.url = url
        self._team = f"/v1/teams/{team}"
        headers = {"Authorization": f"Bearer {expected_key(key)}"} if key else {}
        # A proxy from the environment is not for loopback.
        self._http = httpx.AsyncClient(
            base_url=url, headers=headers, timeout=TIMEOUT_S, transport=transport, trust_env=not is_loopback(url)
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def create_team(self, team: str, name: str = "") -> Json:
        return await self._json("POST", "/v1/teams", json={"team_id": team, "name": name})

    async def remove_team(self, team: str) -> Json:
        return await self._json("DELETE", f"/v1/teams/{team}")

    async def teams(self) -> list[Json]:
        """All of them, by id."""
        found: list[Json] = []
        after: str | None = ""
        while after is not None:
            page = await self._json("GET", "/v1/teams", params={"after": after, "limit": 500})
            found += page["teams"]
            after = page["next"]
        return found

    async def robots(self) -> list[Json]:
        """All of them, page by page, each with its `state`: None if the scheduler does not answer."""
        found: list[Json] = []
        while True:
            params = {"page": len(found) // PAGE_SIZE + 1, "page_size": PAGE_SIZE}
            answer = await self._json("GET", f"{self._team}/robots", params=params)
            states = {state["member_id"]: state for state in answer.get("states") or []}
            found += [robot | {"state": states.get(robot["member_id"])} for robot in answer["robots"]]
            if not answer["robots"] or len(found) >= answer["total"]:
                return found

    async def robot(self, member: str) -> Json:
        return await self._json("GET", f"{self._team}/robots/{member}")

    async def robot_state(self, member: str) -> Json:
        return await self._json("GET", f"{self._team}/robots/{member}/status")

    async def robot_next(self, member: str, count: int) -> Json:
        """`{clock, upcoming}`: the schedule as text, and the next instants."""
        return await self._json("GET", f"{self._team}/robots/{member}/next", params={"count": count})

    async def create_robot(self, definition: Json) -> Json:
        return await self._json("POST", f"{self._team}/robots", json=definition)

    async def replace_robot(self, member: str, definition: Json, *, canary: int | None = None) -> Json:
        params = {} if canary is None else {"canary": canary}
        return await self._json("PUT", f"{self._team}/robots/{member}", json=definition, params=params)

    async def delete_robot(self, member: str) -> None:
        await self._json("DELETE", f"{self._team}/robots/{member}")

    async def sources(self) -> list[Json]:
        found: list[Json] = (await self._json("GET", f"{self._team}/sources"))["sources"]
        return found

    async def add_source(self, name: str, secret: str) -> Json:
        return await self._json("POST", f"{self._team}/sources", json={"name": name, "secret": secret})

    async def source_log(self, name: str, limit: int) -> list[Json]:
        """The posts of a source, newest first."""
        page = await self._json("GET", f"{self._team}/sources/{name}/log", params={"page_size": limit})
        lines: list[Json] = page["lines"]
        return lines

    async def event(self, source: str, event_id: str) -> Json:
        return await self._json("GET", f"{self._team}/events/{source}/{quote(event_id, safe='')}")

    async def keys(self) -> list[Json]:
        found: list[Json] = (await self._json("GET", f"{self._team}/keys"))["keys"]
        return found

    async def create_key(self, role: str, name: str, *, member: str = "") -> Json:
        """The response has its `api_key`, which is never shown again. `member`: the person that it is for."""
        person = {"member_id": member} if member else {}
        return await self._json("POST", f"{self._team}/keys", json={"role": role, "name": name, **person})

    async def delete_key(self, key_id: str) -> None:
        await self._json("DELETE", f"{self._team}/keys/{key_id}")

    async def subscriptions(self, params: dict[str, str]) -> list[Json]:
        found: list[Json] = (await self._json("GET", f"{self._team}/subscriptions", params=params))["subscriptions"]
        return found

    async def add_subscription(self, subscription: dict[str, str]) -> Json:
        """`{channel, subscriber}`."""
        return await self._json("POST", f"{self._team}/subscriptions", json=subscription)

    async def remove_subscription(self, subscription: dict[str, str]) -> None:
        await self._json("DELETE", f"{self._team}/subscriptions", params=subscription)

    async def trigger(self, member: str, request: Json) -> Json:
        return await self._json("POST", f"{self._team}/robots/{member}/trigger", json=request)

    async def intervene(self, member: str, request: Json) -> Json:
        return await self._json("POST", f"{self._team}/robots/{member}/intervene", json=request)

    async def control(self, what: str, action: str, reason: str) -> Json:
        """Pause, resume or stop `/executions/ID`, `/robots/MEMBER`, or with an empty string the team."""
        return await self._json("POST", f"{self._team}{what}/{action}", json={"reason": reason})

    async def plans(self, params: dict[str, str]) -> list[Json]:
        """The soonest 1,000."""
        query = {"limit": "1000", **params}
        found: list[Json] = (await self._json("GET", f"{self._team}/plans", params=query))["items"]
        return found

    async def trigger_state(self, trigger_id: str) -> Json:
        return await self._json("GET", f"{self._team}/triggers/{trigger_id}")

    async def executions(self, params: dict[str, str | int]) -> Json:
        return await self._json("GET", f"{self._team}/executions", params=params)

    async def execution(self, execution_id: str) -> Json:
        return await self._json("GET", f"{self._team}/executions/{execution_id}")

    async def delivery(self, execution_id: str) -> Json:
        return await self._json("GET", f"{self._team}/executions/{execution_id}/delivery")

    async def replay(self, execution_id: str) -> Json:
        path = f"{self._team}/executions/{execution_id}/replay"
        return await self._json("POST", path, timeout=REPLAY_TIMEOUT_S)

    async def trail(self, execution_id: str, step: int | None) -> Json:
        params = {} if step is None else {"step": str(step)}
        path = f"{self._team}/executions/{execution_id}/trail"
        return await self._json("GET", path, params=params, timeout=REPLAY_TIMEOUT_S)

    async def trace(self, execution_id: str) -> Json:
        return await self._json("GET", f"{self._team}/executions/{execution_id}/trace", timeout=REPLAY_TIMEOUT_S)

    async def put_knowledge(self, collection: str, entries: list[dict[str, str]]) -> None:
        """`{id, title, content}` of each; at most 100 of them."""
        await self._json("POST", f"{self._team}/kb/{quote(collection, safe='')}", json={"entries": entries})

    async def search_knowledge(self, params: dict[str, str | int]) -> list[Json]:
        found: list[Json] = (await self._json("GET", f"{self._team}/kb", params=params))["entries"]
        return found

    async def remove_knowledge(self, collection: str, entry_id: str = "", *, parts_from: int | None = None) -> int:
        """Remove an entry, its parts from this number on, or without an id the collection; how many were removed."""
        path = "/".join(quote(name, safe="") for name in (collection, entry_id) if name)
        params = {} if parts_from is None else {"parts_from": parts_from}
        return int((await self._json("DELETE", f"{self._team}/kb/{path}", params=params))["count"])

    async def dead(self) -> list[Json]:
        """The oldest 1,000."""
        return list((await self._json("GET", "/v1/dead", params={"limit": 1000}))["dead"])

    async def dead_letter(self, seq: int) -> Json:
        return await self._json("GET", f"/v1/dead/{seq}")

    async def redrive(self, seq: int, *, force: bool = False) -> Json:
        return await self._json("POST", f"/v1/dead/{seq}/redrive", params={"force": True} if force else None)

    async def reseal(self) -> Json:
        """`{keys, resealed, left}`: the master keys by their fingerprints, and how many secrets have an old one."""
        return await self._json("POST", "/v1/secrets/reseal")

    async def all_audit(self, params: dict[str, Any]) -> Json:
        """A page of the audit trail of all teams."""
        return await self._json("GET", "/v1/audit", params=params)

    async def hook(self, team: str, source: str, body: bytes, headers: dict[str, str]) -> Json:
        return await self._json("POST", f"/v1/hooks/{team}/{source}", content=body, headers=headers)

    async def ready(self) -> tuple[bool, Json]:
        """Whether the gateway is ready, and its readiness report; empty if what answers isn't a gateway."""
        answer = await self._send("GET", "/health/ready")
        return answer.is_success, _object(answer)

    async def service(self) -> str:
        """The name of the service that answers; empty if what answers isn't one."""
        return str((await self.live()).get("service", ""))

    async def live(self) -> Json:
        """What the service that answers says of itself; empty if it isn't one."""
        return _object(await self._send("GET", "/health/live"))

    async def events(self, params: dict[str, str]) -> AsyncIterator[Json]:
        """The team's live events, until the gateway ends the stream. A slow reader receives a DROPPED for lost ones."""
        async for name, data in self.server_sent("GET", "/stream", params=params):
            yield {"type": DROPPED, "data": data} if name == DROPPED else data

    async def server_sent(self, method: str, path: str, **request: Any) -> AsyncIterator[tuple[str, Json]]:
        """Name and data of the events of the team's route at `path`, until the gateway ends the stream."""
        try:
            async with aconnect_sse(self._http, method, f"{self._team}{path}", timeout=UNENDING, **request) as source:
                if not source.response.is_success:
                    await source.response.aread()
                    raise refused(source.response)
                async for event in source.aiter_sse():
                    if event.data:
                        yield event.event, event.json()
        except (httpx.HTTPError, SSEError) as error:
            raise _unreachable(self.url, error) from error

    async def of_team(self, method: str, path: str, **request: Any) -> Json:
        """The response of the team's route at `path`, for modules of single resources, like `delivery_log`."""
        return await self._json(method, f"{self._team}{path}", **request)

    @asynccontextmanager
    async def download(self, path: str) -> AsyncIterator[httpx.Response]:
        """The unread response of the team's route at `path`: a file."""
        try:
            async with self._http.stream("GET", f"{self._team}{path}") as answer:
                if not answer.is_success:
                    await answer.aread()
                    raise refused(answer)
                yield answer
        except httpx.HTTPError as error:
            raise _unreachable(self.url, error) from error

    async def _json(self, method: str, path: str, **request: Any) -> Json:
        answer = await self._send(method, path, **request)
        if not answer.is_success:
            raise refused(answer)
        body: Json = answer.json() if answer.content else {}
        return body

    async def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        try:
            return await self._http.request(method, path, **request)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _unreachable(self.url, error) from error


def _object(answer: httpx.Response) -> Json:
    """The JSON object of the body; empty if it is anything else."""
    try:
        body = answer.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _unreachable(url: str, error: Exception) -> CliError:
    return CliError(connection_problem(url, error), hint=f"{connection_hint(url)}; `rota doctor` shows what is missing")
