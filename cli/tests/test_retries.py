"""`rota executions retry`: runs once more, by id or page by page."""

import json
from typing import Any

import httpx
from cli.tests.harness import TEAM, Command

NOT_YET = {"error": {"code": "unknown_outcome", "message": "the outcome of crm.pay is unknown"}}


def retried(old: str, *, repeated: bool = False) -> dict[str, Any]:
    new = {"execution_id": f"new-{old}", "retry_of": old, "repeated": repeated, "message": "queued"}
    return new | {"trigger_id": "t", "state": "queued", "status_url": "/x"}


REFUSED = {
    "execution_id": "e3",
    "member_id": "leader",
    "status": "rejected",
    "code": "dead_letter",
    "message": "buried",
}


class Answers:
    """A gateway that answers in turn, then breaks down."""

    def __init__(self, *answers: tuple[int, dict[str, Any]]) -> None:
        self.answers, self.asked = list(answers), list[tuple[str, Any]]()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append((request.url.path.removeprefix(f"{TEAM}/executions"), json.loads(request.content)))
        status, body = self.answers.pop(0) if self.answers else (503, {"error": {"code": "unavailable"}})
        return httpx.Response(status, json=body)


def test_runs_are_retried_by_their_ids_and_one_that_can_not_be_fails_the_command(
    connect: Any, command: Command
) -> None:  # DEC-48
    connect(gateway := Answers((202, retried("e1")), (409, NOT_YET), (200, retried("e2", repeated=True))))
    code, out, _ = command("executions", "retry", "e1", "e3", "e2")
    assert (code, out.splitlines()) == (
        1,
        [
            "e1: new-e1, queued",
            "e2: new-e2, queued",
            "e3: not retried: the outcome of crm.pay is unknown (409 unknown_outcome)",
            "1 run retried, 1 had been before, 1 not",
        ],
    )
    how = {"force": False, "dry_run": False}
    assert gateway.asked == [("/e1/retry", how), ("/e3/retry", how), ("/e2/retry", how)]
    connect(gateway := Answers((202, retried("e3"))))
    assert command("executions", "retry", "e3", "--force")[0] == 0
    assert gateway.asked == [("/e3/retry", {"force": True, "dry_run": False})]


def test_a_range_is_retried_page_by_page(connect: Any, command: Command) -> None:  # DEC-48
    pages = [
        {"retried": [retried("e1"), retried("e2")], "refused": [REFUSED], "next": "n1"},
        {"retried": [retried("e4")], "refused": [], "next": ""},
    ]
    connect(gateway := Answers(*((202, page) for page in pages)))
    words = ("--status", "rejected", "--member", "leader", "--since", "2026-03-02T09:00:00Z")
    code, out, _ = command("executions", "retry", *words)
    assert (code, out.splitlines()) == (1, ["e3: not retried: buried", "3 runs retried, 1 not"])
    wanted = {"status": "rejected", "member_id": "leader", "since": "2026-03-02T09:00:00+00:00"}
    rest = wanted | {"force": False, "dry_run": False, "limit": 100}
    assert gateway.asked == [("/retry", rest | {"after": ""}), ("/retry", rest | {"after": "n1"})]
    connect(Answers((202, {"retried": [retried("e1")], "refused": [], "next": ""})))
    printed = json.loads(command("executions", "retry", "--status", "failed", "--dry-run", "--json")[1])
    assert printed == {"dry_run": True, "retried": [retried("e1")], "refused": []}
    connect(Answers((202, {"retried": [], "refused": [], "next": ""})))
    assert "nothing to retry" in command("executions", "retry", "--status", "failed")[1]


def test_a_retry_needs_ids_or_conditions_and_says_how_far_it_came(connect: Any, command: Command) -> None:
    assert command("executions", "retry")[0] == 2
    assert command("executions", "retry", "e1", "--status", "failed")[0] == 2
    connect(Answers((202, {"retried": [retried("e1")], "refused": [], "next": "n1"})))
    code, _, err = command("executions", "retry", "--since", "1h")
    assert code == 1
    assert "retried before the error: 1; asked again, none of them runs twice" in err
