"""The canary of a robot: a definition for a share of new runs, beside the current one."""

from typing import Any

import pytest

from rota_contracts.catalog import CHECK_ROBOT, COUNT_RUNS
from rota_contracts.messages.definition import CountRuns, RunCount, RunCounts
from rota_contracts.messages.robot_check import CheckRobot, RobotProblems

from .harness import TEAM, Gateway, error_of, fields_of, robot

AT = f"{TEAM}/robots/leader"
CANARY = f"{AT}/canary"
SECOND = robot(identity={"role": "Second"})


async def begin(made: Gateway, definition: dict[str, Any] = SECOND, share: int = 10) -> dict[str, Any]:
    answer = await made.call("PUT", f"{AT}?canary={share}", json=definition)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def state(made: Gateway) -> tuple[str, int, Any]:
    """The role, the revision, and of the canary its revision and share."""
    read = (await made.call("GET", AT)).json()
    canary = read["canary"] and (read["canary"]["rev"], read["canary"]["share"])
    return read["robot_config"]["identity"]["role"], read["rev"], canary


async def history(made: Gateway) -> list[tuple[int, bool]]:
    found = (await made.call("GET", f"{AT}/revisions")).json()["revisions"]
    return [(each["rev"], each["canary"]) for each in found]


# F18
async def test_a_canary_stands_beside_the_current_definition_until_it_is_promoted_or_aborted(acme: Gateway) -> None:
    first = "Lead Qualification Specialist"
    await begin(acme)
    assert await state(acme) == (first, 2, (2, 10))
    await begin(acme)  # a repeat changes nothing
    assert (await acme.call("PUT", CANARY, json={"share": 50})).json()["canary"]["share"] == 50
    assert await state(acme) == (first, 3, (2, 50))
    await acme.call("PATCH", AT, json={"robot_status": "paused"})
    published = acme.published()
    assert published is not None
    begun = {each.rev: each for each in (published.begun_by(f"run-{number}") for number in range(100))}
    assert {rev: each.robot_config.identity.role for rev, each in begun.items()} == {1: first, 2: "Second"}
    assert {(each.robot_status, each.canary) for each in begun.values()} == {("paused", None)}
    assert (await acme.call("POST", f"{CANARY}/abort")).json()["canary"] is None
    assert (await state(acme))[::2] == (first, None)
    await begin(acme, robot(identity={"role": "Third"}))
    assert (await acme.call("POST", f"{CANARY}/promote")).json()["robot_config"]["identity"]["role"] == "Third"
    assert await state(acme) == ("Third", 7, None)
    assert await history(acme) == [(7, False), (6, True), (2, True), (1, False)]
    back = await acme.call("POST", f"{AT}/rollback", json={})
    assert back.json()["robot_config"]["identity"]["role"] == first, "not to a canary that was aborted"
    await begin(acme)
    await acme.call("DELETE", AT)
    assert await history(acme) == []


async def test_what_a_canary_forbids_and_what_it_can_not_change(acme: Gateway, subtests: pytest.Subtests) -> None:
    clock = {"mode": "interval", "every": "1h"}
    for path, wanted in {
        "display_name": SECOND | {"display_name": "Other"},
        "autonomous_mode": SECOND | {"autonomous_mode": False},
        "robot_config.triggers": robot(triggers={"event": {"enabled": False}}),
        "robot_config.clock": robot(clock=clock),
        "robot_config.quota": robot(quota={"max": 9}),
        "robot_config.events": robot(events=[]),
        "robot_config.learn.keep": robot(learn={"keep": 3}),
    }.items():
        with subtests.test(path):
            refused = await acme.call("PUT", f"{AT}?canary=10", json=wanted)
            assert error_of(refused) == (422, "not_of_runs")
            assert [*fields_of(refused)] == [path]
    no_canary = (("PUT", "", {"share": 5}), ("POST", "/promote", None), ("POST", "/abort", None))
    for method, path, body in no_canary:
        assert error_of(await acme.call(method, CANARY + path, json=body)) == (409, "no_canary")
    assert error_of(await acme.call("GET", CANARY)) == (404, "no_canary")
    assert (await acme.call("PUT", f"{AT}?canary=100", json=SECOND)).status_code == 422
    assert await state(acme) == ("Lead Qualification Specialist", 1, None)
    await begin(acme)
    third = robot(identity={"role": "Third"})
    for method, path, body in (
        ("PUT", "", third),
        ("PUT", "?canary=10", third),
        ("PUT", "?canary=20", SECOND),
        ("PATCH", "", {"display_name": "Other"}),
        ("POST", "/rollback", {"to": 2}),
    ):
        with subtests.test(f"{method} {path}"):
            assert error_of(await acme.call(method, AT + path, json=body)) == (409, "canary_on")
    assert (await acme.call("PUT", AT, json=robot())).status_code == 200, "nothing changes"
    assert await state(acme) == ("Lead Qualification Specialist", 2, (2, 10))


async def test_figures_are_asked_of_both_revisions_and_no_other_team_has_them(acme: Gateway) -> None:
    asked: list[CountRuns] = []
    checked: list[str] = []

    async def count(request: CountRuns) -> RunCounts:
        asked.append(request)
        return RunCounts(counts=[RunCount(rev=rev, runs=rev * 10) for rev in request.revs])

    async def check(request: CheckRobot) -> RobotProblems:
        checked.append(request.robot.robot_config.identity.role)
        return RobotProblems(problems=["no agent a"])

    acme.bus.answer(COUNT_RUNS, count)
    acme.bus.answer(CHECK_ROBOT, check)
    await begin(acme)
    await acme.call("PATCH", AT, json={"robot_status": "paused"})  # makes no other revision for runs
    found = (await acme.call("GET", CANARY)).json()
    assert (found["rev"], found["canary"]["rev"], [each["runs"] for each in found["counts"]]) == (1, 2, [10, 20])
    assert (asked[0].team_id, asked[0].member_id, asked[0].revs) == ("acme", "leader", [1, 2])
    assert (await acme.call("GET", f"{AT}/problems")).json()["problems"] == ["no agent a"]
    assert checked == ["Lead Qualification Specialist", "Second"]
    entry = (await acme.call("GET", f"{TEAM}/audit")).json()["entries"][0]
    assert (entry["action"], entry["on"]["member_id"]) == ("change_robot", "leader")
    acme.key = await acme.make_team("globex")
    assert error_of(await acme.call("GET", "/v1/teams/globex/robots/leader/canary")) == (404, "robot_not_found")
    for method, path in (("GET", ""), ("PUT", ""), ("POST", "/promote"), ("POST", "/abort")):
        answer = await acme.call(method, CANARY + path, json={"share": 5} if method == "PUT" else None)
        assert answer.status_code == 403, path
