"""The order of a call: everything that is checked before a tool or a process is called."""

from dataclasses import replace
from typing import Any

import pytest
from services.executor.tests.fixtures import new_run, signalled

from executor.domain.calls.callee import Callee, of_process, of_tool
from executor.domain.calls.duplicates import progress_note, stalled_rounds
from executor.domain.calls.order import MOST_ASKED, AskHooks, AskPerson, Begin, Proposed, Refuse, decide
from executor.domain.calls.policy import Policy, matches, permitted, policy_of, processes_for, role_of, stricter
from executor.domain.conversation.chat import Tool
from executor.domain.conversation.loop import UNREADABLE
from executor.domain.planning.arguments import fitted
from rota_common.testing.samples import a_robot
from rota_contracts.messages.conversation import Round, ToolStatus, ToolUse, Turn
from rota_contracts.messages.text import Text
from rota_contracts.robots.autonomy import Approvals, Autonomy, NeededRoles
from rota_contracts.roles import Role

SCHEMA = {"properties": {"id": {"type": "integer"}}, "required": ["id"], "additionalProperties": False}
DELETE = Callee("crm.delete", "crm__delete", "crm", "delete", parameters=SCHEMA)
READ = replace(DELETE, id="crm.read", tool="read", changes=False)
USE = ToolUse(step_id="s9", call_id="c9", name="crm__delete", server="crm", tool="delete", arguments={"id": 42})
SUPERVISED = Policy(Autonomy.SUPERVISED)
READ_ONLY = Policy(Autonomy.READ_ONLY)
ALL_APPROVED = Approvals(auto_approve=["*"])


def made(arguments: Any = None, **fields: Any) -> ToolUse:
    given = {"step_id": "s1", "call_id": "c1", "status": ToolStatus.COMPLETED, "output": Text(inline="gone")} | fields
    return USE.model_copy(update={"arguments": {"id": 42} if arguments is None else arguments, **given})


def proposed(**fields: Any) -> Proposed:
    return replace(Proposed(USE, DELETE, Policy(Autonomy.FULL)), **fields)


WRONG = USE.model_copy(update={"arguments": {"id": "x"}})
UNREAD = USE.model_copy(update={"arguments": {UNREADABLE: "{'id"}})
EVERYTHING_SPEAKS_AGAINST = {"policy": READ_ONLY, "hooks": True, "cancelled": "no", "before": [made()], "asked": 1000}

TABLE: list[tuple[str, Proposed, type[object], str]] = [
    ("nothing speaks against it", proposed(), Begin, ""),
    ("parse", proposed(use=UNREAD, callee=None, **EVERYTHING_SPEAKS_AGAINST), Refuse, "as a JSON object, got: {'id"),
    ("name", proposed(callee=None, known=["a", "b"], **EVERYTHING_SPEAKS_AGAINST), Refuse, "expected one of a, b"),
    ("schema", proposed(use=WRONG, **EVERYTHING_SPEAKS_AGAINST), Refuse, "crm.delete: id must be of type integer"),
    ("policy", proposed(**EVERYTHING_SPEAKS_AGAINST), Refuse, "autonomy read_only: crm.delete"),
    ("hook", proposed(policy=SUPERVISED, hooks=True, before=[made()]), AskHooks, ""),
    ("cancelled", proposed(policy=SUPERVISED, cancelled="hook x: no", before=[made()]), Refuse, "hook x: no"),
    ("policy again", proposed(policy=READ_ONLY, cancelled="hook x: no"), Refuse, "autonomy read_only"),
    ("duplicate", proposed(policy=SUPERVISED, before=[made()]), Refuse, "already (c1): it answered: gone"),
    ("approval", proposed(policy=SUPERVISED), AskPerson, "autonomy supervised"),
    ("too many approvals", proposed(policy=SUPERVISED, asked=MOST_ASKED), Refuse, f"asked for {MOST_ASKED} already"),
    ("cleared", proposed(cleared=True, policy=SUPERVISED, hooks=True, before=[made()]), Begin, ""),
    ("a refused call isn't a duplicate", proposed(before=[made(status="failed", error="?")]), Begin, ""),
    (
        "a failed call is",
        proposed(before=[made(status=ToolStatus.FAILED, error="500", started_at="2026-01-01T00:00:00Z")]),
        Refuse,
        "it failed: 500",
    ),
    ("one that waits is", proposed(before=[made(status=ToolStatus.WAITING)]), Refuse, "it has no answer yet"),
    ("42 is 42.0", proposed(before=[made({"id": 42.0})]), Refuse, "made in this turn already"),
    ("other arguments", proposed(before=[made({"id": 43})]), Begin, ""),
    ("repeatable", proposed(callee=replace(DELETE, repeatable=True), before=[made()]), Begin, ""),
]


def test_a_call_is_checked_in_one_order(subtests: pytest.Subtests) -> None:  # EX-49 EX-50 EX-56 EX-65 DEC-37
    for name, call, kind, reason in TABLE:
        with subtests.test(name):
            verdict = decide(call)
            assert isinstance(verdict, kind)
            assert reason in getattr(verdict, "reason", "")


