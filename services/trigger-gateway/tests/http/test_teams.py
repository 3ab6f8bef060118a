"""Authentication: the administrator, teams and their keys."""

from rota_contracts.messages.control import ControlAction

from .harness import ADMIN, Gateway, error_of, gateway, robot, settings


async def test_the_list_of_keys_shows_no_secret(empty: Gateway) -> None:
    second = (await empty.call("POST", "/v1/teams/acme/keys")).json()
    listed = await empty.call("GET", "/v1/teams/acme/keys")
    assert [key["key_id"] for key in listed.json()["keys"]] == [empty.key.split("_")[1], second["key_id"]]
    for key in (empty.key, second["api_key"]):
        secret = key.split("_", 2)[2]
        assert len(secret) >= 32
        assert secret not in listed.text
        assert secret not in str(vars(empty.adapters.keys))


async def test_a_key_that_was_deleted_stops_working_at_once(empty: Gateway) -> None:
    other = (await empty.call("POST", "/v1/teams/acme/keys")).json()
    assert (await empty.call("GET", "/v1/teams/acme/robots", key=other["api_key"])).status_code == 200
    assert (await empty.call("DELETE", f"/v1/teams/acme/keys/{other['key_id']}")).status_code == 204
    assert error_of(await empty.call("GET", "/v1/teams/acme/robots", key=other["api_key"])) == (401, "unauthenticated")
    assert error_of(await empty.call("DELETE", f"/v1/teams/acme/keys/{other['key_id']}")) == (404, "key_not_found")


async def test_an_unknown_key_is_refused(empty: Gateway) -> None:  # TG-29
    for key in ("", "nonsense", "rota_", "rota_abc", "rota__x", "rota_abc_", "rota_abc_def", "ädmin"):
        headers = {b"authorization": f"Bearer {key}".encode()}
        answer = await empty.http.get("/v1/teams/acme/robots", headers=headers)
        assert error_of(answer) == (401, "unauthenticated"), key
        assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_key_with_another_secret_is_refused(empty: Gateway) -> None:
    assert error_of(await empty.call("GET", "/v1/teams/acme/robots", key=f"{empty.key}x")) == (401, "unauthenticated")
    without = await empty.http.get("/v1/teams/acme/robots")
    basic = await empty.http.get("/v1/teams/acme/robots", headers={"authorization": f"Basic {empty.key}"})
    assert error_of(without) == error_of(basic) == (401, "unauthenticated")


FOREIGN = [
    ("GET", "robots"), ("POST", "robots"), ("GET", "robots/leader"), ("PUT", "robots/leader"),
    ("PATCH", "robots/leader"), ("DELETE", "robots/leader"), ("POST", "robots/leader/intervene"),
    ("POST", "robots/leader/trigger"), ("GET", "sources"), ("POST", "sources"), ("GET", "sources/leads"),
    ("PATCH", "sources/leads"),
    ("DELETE", "sources/leads"), ("GET", "keys"), ("POST", "keys"), ("DELETE", "keys/x"), ("GET", "triggers/x"),
    ("GET", "events/leads/x"), ("GET", "executions"), ("GET", "executions/x"), ("GET", "stream"), ("GET", "plans"),
    ("GET", "executions/x/delivery"), ("POST", "executions/x/replay"), ("GET", "robots/leader/status"),
    ("GET", "robots/leader/next"), ("GET", "subscriptions"), ("POST", "subscriptions"), ("DELETE", "subscriptions"),
    ("POST", "clock/check"),
    *(("POST", f"{scope}{action}") for scope in ("executions/x/", "robots/leader/", "") for action in ControlAction),
]  # fmt: skip


async def test_a_key_of_another_team_is_refused_everywhere_and_changes_nothing(acme: Gateway) -> None:  # TG-23
    foreign = await acme.make_team("other")
    facts = len(acme.bus.streams["FACTS"].history)
    for method, path in FOREIGN:
        answer = await acme.call(method, f"/v1/teams/acme/{path}", key=foreign, json=robot("intruder"))
        assert error_of(answer) == (403, "foreign_team"), (method, path)
    assert acme.triggers() == []
    assert len(acme.bus.streams["FACTS"].history) == facts
    assert (await acme.call("GET", "/v1/teams/acme/robots/leader")).status_code == 200
    assert (await acme.call("GET", "/v1/teams/other/robots", key=foreign)).json()["robots"] == []


async def test_every_route_of_a_team_checks_the_key_before_it_reads_the_body(acme: Gateway) -> None:
    for method, path in FOREIGN:
        answer = await acme.http.request(method, f"/v1/teams/acme/{path}", content=b"{not json")
        assert error_of(answer) == (401, "unauthenticated"), (method, path)


async def test_the_administrator_may_act_for_every_team_that_exists(acme: Gateway) -> None:
    assert (await acme.call("GET", "/v1/teams/acme/robots/leader", key=ADMIN)).status_code == 200
    assert error_of(await acme.call("GET", "/v1/teams/missing/robots", key=ADMIN)) == (404, "team_not_found")
    assert error_of(await acme.call("POST", "/v1/teams/missing/keys", key=ADMIN)) == (404, "team_not_found")


async def test_teams_are_made_by_the_administrator_alone(empty: Gateway) -> None:
    assert error_of(await empty.call("POST", "/v1/teams", json={"team_id": "mine"})) == (403, "forbidden")
    assert error_of(await empty.call("POST", "/v1/teams", key="wrong", json={})) == (401, "unauthenticated")
    assert error_of(await empty.call("POST", "/v1/teams", key=ADMIN, json={"team_id": "acme"})) == (409, "team_exists")
    made = (await empty.call("POST", "/v1/teams", key=ADMIN, json={})).json()
    assert made["team_id"].startswith("team_")
    path = f"/v1/teams/{made['team_id']}/robots"
    assert (await empty.call("GET", path, key=made["api_key"])).status_code == 200


async def test_a_wrong_name_of_a_team_is_refused_with_its_field(empty: Gateway) -> None:
    answer = await empty.call("POST", "/v1/teams", key=ADMIN, json={"team_id": "a.b", "nmae": "x"})
    assert error_of(answer) == (422, "invalid_request")
    assert {field["field"] for field in answer.json()["error"]["fields"]} == {"team_id", "nmae"}


async def test_without_an_admin_key_its_routes_name_the_setting() -> None:
    for unset in (None, ""):
        async with gateway(settings(admin_key=unset)) as closed:
            for method, path in (("POST", "/v1/teams"), ("GET", "/v1/dead")):
                answer = await closed.call(method, path, key=unset or "anything")
                assert error_of(answer) == (403, "admin_key_not_set")
                assert "ROTA_ADMIN_KEY" in answer.text


async def test_teams_are_listed_page_by_page_with_the_administrators_key(empty: Gateway) -> None:
    for team in ("beta", "alpha"):
        await empty.call("POST", "/v1/teams", key=ADMIN, json={"team_id": team, "name": team.title()})
    first = (await empty.call("GET", "/v1/teams?limit=2", key=ADMIN)).json()
    second = (await empty.call("GET", f"/v1/teams?after={first['next']}", key=ADMIN)).json()
    names = [(team["team_id"], team["name"]) for page in (first, second) for team in page["teams"]]
    assert (names[1:], second["next"]) == ([("alpha", "Alpha"), ("beta", "Beta")], None)
    assert error_of(await empty.call("GET", "/v1/teams")) == (403, "forbidden")
