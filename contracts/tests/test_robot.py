"""Robots' definitions: defaults, conversions and refusals."""

from typing import Any

import pytest
from pydantic import ValidationError

from rota_contracts.messages.trigger import ExecutorMode, TriggerType
from rota_contracts.robots.events import EventSubscription
from rota_contracts.robots.preferences import DeliveryPreferences
from rota_contracts.robots.robot import ALL_PHASES, Robot, RobotDefinition, RobotStatus, parse_definition


def definition(**config: Any) -> RobotDefinition:
    return parse_definition({"robot_config": {"identity": {"role": "Sales Analyst"}, **config}})


def robot(**fields: Any) -> Robot:
    raw = {"team_id": "acme", "member_id": "bot", "robot_config": {"identity": {"role": "Sales Analyst"}}}
    return Robot.model_validate(raw | fields)


def refusal(raw: dict[str, Any]) -> list[tuple[tuple[str | int, ...], str]]:
    with pytest.raises(ValidationError) as refused:
        parse_definition(raw)
    return [(error["loc"], error["msg"]) for error in refused.value.errors()]


# TG-02
@pytest.mark.parametrize("config", [{}, {"triggers": {}}, {"triggers": {"clock": {}, "intervene": {}, "event": {}}}])
@pytest.mark.parametrize("kind", TriggerType)
def test_every_trigger_is_on_unless_switched_off(config: dict[str, Any], kind: TriggerType) -> None:
    made = robot(robot_config=definition(**config).robot_config)
    assert made.trigger(kind).enabled


# TG-03
@pytest.mark.parametrize(
    ("key", "off"),
    [
        ("clock", {TriggerType.CLOCK}),
        ("intervene", {TriggerType.HUMAN}),
        ("event", {TriggerType.EVENT, TriggerType.CALLBACK}),
    ],
)
def test_a_switch_applies_to_its_own_triggers(key: str, off: set[TriggerType]) -> None:
    made = robot(robot_config=definition(triggers={key: {"enabled": False}}).robot_config)
    assert {kind for kind in TriggerType if not made.trigger(kind).enabled} == off


# SC-10, EX-07, LE-03, SC-17
def test_unset_fields_have_the_defaults_of_the_specification() -> None:
    config = definition().robot_config
    assert (config.quota.max, config.quota.queue, config.quota.priority) == (2, 10, 5)
    assert (config.executor.mode, config.executor.max_duration) == (ExecutorMode.STANDARD, "30m")
    assert (config.learn.on, [str(kind) for kind in config.learn.types]) == (True, ["execution", "feedback", "insight"])
    assert (config.learn.keep, config.clock, config.delivery) == (0, None, DeliveryPreferences())


# EX-02, CL-02
def test_the_phases_are_in_order() -> None:
    assert list(ALL_PHASES) == ["inspiration", "goals", "tasks", "run", "delivery", "learning"]


# DC-08, DEC-11
@pytest.mark.parametrize(
    ("kind", "opts", "target"),
    [
        ("email", {"to": ["sales-manager@company.com"]}, {"to": ["sales-manager@company.com"]}),
        (
            "webhook",
            {"url": "https://chat.example/webhook/sales-leads"},
            {"url": "https://chat.example/webhook/sales-leads"},
        ),
        ("process", {"name": "orders.UpdateStatus"}, {"process": "orders.UpdateStatus"}),
        ("notify", {"channel": "marketing-team"}, {"channel": "marketing-team"}),
    ],
)
def test_the_short_form_of_delivery_becomes_one_target(kind: str, opts: dict[str, Any], target: dict[str, Any]) -> None:
    short = definition(delivery={"type": kind, "opts": opts}).robot_config.delivery
    full = DeliveryPreferences.model_validate({"preferences": {kind: {"targets": [target]}}})
    assert short == full


# DEC-11
def test_the_short_form_of_notify_needs_no_options() -> None:
    assert definition(delivery={"type": "notify"}).robot_config.delivery.preferences.notify is not None


@pytest.mark.parametrize("kind", ["fax", ["email"], None])
def test_an_unknown_type_of_delivery_is_refused_with_the_known_ones(kind: Any) -> None:
    ((where, message),) = refusal({"robot_config": {"identity": {"role": "x"}, "delivery": {"type": kind}}})
    assert where == ("robot_config", "delivery")
    assert "expected type email, webhook, process or notify" in message