def test_true_is_never_1() -> None:  # DEC-25
    anything = replace(DELETE, parameters={})
    one = USE.model_copy(update={"arguments": {"id": True}})
    assert decide(proposed(use=one, callee=anything, before=[made({"id": 1})])) == Begin()


ASKS: list[tuple[str, Policy, Callee, bool]] = [
    ("full", Policy(Autonomy.FULL), DELETE, False),
    ("full, and destructive", Policy(Autonomy.FULL), replace(DELETE, destructive=True), False),
    ("full, but always_ask", Policy(Autonomy.FULL, Approvals(always_ask=["crm.*"])), DELETE, True),
    ("always_ask, what reads too", Policy(Autonomy.FULL, Approvals(always_ask=["crm.read"])), READ, True),
    ("supervised", SUPERVISED, DELETE, True),
    ("supervised, what reads", SUPERVISED, READ, False),
    ("supervised, auto_approve", Policy(Autonomy.SUPERVISED, Approvals(auto_approve=["crm.delete"])), DELETE, False),
    (
        "always_ask before auto_approve",
        Policy(Autonomy.SUPERVISED, Approvals(always_ask=["crm.delete"], auto_approve=["crm.*"])),
        DELETE,
        True,
    ),
    ("always", Policy(Autonomy.SUPERVISED, always=["crm.delete"]), DELETE, False),
    (
        "always_ask before always",
        Policy(Autonomy.SUPERVISED, Approvals(always_ask=["crm.*"]), always=["crm.delete"]),
        DELETE,
        True,
    ),
    ("by default, what resources names", Policy(), DELETE, False),
    ("by default, what it doesn't name", Policy(), replace(DELETE, named=False), True),
    ("by default, what it doesn't name and reads", Policy(), replace(READ, named=False), False),
    ("by default, what may destroy", Policy(), replace(DELETE, destructive=True), True),
    ("auto_approve what may destroy", Policy(approvals=ALL_APPROVED), replace(DELETE, destructive=True), False),
    ("a dry run calls nothing", Policy(Autonomy.SUPERVISED, harmless=True), DELETE, False),
]  # fmt: skip


def test_autonomy_and_lists_decide_who_is_asked(subtests: pytest.Subtests) -> None:  # EX-56 DEC-52 DEC-54
    for name, policy, callee, asks in ASKS:
        with subtests.test(name):
            assert bool(policy.question(callee)) is asks


def test_a_read_only_robot_is_offered_and_calls_nothing_that_may_change_something() -> None:  # EX-65 DEC-52
    allowed = Policy(Autonomy.READ_ONLY, Approvals(auto_approve=["*"]), always=["crm.delete"])
    assert "isn't known to change nothing" in allowed.refusal(DELETE)
    assert allowed.refusal(READ) == ""
    tools = [Tool("crm__read", "crm", "read", read_only=True), Tool("crm__delete", "crm", "delete")]
    assert [tool.name for tool in permitted(tools, allowed)] == ["crm__read"]
    assert len(permitted(tools, SUPERVISED)) == 2


def test_a_call_that_needs_a_role_is_offered_and_made_in_that_role_or_above(
    subtests: pytest.Subtests,
) -> None:  # EX-65 TG-24
    needed = NeededRoles(member=["crm.*"], admin=["crm.delete"], owner=["bank.*"])
    pay = replace(DELETE, id="bank.pay")
    other = replace(DELETE, id="mail.send")
    cases = {
        Role.VIEWER: [other],
        Role.MEMBER: [READ, other],
        Role.ADMIN: [READ, DELETE, other],
        Role.OWNER: [READ, DELETE, pay, other],
    }
    for role, may in cases.items():
        with subtests.test(role=str(role)):
            allowed = Policy(Autonomy.FULL, ALL_APPROVED, always=["bank.pay"], roles=needed, role=role)
            assert [each for each in (READ, DELETE, pay, other) if not allowed.refusal(each)] == may
    refused = decide(proposed(policy=Policy(roles=needed, role=Role.MEMBER), cleared=False, hooks=True))
    assert isinstance(refused, Refuse)
    assert refused.reason.startswith("role admin: crm.delete needs it, and this run acts in the role member")
    tools = [Tool("crm__read", "crm", "read"), Tool("crm__delete", "crm", "delete")]
    assert permitted(tools, Policy(roles=needed, role=Role.MEMBER)) == tools[:1]
    assert permitted(tools, Policy(roles=needed, role=Role.VIEWER, harmless=True)) == tools  # a dry run calls nothing


ROLES: list[tuple[str, dict[str, Any], Role]] = [
    ("a person's is that of the key", {"type": "human", "role": "admin"}, Role.ADMIN),
    ("a person's of an older gateway", {"type": "human"}, Role.MEMBER),
    ("a clock's is the robot's own", {"type": "clock"}, Role.ADMIN),
    ("an event's, too", {"type": "event"}, Role.VIEWER),
    ("a callback counts as an event", {"type": "callback"}, Role.VIEWER),
    ("by hand, no more than the key's", {"type": "clock", "role": "member"}, Role.MEMBER),
    ("by hand, no more than the robot's own", {"type": "event", "role": "owner"}, Role.VIEWER),
]
OWN = {"clock": {"role": "admin"}, "event": {"role": "viewer"}}


