"""Commands that change runs: their requests and their output."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cli.tests.harness import Command, Gateway

from rota.trace import signs_for, trace_lines
from rota_contracts.messages.run_trace import TraceReply

GIVEN = {"execution_id": "e1", "intervention_id": "i1", "status": "running", "message": "given"}
PLAN = {"plan_id": "p1", "state": "planned", "plan_time": "2030-01-01T12:00:00Z", "message": "planned"}
DECIDED = {"at": "2026-03-02T09:00:00Z", "step": "goals", "outcome": "asked", "replayed": None}


def test_an_intervention_sends_only_the_given_fields(gateway: Gateway, command: Command) -> None:  # TG-06
    gateway.responses["/robots/a/intervene"] = GIVEN
    words = ("--action", "goal.adjust", "-m", "Friday", "--execution", "e1", "--goal", "Goal 2")
    assert command("intervene", "a", *words) == (0, "execution e1: given\n", "")
    sent = {
        "action": "goal.adjust",
        "messages": [{"role": "user", "content": "Friday"}],
        "execution_id": "e1",
        "goal": "Goal 2",
    }
    assert gateway.asked == [("/robots/a/intervene", sent)]


def test_fields_of_a_task_are_set_as_text_or_as_json_lists(gateway: Gateway, command: Command) -> None:  # TG-07
    gateway.responses["/robots/a/intervene"] = GIVEN
    sets = ("--set", "description=2 = two", "--set", 'args=[1, "x"]')
    assert command("intervene", "a", "--action", "task.update", "--task-id", "t1", *sets)[0] == 0
    task = {"id": "t1", "description": "2 = two", "args": [1, "x"]}
    assert gateway.asked[0][1] == {"action": "task.update", "task": task}


def test_a_planned_item_is_printed_with_its_id_and_time(gateway: Gateway, command: Command) -> None:  # TG-09
    gateway.responses["/robots/a/intervene"] = PLAN
    words = ("--action", "plan.update", "--plan-id", "p1", "--plan-time", "2030-01-01T12:00:00Z")
    assert command("intervene", "a", *words)[:2] == (0, "plan p1: planned, due 2030-01-01 12:00:00 UTC\n")
    assert gateway.asked[0][1] == {"action": "plan.update", "plan_id": "p1", "plan_time": "2030-01-01T12:00:00Z"}


def test_a_waiting_run_is_answered(gateway: Gateway, command: Command) -> None:
    gateway.responses["/executions/e1"] = {"member_id": "a", "status": "waiting", "question": {"question": "Which?"}}
    gateway.responses["/robots/a/intervene"] = GIVEN
    assert command("answer", "e1", "The second")[:2] == (0, "execution e1: given\n")
    messages = [{"role": "user", "content": "The second"}]
    assert gateway.asked[1][1] == {"execution_id": "e1", "action": "instruct", "messages": messages}


def test_a_run_without_a_question_is_not_answered(gateway: Gateway, command: Command) -> None:
    gateway.responses["/executions/e1"] = {"member_id": "a", "status": "running", "question": None}
    code, out, err = command("answer", "e1", "Yes")
    assert (code, out) == (1, "")
    assert "e1 is running and has no question" in err
    assert "rota intervene a --action instruct --execution e1" in err
    assert len(gateway.asked) == 1


@pytest.mark.parametrize("action", ["pause", "resume", "stop"])
@pytest.mark.parametrize(
    ("words", "path"), [(("e1",), "/executions/e1"), (("--robot", "a"), "/robots/a"), (("--team",), "")]
)
def test_a_run_a_robot_or_the_team_is_controlled(
    gateway: Gateway, command: Command, action: str, words: tuple[str, ...], path: str
) -> None:  # TG-16
    result = {"execution_ids": ["e1", "e2"], "withdrawn": ["e2"], "robots": [], "message": "stopping 2 executions"}
    gateway.responses[f"{path}/{action}"] = result
    code, out, _ = command(action, *words, "--reason", "wrong prices")
    assert (code, out) == (0, f"e1: {action}\ne2: removed from the queue\nstopping 2 executions\n")
    assert gateway.asked == [(f"{path}/{action}", {"reason": "wrong prices"})]
    assert json.loads(command(action, *words, "--json")[1]) == result


def test_a_robot_in_place_of_a_run_is_answered_with_its_option(gateway: Gateway, command: Command) -> None:
    code, _, err = command("pause", "leader")
    assert (code, "rota pause --robot leader" in " ".join(err.split())) == (1, True)


def test_an_instruction_needs_no_action(gateway: Gateway, command: Command) -> None:
    gateway.responses["/robots/leader/intervene"] = {"execution_id": "e1", "message": "queued"}
    assert command("intervene", "leader", "-m", "Ask for Friday")[0] == 0
    assert gateway.asked[-1][1]["action"] == "instruct"


def test_a_trail_shows_words_outcome_model_and_tokens(gateway: Gateway, command: Command) -> None:
    call = {"model": "small", "usage": {"tokens_in": 812, "tokens_out": 9, "tokens_cached": 640}, "seconds": 1.4}
    step = {"number": 4, "at": "2026-03-02T09:00:00Z", "step": "ask goals", "outcome": "GoalsSet"}
    words = {"made": "goals: Score it", "wrote": "## Goals\nScore it", "reasoning": "Hm.", "calls": [], "call": call}
    unmeasured = step | {"number": 5, "made": "", "call": call | {"usage": None}}
    gateway.responses["/executions/e1/trail"] = {"found": True, "steps": [step | words, unmeasured], "left_out": 2}
    code, out, _ = command("executions", "trail", "e1", "--step", "4")
    assert code == 0
    assert out.splitlines() == [
        "(2 earlier steps left out)",
        "  4  2026-03-02 09:00:00  ask goals  [small, 812 (640 cached) + 9 tokens, 1.4 s]",
        "     thought: Hm.",
        "     wrote: ## Goals",
        "       Score it",
        "     → goals: Score it",
        "  5  2026-03-02 09:00:00  ask goals  [small, tokens unknown, 1.4 s]",
        "     → GoalsSet",
    ]


def test_a_trace_is_shown_as_a_waterfall_with_time_tokens_cost_and_errors(
    gateway: Gateway, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:  # F19
    monkeypatch.setenv("COLUMNS", "80")
    base = {"trace_id": "a" * 32, "started_at": "2026-03-02T09:00:00Z", "ended_at": "2026-03-02T09:00:02.5Z"}
    used = {"gen_ai.usage.input_tokens": 812, "gen_ai.usage.output_tokens": 9}
    why = base | {"span_id": "4" * 16, "parent_id": "9" * 16, "name": "trigger clock", "kind": "run"}
    why |= {"started_at": "2026-03-02T08:59:57.5Z", "attributes": {"rota.stage": "trigger"}}
    queue = why | {"span_id": "5" * 16, "parent_id": "4" * 16, "name": "queue", "ended_at": base["started_at"]}
    queue |= {"attributes": {"rota.stage": "queue"}}
    root = base | {"span_id": "1" * 16, "parent_id": "4" * 16, "name": "invoke_agent ann", "kind": "run"}
    model = base | {"span_id": "2" * 16, "parent_id": "1" * 16, "name": "chat small", "kind": "model"}
    model |= {"attributes": used | {"rota.cost": 0.5, "rota.currency": "USD"}}
    tool = base | {"span_id": "3" * 16, "parent_id": "1" * 16, "name": "execute_tool look", "kind": "tool"}
    tool |= {"started_at": "2026-03-02T09:00:02.45Z", "error": "away\nfor long"}
    spans = [root | {"attributes": used | {"rota.cost.USD": 0.5}}, why, queue, tool, model]
    found = {"found": True, "trace_id": "a" * 32, "spans": spans, "left_out": 3}
    gateway.responses["/executions/e1/trace"] = found
    code, out, _ = command("executions", "trace", "e1", "--svg", "trace.svg")
    assert code == 0
    assert out.splitlines() == [
        f"trace {'a' * 32}",
        "SPAN           0                              5 s  SECONDS  TOKENS          COST",
        "trigger clock  ██████████████████████████████████    5.000",
        " queue         ░░░░░░░░░░░░░░░░░                     2.500",
        " run ann                        █████████████████    2.500   812+9  0.500000 USD",
        "  model small                   █████████████████    2.500   812+9  0.500000 USD",
        "  tool look                                     █    0.050",
        "   ✗ away for long",
        "(3 further spans left out)",
    ]
    assert max(map(len, out.splitlines())) <= 80
    bars = [each for each in ElementTree.parse(tmp_path / "trace.svg").iter() if each.tag.endswith("}g")]
    assert len(bars) == len(spans)
    plain = trace_lines(TraceReply.model_validate(found), width=60, signs=signs_for("ascii"))
    assert all(line.isascii() and len(line) <= 60 for line, _ in plain)
    assert json.loads(command("executions", "trace", "e1", "--json")[1]) == found


def test_spending_is_shown_by_what_is_asked_for(gateway: Gateway, command: Command) -> None:  # EX-63
    sums = {"calls": 3, "tokens_in": 900, "tokens_out": 50, "tokens_cached": 100}
    rows = [{"robot": "ann", "model": "big", "currency": "USD", "cost": 1.25, **sums}]
    rows.append({"robot": "bob", "model": "own", "currency": "", "cost": 0, **sums})
    gateway.responses["/spend"] = {"rows": rows, "unpriced": 3}
    code, out, _ = command("spend", "--by", "robot,model", "--since", "7d")
    assert code == 0
    *lines, last = out.splitlines()
    assert last == "3 calls have no known cost: their models have no price, or no numbers came."
    assert [line.split() for line in lines] == [
        ["ROBOT", "MODEL", "CALLS", "TOKENS", "IN", "CACHED", "TOKENS", "OUT", "COST"],
        ["ann", "big", "3", "900", "100", "50", "1.25", "USD"],
        ["bob", "own", "3", "900", "100", "50", "-"],
    ]
    assert json.loads(command("spend", "--json")[1]) == gateway.responses["/spend"]
    assert command("spend", "--by", "colour")[0] == 2
    gateway.responses["/spend"] = {"rows": []}
    assert command("spend")[1].startswith("No model has answered")


def test_an_equal_replay_ends_with_the_verdict(gateway: Gateway, command: Command) -> None:
    gateway.responses["/executions/e1/replay"] = {"found": True, "same": True, "decisions": [DECIDED]}
    code, out, _ = command("replay", "e1")
    assert code == 0
    assert out.splitlines()[1].split() == ["=", "2026-03-02", "09:00:00", "goals", "asked"]
    assert out.splitlines()[-1] == "the same: 1 decisions and the resulting execution"


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_replay_that_differs_is_marked_and_ends_with_1(
    gateway: Gateway, command: Command, words: tuple[str, ...]
) -> None:
    printed = {
        "found": True,
        "same": False,
        "difference": "goals",
        "decisions": [DECIDED, DECIDED | {"replayed": "failed"}],
    }
    gateway.responses["/executions/e1/replay"] = printed
    code, out, _ = command("replay", "e1", *words)
    assert code == 1
    if words:
        assert json.loads(out) == printed
    else:
        assert [line.split()[0] for line in out.splitlines()[1:-1]] == ["=", "≠"]
        assert out.splitlines()[-1] == "not the same: goals"


def test_a_run_without_a_delivery_is_shown(gateway: Gateway, command: Command) -> None:
    gateway.responses["/executions/e1"] = {"execution_id": "e1"}
    code, out, _ = command("executions", "show", "e1", "--json")
    assert (code, json.loads(out)) == (0, {"execution_id": "e1", "delivery_attempts": None})
    gateway.responses["/executions/e1/delivery"] = {"request_id": "d1"}
    shown = json.loads(command("executions", "show", "e1", "--json")[1])
    assert shown == {"execution_id": "e1", "delivery_attempts": {"request_id": "d1"}}


def test_an_error_of_the_gateway_is_printed(gateway: Gateway, command: Command) -> None:
    code, out, err = command("stop", "e9")
    assert (code, out) == (1, "")
    assert "nothing at /executions/e9/stop (404 not_found)" in err


def test_runs_are_listed_with_the_way_to_the_next_page(gateway: Gateway, command: Command) -> None:
    run = {"execution_id": "e1", "member_id": "a", "trigger_type": "event", "status": "failed", "phase": "run"}
    page = {"executions": [run | {"created_at": "2026-03-02T09:00:00Z"}], "total": 3, "page": 1, "next": "c2"}
    gateway.responses["/executions"] = page
    out = command("executions", "--robot", "a", "--limit", "1")[1].splitlines()
    assert out[1].split() == ["e1", "a", "event", "failed", "run", "2026-03-02", "09:00:00"]
    assert out[2:] == ["page 1, 3 in total", "next page: --after c2"]
    command("executions", "--limit", "1", "--after", "c2")
    assert [request.url.params["limit"] for request in gateway.requests] == ["1", "1"]
    assert gateway.requests[1].url.params["after"] == "c2"