def test_a_misspelt_field_of_the_short_form_is_refused() -> None:
    delivery = {"type": "notify", "opts": {}, "options": {"channel": "sales"}}
    ((where, message),) = refusal({"robot_config": {"identity": {"role": "x"}, "delivery": delivery}})
    assert where == ("robot_config", "delivery")
    assert "not also options" in message


# DC-09, DC-11
def test_both_spellings_of_the_specification_are_one_field() -> None:
    made = DeliveryPreferences.model_validate(
        {
            "preferences": {
                "email": {"targets": [{"to": ["a@b.example"], "subject_template": "Executive Summary"}]},
                "process": {"targets": [{"name": "audit.LogDelivery"}]},
            }
        }
    ).preferences
    assert made.email is not None
    assert made.process is not None
    assert made.email.targets[0].subject == "Executive Summary"
    assert made.process.targets[0].process == "audit.LogDelivery"


# DC-10
def test_a_secret_written_into_a_definition_is_refused() -> None:
    delivery = {"type": "webhook", "opts": {"url": "https://a.example", "secret": "hunter2"}}
    ((where, message),) = refusal({"robot_config": {"identity": {"role": "x"}, "delivery": delivery}})
    assert where[-1] == "secret"
    assert "$SECRET.SLACK_HOOK" in message


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ({"displayname": "x"}, ("displayname",)),
        ({"robot_status": "idle"}, ("robot_status",)),
        ({"robot_config": {"clokc": {}}}, ("robot_config", "clokc")),
        ({"robot_config": {"quota": {"maximum": 3}}}, ("robot_config", "quota", "maximum")),
        (
            {"robot_config": {"events": [{"type": "webhook", "source": "leads", "filters": {}}]}},
            ("robot_config", "events", 0, "filters"),
        ),
        (
            {"robot_config": {"delivery": {"type": "notify", "opts": {"chanel": "sales"}}}},
            ("robot_config", "delivery", "preferences", "notify", "targets", 0, "chanel"),
        ),
    ],
)
def test_an_unknown_field_is_refused_with_its_path(raw: dict[str, Any], path: tuple[str | int, ...]) -> None:
    config = {"identity": {"role": "x"}} | raw.get("robot_config", {})
    assert [where for where, _ in refusal(raw | {"robot_config": config})] == [path]


# CL-03, CL-04
@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"identity": {"role": "  "}}, ("robot_config", "identity", "role")),
        ({"quota": {"priority": 11}}, ("robot_config", "quota", "priority")),
        ({"resources": {"phases": {"dreaming": "a"}}}, ("robot_config", "resources", "phases", "dreaming", "[key]")),
        ({"clock": {"mode": "times", "times": ["noon"]}}, ("robot_config", "clock", "times", 0)),
        ({"triggers": {"intervene": {"actions": ["plan"]}}}, ("robot_config", "triggers", "intervene", "actions", 0)),
    ],
)
def test_a_wrong_value_is_refused_with_its_path(config: dict[str, Any], path: tuple[str | int, ...]) -> None:
    assert [where for where, _ in refusal({"robot_config": {"identity": {"role": "x"}} | config})] == [path]


def test_a_stored_robot_with_fields_of_a_later_version_can_still_be_read() -> None:
    assert robot(added_later=1, robot_status="paused").robot_status is RobotStatus.PAUSED


# TG-18
def test_the_status_working_is_never_stored() -> None:
    with pytest.raises(ValidationError, match="'working' is derived when a robot is read"):
        robot(robot_status="working")


# TG-12
@pytest.mark.parametrize("source", ["leads", "/webhook/leads"])
def test_a_webhook_s_source_may_be_written_as_its_path(source: str) -> None:
    subscription = EventSubscription.model_validate({"type": "webhook", "source": source})
    assert subscription.wants("leads", "lead.created")
    assert not subscription.wants("orders", "lead.created")