def test_a_run_acts_in_the_role_of_its_trigger(subtests: pytest.Subtests) -> None:  # EX-65 TG-24
    for name, trigger, role in ROLES:
        with subtests.test(name):
            assert role_of(new_run(robot=a_robot(config={"triggers": OWN}), **trigger)) is role
    assert role_of(new_run("clock")) is role_of(new_run("event")) is Role.MEMBER  # unless its definition says otherwise


def test_a_person_who_intervenes_in_a_run_lowers_its_role_and_never_raises_it() -> None:  # EX-65 TG-24
    run = new_run("human", role="owner")
    run = signalled(run, "pause", role="viewer")  # no words of theirs are in it
    assert role_of(run) is Role.OWNER
    run = signalled(run, "instruct", "Delete it all.", role="member")
    assert role_of(run) is Role.MEMBER
    assert role_of(signalled(run, "instruct", "Go on.", role="owner")) is Role.MEMBER


def test_a_plan_is_shown_the_processes_that_its_run_may_call() -> None:  # EX-65
    config = {"resources": {"processes": [{"name": "crm.pay"}]}, "db": {"models": ["user"]}}
    robot = a_robot(config=config | {"roles": {"admin": ["crm.*"], "owner": ["models.user.Delete"]}})
    member, admin = (new_run("human", robot=robot, role=role) for role in ("member", "admin"))
    assert (processes_for(member), processes_for(admin)) == (["models.user.*"], ["crm.pay", "models.user.*"])
    delete = of_process("models.user.Delete", robot)
    assert delete
    assert policy_of(admin).refusal(delete).startswith("role owner: models.user.Delete")


def test_the_stricter_of_robot_and_agent_holds() -> None:  # DEC-52
    full, supervised, read_only = Autonomy.FULL, Autonomy.SUPERVISED, Autonomy.READ_ONLY
    assert stricter(full, None) is full
    assert stricter(full, supervised) is stricter(supervised, full) is supervised
    assert stricter(read_only, full) is stricter(None, read_only) is read_only
    assert stricter(None, full) is stricter(None, None) is None
    assert stricter(None, supervised) is supervised


def test_a_pattern_is_a_name_or_its_beginning() -> None:
    assert matches(["crm.*"], "crm.delete")
    assert matches(["write_file"], "write_file")
    assert matches(["*"], "x")
    assert not matches(["crm.*"], "crmx.delete")
    assert not matches(["crm.del"], "crm.delete")


def test_what_is_known_of_a_callee() -> None:
    robot = a_robot(config={"resources": {"processes": [{"name": "crm.pay"}]}, "db": {"models": ["user"]}})
    pay, find, create = (of_process(name, robot) for name in ("crm.pay", "models.user.Find", "models.user.Create"))
    assert pay
    assert find
    assert create
    assert [(each.changes, each.named) for each in (pay, find, create)] == [(True, True), (False, False), (True, False)]
    assert of_process("crm.other", robot) is None
    assert of_tool(Tool("read_file", "rota", "read_file", read_only=True)).id == "read_file"
    assert of_tool(Tool("crm__delete", "crm", "delete", destructive=True)).destructive


def test_arguments_that_were_written_as_text_are_read_as_their_schema_means_them() -> None:
    schema = {
        "properties": {
            "count": {"type": "integer"},
            "on": {"type": "boolean"},
            "name": {"type": "string"},
            "path": {"type": "string"},
            "any": {},
        },
        "required": ["name"],
    }
    given = {"count": "5", "on": "true", "name": "7", "path": None, "any": "1", "more": None}
    assert fitted(given, schema) == {"count": 5, "on": True, "name": "7", "any": "1", "more": None}
    assert fitted({"count": "five", "name": None}, schema) == {"count": "five", "name": None}


def a_round(*uses: ToolUse) -> Round:
    return Round(uses=list(uses))


def test_rounds_that_bring_nothing_new_are_counted_from_the_end() -> None:  # EX-86
    started = {"started_at": "2026-01-01T00:00:00Z"}
    same = a_round(made(**started))
    refused = a_round(made(status=ToolStatus.FAILED, error="the same call was made", output=None, started_at=None))
    other = a_round(made(output=Text(inline="another"), **started))
    assert stalled_rounds(Turn(number=1, rounds=[same])) == 0
    assert stalled_rounds(Turn(number=1, rounds=[same, same, refused])) == 2
    assert stalled_rounds(Turn(number=1, rounds=[same, same, other])) == 0
    assert stalled_rounds(Turn(number=1, rounds=[same, other, other, same])) == 2
    assert stalled_rounds(Turn(number=1, rounds=[same, a_round(made({"id": 7}, **started))])) == 0


def test_the_model_is_warned_and_then_gets_no_more_tools() -> None:  # EX-86
    assert progress_note(2) == ""
    assert "last 3 rounds" in progress_note(3)
    assert "try something else" in progress_note(3)
    assert "no more tools" in progress_note(6)
