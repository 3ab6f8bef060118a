"""Members who are people: the API, and the managers of robots."""

from .harness import ADMIN, TEAM, Gateway, error_of, fields_of, gateway, robot, settings

MEMBERS = f"{TEAM}/members"
ANN = {"member_id": "ann", "display_name": "Ann", "email": "ann@acme.example", "contacts": {"slack": "U123"}}


async def add(gateway: Gateway, **fields: object) -> None:
    made = await gateway.call("POST", MEMBERS, json=ANN | fields)
    assert made.status_code == 201, made.text


async def test_a_person_is_added_read_changed_and_deleted(empty: Gateway) -> None:  # TG-54
    made = await empty.call("POST", MEMBERS, json=ANN)
    assert made.status_code == 201
    read = (await empty.call("GET", f"{MEMBERS}/ann")).json()
    assert read == made.json()
    assert (read["role"], read["member_type"], read["contacts"], read["rev"]) == (
        "member",
        "user",
        {"slack": "U123"},
        1,
    )
    changed = await empty.call("PUT", f"{MEMBERS}/ann", json={"email": "ann@new.example", "role": "admin"})
    assert (changed.json()["role"], changed.json()["contacts"], changed.json()["rev"]) == ("admin", {}, 2)
    again = await empty.call("PUT", f"{MEMBERS}/ann", json={"email": "ann@new.example", "role": "admin"})
    assert again.json()["rev"] == 2
    assert (await empty.call("DELETE", f"{MEMBERS}/ann")).status_code == 204
    assert error_of(await empty.call("GET", f"{MEMBERS}/ann")) == (404, "member_not_found")
    assert error_of(await empty.call("DELETE", f"{MEMBERS}/ann")) == (404, "member_not_found")


async def test_people_are_listed_in_pages(empty: Gateway) -> None:
    for name in ("cid", "ann", "bob"):
        await add(empty, member_id=name)
    first = (await empty.call("GET", MEMBERS, params={"limit": 2})).json()
    assert [each["member_id"] for each in first["members"]] == ["ann", "bob"]
    rest = (await empty.call("GET", MEMBERS, params={"after": first["next"]})).json()
    assert ([each["member_id"] for each in rest["members"]], rest["next"]) == (["cid"], "")


async def test_a_wrong_definition_names_its_fields(empty: Gateway) -> None:
    wrong = await empty.call(
        "POST", MEMBERS, json=ANN | {"email": "Ann <ann@acme.example>", "role": "boss", "phone": "1"}
    )
    assert set(fields_of(wrong)) == {"email", "role", "phone"}
    assert set(fields_of(await empty.call("POST", MEMBERS, json={"member_id": "a b"}))) == {"member_id", "email"}
    await add(empty)
    assert set(fields_of(await empty.call("PUT", f"{MEMBERS}/ann", json=ANN | {"member_id": "bob"}))) == {"member_id"}


async def test_an_id_belongs_to_one_person_or_robot(acme: Gateway) -> None:
    await add(acme)
    assert error_of(await acme.call("POST", MEMBERS, json=ANN)) == (409, "member_exists")
    assert error_of(await acme.call("POST", MEMBERS, json=ANN | {"member_id": "leader"})) == (409, "member_exists")
    assert error_of(await acme.call("POST", f"{TEAM}/robots", json=robot("ann"))) == (409, "robot_exists")


async def test_a_key_gives_and_takes_no_role_above_its_own(empty: Gateway) -> None:  # TG-24
    await add(empty, role="owner")
    admin = await empty.make_key("admin")
    for refused in (
        await empty.call("POST", MEMBERS, key=admin, json=ANN | {"member_id": "bob", "role": "owner"}),
        await empty.call("PUT", f"{MEMBERS}/ann", key=admin, json=ANN | {"role": "viewer"}),
        await empty.call("DELETE", f"{MEMBERS}/ann", key=admin),
    ):
        assert error_of(refused) == (403, "role_too_low")
    assert (await empty.call("GET", f"{MEMBERS}/ann")).json()["role"] == "owner"


async def test_people_of_another_team_are_unknown(empty: Gateway) -> None:
    await add(empty)
    other = await empty.make_team("other")
    assert error_of(await empty.call("GET", f"{MEMBERS}/ann", key=other)) == (403, "foreign_team")
    assert error_of(await empty.call("GET", "/v1/teams/other/members/ann", key=other)) == (404, "member_not_found")
    robot_of_other = robot("r") | {"manager_id": "ann"}
    refused = await empty.call("POST", "/v1/teams/other/robots", key=other, json=robot_of_other)
    assert set(fields_of(refused)) == {"manager_id"}


async def test_a_team_has_so_many_people_at_most() -> None:
    async with gateway(settings(members_per_team=1)) as small:
        small.key = await small.make_team()
        await add(small)
        full = await small.call("POST", MEMBERS, json=ANN | {"member_id": "bob"})
        assert error_of(full) == (409, "share_used")
        assert "ROTA_MEMBERS_PER_TEAM" in full.text


async def test_a_robots_manager_must_be_there_when_it_is_named(acme: Gateway) -> None:  # TG-53
    missing = await acme.call("PATCH", f"{TEAM}/robots/leader", json={"manager_id": "ann"})
    assert "kind: Member" in fields_of(missing)["manager_id"]
    await add(acme)
    named = await acme.call("PATCH", f"{TEAM}/robots/leader", json={"manager_id": "ann"})
    assert named.json()["manager_id"] == "ann"
    await acme.call("DELETE", f"{MEMBERS}/ann")
    kept = await acme.call("PATCH", f"{TEAM}/robots/leader", json={"display_name": "Leads"})
    assert (kept.status_code, kept.json()["manager_id"]) == (200, "ann")
    other = await acme.call("PATCH", f"{TEAM}/robots/leader", json={"manager_id": "bob"})
    assert set(fields_of(other)) == {"manager_id"}


async def test_the_administrator_adds_an_owner(empty: Gateway) -> None:
    made = await empty.call("POST", MEMBERS, key=ADMIN, json=ANN | {"role": "owner"})
    assert made.status_code == 201
