"""`rota lessons`: the requests and the output."""

import json

from cli.tests.harness import Command, Gateway

LESSONS = "/robots/support/lessons"
LESSON = {
    "id": "8378e58a-fc73-5acc-ad8c-2e75577220bf",
    "type": "insight",
    "content": "Wants to be\ncalled",
    "execution_id": "e1",
    "learnt_at": "2026-03-02T09:00:00Z",
    "scope": "c-1",
    "rehearsed": True,
}


def test_lessons_are_listed_with_their_scope(gateway: Gateway, command: Command) -> None:  # F15
    gateway.responses[LESSONS] = {"lessons": [LESSON], "next": "more"}
    code, out, _ = command("lessons", "list", "support", "--by", "c-1")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert code == 0
    row = f"2026-03-02 09:00:00 {LESSON['id']} insight, rehearsed c-1 e1 Wants to be called"
    assert lines[1:] == [row, "next page: --after more"]
    assert dict(gateway.requests[-1].url.params) == {"limit": "50", "by": "c-1"}
    assert json.loads(command("lessons", "list", "support", "--json")[1]) == gateway.responses[LESSONS]
    gateway.responses[LESSONS] = {"lessons": [], "next": ""}
    assert command("lessons", "list", "support")[1] == "support has learnt nothing.\n"


def test_lessons_are_forgotten_by_id_by_value_or_all(gateway: Gateway, command: Command) -> None:  # F15
    gateway.responses |= {LESSONS: {"count": 7}, f"{LESSONS}/l1": {"count": 1}, f"{LESSONS}/l2": {"count": 1}}
    assert command("lessons", "forget", "support", "l1", "l2", "--yes")[1] == "support: 2 lessons forgotten\n"
    assert command("lessons", "forget", "support", "--by", "c-1", "--yes")[1] == "support: 7 lessons forgotten\n"
    assert dict(gateway.requests[-1].url.params) == {"by": "c-1"}
    assert json.loads(command("lessons", "forget", "support", "--all", "--yes", "--json")[1])["count"] == 7
    assert [(each.method, each.url.path.rpartition("support/")[2]) for each in gateway.requests] == [
        ("DELETE", "lessons/l1"),
        ("DELETE", "lessons/l2"),
        ("DELETE", "lessons"),
        ("DELETE", "lessons"),
    ]
