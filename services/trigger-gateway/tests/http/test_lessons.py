"""A robot's lessons over HTTP: listed and forgotten, by role, robot and team."""

from datetime import UTC, datetime

import pytest

from rota_contracts.catalog import FORGET_LESSONS, LIST_LESSONS
from rota_contracts.messages.learning import (
    SCOPE_LIMIT,
    ForgetLessons,
    ForgetLessonsReply,
    LessonPage,
    ListLessons,
    scope_of,
)

from .harness import Gateway, error_of, fields_of

LESSONS = "/v1/teams/acme/robots/leader/lessons"
LESSON = {
    "id": "l1",
    "type": "insight",
    "content": "Their password=abc-123-secret",
    "execution_id": "e1",
    "learnt_at": datetime(2026, 3, 2, 9, 0, tzinfo=UTC),
}


class Learner:
    """Has the lesson l1."""

    def __init__(self) -> None:
        self.listed: list[ListLessons] = []
        self.forgotten: list[ForgetLessons] = []

    async def list(self, question: ListLessons) -> LessonPage:
        self.listed.append(question)
        return LessonPage.model_validate({"lessons": [LESSON], "next": "more"})

    async def forget(self, question: ForgetLessons) -> ForgetLessonsReply:
        self.forgotten.append(question)
        return ForgetLessonsReply(count=1 if question.ids in (None, ["l1"]) else 0)


@pytest.fixture
def learner(acme: Gateway) -> Learner:
    stub = Learner()
    acme.bus.answer(LIST_LESSONS, stub.list)
    acme.bus.answer(FORGET_LESSONS, stub.forget)
    return stub


async def test_lessons_are_listed_without_what_looks_like_a_secret(acme: Gateway, learner: Learner) -> None:  # F15
    page = (await acme.call("GET", f"{LESSONS}?by=c-1&limit=5&after=x", key=await acme.make_key("viewer"))).json()
    assert (page["lessons"][0]["content"], page["next"]) == ("Their password=[REDACTED]", "more")
    asked = ListLessons(team_id="acme", member_id="leader", scope="c-1", limit=5, after="x")
    assert learner.listed == [asked]


async def test_an_admin_forgets_one_lesson_those_of_a_value_or_all(acme: Gateway, learner: Learner) -> None:  # F15
    member, admin = await acme.make_key("member"), await acme.make_key("admin", "ann")
    assert (await acme.call("DELETE", LESSONS, key=member)).status_code == 403
    long = "c" * (SCOPE_LIMIT + 1)
    for path, params in ((f"{LESSONS}/l1", {}), (LESSONS, {"by": "c-1"}), (LESSONS, {"by": long}), (LESSONS, {})):
        done = await acme.call("DELETE", path, key=admin, params=params)
        assert (done.status_code, done.json()) == (200, {"count": 1})
    assert [(each.ids, each.scope) for each in learner.forgotten] == [
        (["l1"], None),
        (None, "c-1"),
        (None, scope_of(long)),
        (None, None),
    ]
    assert {(each.team_id, each.member_id) for each in learner.forgotten} == {("acme", "leader")}
    entry = (await acme.call("GET", "/v1/teams/acme/audit")).json()["entries"][0]
    assert (entry["action"], entry["status"]) == ("forget_lessons", 200)


async def test_what_is_not_there_is_said_and_a_blank_value_never_means_all(acme: Gateway, learner: Learner) -> None:
    assert error_of(await acme.call("DELETE", f"{LESSONS}/l2")) == (404, "lesson_not_found")
    assert error_of(await acme.call("GET", LESSONS.replace("leader", "unknown"))) == (404, "robot_not_found")
    assert error_of(await acme.call("DELETE", LESSONS.replace("leader", "unknown"))) == (404, "robot_not_found")
    for blank in ("", "  "):
        refused = await acme.call("DELETE", LESSONS, params={"by": blank})
        assert refused.status_code == 422
        assert next(iter(fields_of(refused))).endswith("by")
    assert (await acme.call("DELETE", LESSONS.replace("acme", "globex"))).status_code == 403
    assert [each.ids for each in learner.forgotten] == [["l2"]]
