"""Roles of keys, through every route of a team (TG-24)."""

import asyncio
import re

from rota_contracts.roles import Role
from trigger_gateway.http.api import ROUTERS
from trigger_gateway.http.auth_routes import TeamRoute
from trigger_gateway.teams.roles import needed

from .harness import ADMIN, TEAM, Gateway, error_of, fields_of, robot
from .scheduler import Scheduler
from .stand_ins import Executor
from .test_interventions import SAYS

KEYS, ROBOTS, LEADER = f"{TEAM}/keys", f"{TEAM}/robots", f"{TEAM}/robots/leader"
ENDLESS = "/v1/teams/{team}/stream"


def names() -> dict[tuple[str, str], str]:
    """Of each route that the table knows, by method and path."""
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, TeamRoute)]
    return {(method, route.path.replace(":path", "")): route.name for route in routes for method in route.methods or ()}


async def routes_of(gateway: Gateway) -> list[tuple[str, str]]:
    """Method and path of every route of a team, as the API itself documents them."""
    paths = (await gateway.http.get("/openapi.json")).json()["paths"]
    mine = {
        path: documented
        for path, documented in paths.items()
        if "{team}/" in path and not path.startswith("/v1/hooks/")
    }
    return [(method.upper(), path) for path, methods in mine.items() for method in methods]


def filled(path: str) -> str:
    return re.sub(r"{\w+}", "x", path.replace("{team}", "acme"))


async def test_each_route_refuses_keys_of_lower_roles_before_it_reads_the_body(
    acme: Gateway, executor: Executor
) -> None:
    table, seen, wrong = names(), await routes_of(acme), []
    assert sorted(table) == sorted(seen)
    assert len(seen) > 40
    for role in Role:
        key = await acme.make_key(role)
        for method, path in seen:
            least = needed(table[method, path])
            if role.covers(least) and path == ENDLESS:
                continue
            answer = await acme.call(method, filled(path), key=key, content=b"{not json")
            refused = answer.status_code == 403 and answer.json()["error"]["code"] == "role_too_low"
            text = f"role {least} or above: this key has the role {role}"
            if refused == role.covers(least) or (refused and text not in answer.text):
                wrong.append((role, method, path, answer.text))
    assert not wrong


async def test_the_administrator_may_use_every_route(acme: Gateway) -> None:
    for method, path in await routes_of(acme):
        if path != ENDLESS:
            answer = await acme.call(method, filled(path), key=ADMIN, content=b"{not json")
            assert answer.status_code != 403, (method, path)
    made = await acme.call("POST", KEYS, key=ADMIN, json={"role": "owner"})
    assert made.status_code == 201


async def test_a_member_may_trigger_and_pause_and_may_not_change_robots(acme: Gateway, executor: Executor) -> None:
    executor.give("e1")
    member, viewer = await acme.make_key("member"), await acme.make_key("viewer")
    for key, expected in ((viewer, 403), (member, 202)):
        assert (await acme.call("POST", "/v1/teams/acme/executions/e1/pause", key=key)).status_code == expected
        assert (await acme.call("POST", f"{LEADER}/trigger", key=key, json={"type": "clock"})).status_code == expected
        assert (await acme.call("GET", LEADER, key=key)).status_code == 200
        assert error_of(await acme.call("PATCH", LEADER, key=key, json={})) == (403, "role_too_low")
    admin = await acme.make_key("admin")
    assert (await acme.call("POST", ROBOTS, key=admin, json=robot("second"))).status_code == 201


async def test_what_a_key_asks_for_carries_its_role(
    acme: Gateway, executor: Executor, scheduler: Scheduler
) -> None:  # EX-65 TG-24
    for role in ("member", "admin"):
        key = await acme.make_key(role)
        words = [{"role": "user", "content": "Go on."}]
        plan = {"action": "plan.add", "messages": words}
        for path, body in (("trigger", {"type": "clock"}), ("intervene", SAYS), ("intervene", plan)):
            assert (await acme.call("POST", f"{LEADER}/{path}", key=key, json=body)).status_code == 202, body
        executor.give(f"e-{role}")
        assert (await acme.call("POST", f"{LEADER}/intervene", key=key, json=SAYS)).status_code == 202
        executor.has.clear()
    assert [trigger.role for trigger in scheduler.seen] == ["member", "member", "admin", "admin"]
    assert [change.role for change in scheduler.changes] == ["member", "admin"]
    assert [given.role for given in executor.words] == ["member", "admin"]


async def test_a_teams_first_key_is_an_owners_and_others_are_members_unless_given(empty: Gateway) -> None:
    made = (await empty.call("POST", KEYS)).json()
    named = (await empty.call("POST", KEYS, json={"role": "viewer", "name": "the screen in the hall"})).json()
    assert (made["role"], made["name"]) == ("member", "")
    assert (named["role"], named["name"]) == ("viewer", "the screen in the hall")
    listed = (await empty.call("GET", KEYS)).json()["keys"]
    assert [(key["role"], key["name"]) for key in listed] == [
        ("owner", ""),
        ("member", ""),
        ("viewer", "the screen in the hall"),
    ]
    for body in ({"role": "root"}, {"name": "x" * 101}, {"rolle": "admin"}):
        answer = await empty.call("POST", KEYS, json=body)
        assert list(fields_of(answer)) == list(body)


async def test_a_team_keeps_the_key_of_an_owner(empty: Gateway) -> None:
    own = empty.key.split("_")[1]
    await empty.make_key("admin")
    refused = await empty.call("DELETE", f"{KEYS}/{own}")
    assert error_of(refused) == (409, "last_owner")
    assert "make another one of the role owner first" in refused.text
    assert error_of(await empty.call("DELETE", f"{KEYS}/{own}", key=ADMIN)) == (409, "last_owner")
    second = await empty.make_key("owner")
    both = await asyncio.gather(
        empty.call("DELETE", f"{KEYS}/{own}", key=ADMIN),
        empty.call("DELETE", f"{KEYS}/{second.split('_')[1]}", key=ADMIN),
    )
    assert sorted(answer.status_code for answer in both) == [204, 409]
    left = (await empty.call("GET", KEYS, key=ADMIN)).json()["keys"]
    assert sorted(key["role"] for key in left) == ["admin", "owner"]