# TG-12
def test_a_filter_lets_only_its_event_types_through() -> None:
    raw = {"type": "webhook", "source": "leads", "filter": {"event_types": ["lead.created"]}}
    subscription = EventSubscription.model_validate(raw)
    assert [subscription.wants("leads", kind) for kind in ("lead.created", "lead.deleted", None)] == [
        True,
        False,
        False,
    ]


# TG-12
def test_a_subscription_of_a_table_wants_no_webhook() -> None:
    assert not EventSubscription.model_validate({"type": "database", "source": "leads"}).wants("leads", None)


# EX-03
@pytest.mark.parametrize(
    ("written", "agent"),
    [({}, "rota.goals"), ({"goals": "__yao.planner"}, "rota.planner"), ({"goals": "my-planner"}, "my-planner")],
)
def test_the_agent_of_a_phase(written: dict[str, str], agent: str) -> None:
    made = robot(robot_config=definition(resources={"phases": written}).robot_config)
    assert made.phase_agent("goals") == agent


# EX-26, CL-04
def test_a_robot_may_use_the_agents_of_both_lists() -> None:
    config = definition(resources={"agents": ["lead-scorer"]}).robot_config
    assert robot(agents=["data-enricher"], robot_config=config).allowed_agents() == ["data-enricher", "lead-scorer"]


# EX-26, CL-04
def test_a_robot_may_use_the_servers_of_both_lists_and_of_each_the_tools_that_are_named() -> None:
    config = definition(resources={"mcp": [{"id": "crm", "tools": ["update", "assign"]}, {"id": "email"}]}).robot_config
    made = robot(mcp_servers=["clearbit", "crm"], robot_config=config)
    assert made.allowed_servers() == {"clearbit": set(), "crm": {"update", "assign"}, "email": set()}


# EX-26
def test_a_robot_without_servers_may_use_none() -> None:
    assert robot().allowed_servers() == {}


# EX-26
def test_a_robot_may_call_the_processes_that_it_names() -> None:
    processes = [{"name": "orders.UpdateStatus", "idempotent": True, "timeout": "5s"}, {"name": "audit.Log"}]
    made = robot(robot_config=definition(resources={"processes": processes}).robot_config)
    update, log = made.process("orders.UpdateStatus"), made.process("audit.Log")
    assert update is not None
    assert log is not None
    assert (update.idempotent, update.timeout) == (True, "5s")
    assert (log.idempotent, log.timeout) == (False, "1m")
    assert made.process("orders.updatestatus") is None


@pytest.mark.parametrize("process", [{"name": "orders..x"}, {"name": "orders.*"}, {"name": "x", "timeout": "soon"}])
def test_a_process_that_cannot_be_called_is_refused(process: dict[str, Any]) -> None:
    identity = {"identity": {"role": "x"}}
    ((where, _),) = refusal({"robot_config": identity | {"resources": {"processes": [process]}}})
    assert where[:4] == ("robot_config", "resources", "processes", 0)


# SC-13
def test_smart_dedup_is_off_unless_it_is_wanted() -> None:
    assert (definition().robot_config.dedup.on, definition().robot_config.dedup.window) == (False, "1d")
    wanted = definition(
        dedup={"on": True, "window": "12h"}, resources={"phases": {"dedup": "__yao.dedup"}}
    ).robot_config
    assert (wanted.dedup.on, wanted.dedup.window) == (True, "12h")
    assert robot(robot_config=wanted).phase_agent("dedup") == "rota.dedup"


# EX-20, VA-11
def test_the_settings_of_a_run_have_limits() -> None:
    usual = definition().robot_config.executor
    assert (usual.continue_on_failure, usual.validation_threshold, usual.max_turns_per_task) == (False, 0.6, 10)
    own = {"max_duration": "2h", "continue_on_failure": True, "validation_threshold": 0.9, "max_turns_per_task": 1}
    made = definition(executor=own).robot_config.executor
    assert made.model_dump(include=set(own)) == own


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("validation_threshold", 1.1),
        ("validation_threshold", -0.1),
        ("max_turns_per_task", 0),
        ("max_turns_per_task", 101),
        ("max_duration", "for ever"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(field: str, value: Any) -> None:
    ((where, _),) = refusal({"robot_config": {"identity": {"role": "x"}, "executor": {field: value}}})
    assert where[:3] == ("robot_config", "executor", field)
