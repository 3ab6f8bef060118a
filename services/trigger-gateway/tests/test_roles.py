"""Roles: the table, and that every route of a team is in it (TG-24)."""

import pytest
from fastapi.routing import APIRoute

from rota_contracts.roles import Role
from trigger_gateway.http.api import ROUTERS
from trigger_gateway.http.auth_routes import TeamRoute, team_router
from trigger_gateway.problems import Forbidden
from trigger_gateway.teams.authenticate import Caller
from trigger_gateway.teams.roles import ALLOWED, needed

ROUTES = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
OF_A_TEAM = [route for route in ROUTES if route.path.startswith("/v1/teams/{team}/")]


def test_every_route_of_a_team_asks_for_the_role_that_the_table_names() -> None:
    unguarded = [each.path for each in OF_A_TEAM if not isinstance(each, TeamRoute) or needed(each.name) not in Role]
    assert unguarded == []
    assert len(OF_A_TEAM) > 50


def test_the_table_names_each_route_once_and_nothing_else() -> None:
    named = [name for names in ALLOWED.values() for name in names]
    assert sorted(named) == sorted(route.name for route in OF_A_TEAM)


def test_a_route_missing_from_the_table_cannot_be_created() -> None:
    router = team_router("new")

    async def blow_up() -> None: ...

    with pytest.raises(ValueError, match="expected the route blow_up in the table"):
        router.add_api_route("/blow-up", blow_up)


def test_a_viewers_routes_only_read() -> None:
    of_viewers = [each for each in OF_A_TEAM if needed(each.name) is Role.VIEWER]
    answers = ("check_clock", "mcp")  # of the tools of `mcp`, each needs the role of its own route: test_mcp.py
    assert [each.path for each in of_viewers if each.methods != {"GET"} and each.name not in answers] == []


@pytest.mark.parametrize(
    ("role", "routes"),
    [
        (Role.VIEWER, ["read_robot", "read_robot_status", "follow", "list_keys", "list_deliveries", "list_targets"]),
        (Role.MEMBER, ["trigger", "intervene", "stop_execution", "replay_execution", "search", "replay_deliveries"]),
        (Role.ADMIN, ["create_robot", "delete_robot", "pause_robot", "stop_team", "create_source", "put_entry"]),
        (Role.OWNER, ["create_key", "delete_key"]),
    ],
)
def test_a_role_includes_those_below_it(role: Role, routes: list[str]) -> None:
    for name in routes:
        assert needed(name) is role
        for caller in Role:
            assert caller.covers(needed(name)) == (list(Role).index(caller) >= list(Role).index(role))


def test_a_refusal_names_both_roles() -> None:
    with pytest.raises(Forbidden) as refused:
        Caller("acme", Role.VIEWER).check(Role.ADMIN)
    assert refused.value.code == "role_too_low"
    assert refused.value.message == "this needs a key of the role admin or above: this key has the role viewer"
