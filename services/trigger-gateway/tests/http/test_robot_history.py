"""The history of a robot's definition, and its rollback."""

from trigger_gateway.robots.ports import HISTORY

from .harness import TEAM, Gateway, error_of, robot

AT = f"{TEAM}/robots/leader"


async def put(made: Gateway, name: str) -> None:
    answer = await made.call("PUT", AT, json=robot() | {"display_name": name})
    assert answer.status_code == 200, answer.text


async def names(made: Gateway) -> tuple[str, list[int]]:
    revisions = (await made.call("GET", f"{AT}/revisions")).json()["revisions"]
    return (await made.call("GET", AT)).json()["display_name"], [each["rev"] for each in revisions]


# F18
async def test_each_definition_is_kept_with_who_wrote_it_and_rolled_back(acme: Gateway) -> None:
    acme.key = await acme.make_key("admin", "ci")
    for name in ("Second", "Third"):
        await put(acme, name)
    await put(acme, "Third")  # no new one
    await acme.call("PATCH", AT, json={"robot_status": "paused"})
    assert await names(acme) == ("Third", [3, 2, 1])
    [newest, *_, first] = (await acme.call("GET", f"{AT}/revisions")).json()["revisions"]
    assert (newest["written_by"], first["written_by"]) == ("ci", "a key without a name")
    assert (await acme.call("GET", f"{AT}/revisions/2")).json()["display_name"] == "Second"
    back = await acme.call("POST", f"{AT}/rollback", json={})
    assert (back.json()["display_name"], back.json()["robot_status"]) == ("Second", "paused")
    published = acme.published()
    assert published is not None
    assert published.display_name == "Second"
    assert (await acme.call("POST", f"{AT}/rollback", json={"to": 1})).json()["display_name"] == "Lead Processor"
    assert error_of(await acme.call("POST", f"{AT}/rollback", json={"to": 99})) == (404, "revision_not_found")
    assert error_of(await acme.call("GET", f"{AT}/revisions/99")) == (404, "revision_not_found")


async def test_a_history_has_an_end(acme: Gateway) -> None:
    for number in range(HISTORY + 5):
        await put(acme, f"Name {number}")
    assert await names(acme) == (f"Name {HISTORY + 4}", [*range(HISTORY + 6, 6, -1)])
    await acme.call("DELETE", AT)
    assert (await acme.call("GET", f"{AT}/revisions")).json()["revisions"] == []
