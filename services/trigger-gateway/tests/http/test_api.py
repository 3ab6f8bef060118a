"""The API as a whole: errors, request ids, documentation, executions read from the executor, dead letters."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from rota_common.clock import now
from rota_common.errors import Transient
from rota_common.runtime.traces import run_span
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_contracts.catalog import (
    ABORT_CALLS,
    CHECK_ROBOT,
    LIST_AGENTS,
    LIST_CALLS,
    LIST_EXECUTIONS,
    LIST_PROVIDERS,
    READ_DELIVERY,
    READ_EXECUTION,
    READ_SPEND,
    READ_TRACE,
    READ_TRAIL,
    TEST_CONNECTOR,
)
from rota_contracts.messages.agent import AbortCalls, AbortedCalls, CallList, CallUnderWay, ListCalls
from rota_contracts.messages.delivery import (
    AttemptDetail,
    ChannelResult,
    DeliveryContext,
    DeliveryReply,
    DeliveryType,
    ReadDelivery,
    TargetDetail,
)
from rota_contracts.messages.execution import (
    ExecStatus,
    Execution,
    ExecutionPage,
    ExecutionReply,
    ExecutionSummary,
    ListExecutions,
    ReadExecution,
    TaskResult,
    TaskStatus,
)
from rota_contracts.messages.provider import (
    AgentCard,
    AgentList,
    Capability,
    CheckOutcome,
    CheckResult,
    ConnectorCheck,
    ListAgents,
    ListProviders,
    Provider,
    ProviderList,
    TryConnector,
    TryConnectorReply,
)
from rota_contracts.messages.robot_check import CheckRobot, RobotProblems
from rota_contracts.messages.run_history import Intervention
from rota_contracts.messages.run_trace import ReadTrace, SpanKind, TraceReply, TraceSpan
from rota_contracts.messages.run_trail import ReadTrail, TrailReply, TrailStep
from rota_contracts.messages.spend import ReadSpend, SpendBy, SpendReply, SpendRow
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import ExecutorMode, TriggerInput, TriggerReceivedV1, TriggerType
from rota_contracts.robots.robot import Phase

from .harness import ADMIN, HOOK, Gateway, error_of, fields_of, signed

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


async def test_the_index_links_every_public_page(empty: Gateway) -> None:
    links = (await empty.http.get("/")).json()["links"]
    for name in ("docs", "openapi", "live", "ready"):
        assert (await empty.http.get(links[name])).status_code == 200, name


async def test_the_documentation_lists_every_route_with_its_key(empty: Gateway) -> None:
    paths = (await empty.http.get("/openapi.json")).json()["paths"]
    secured = {path for path, methods in paths.items() if all("security" in each for each in methods.values())}
    assert set(paths) - secured == {
        *("/v1/hooks/{team}/{source}", "/v1/callbacks/{callback_id}", "/v1/approvals/{token}"),
        *("/asyncapi", "/asyncapi/feed", "/schemas", "/schemas/{name}"),
    }
    body = paths["/v1/teams/{team}/robots"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert "robot_config" in body["properties"]


async def test_every_answer_has_a_request_id(acme: Gateway) -> None:
    for answer in (await acme.http.get("/"), await acme.post(), await acme.http.get("/nowhere")):
        assert len(answer.headers["x-request-id"]) == 36
    given = await acme.http.get("/", headers={"x-request-id": "my-own.1"})
    assert given.headers["x-request-id"] == "my-own.1"
    odd = await acme.http.get("/", headers={"x-request-id": "not\tone of ours"})
    assert len(odd.headers["x-request-id"]) == 36


async def test_unknown_paths_and_methods_have_the_same_form_of_error(empty: Gateway) -> None:
    assert error_of(await empty.http.get("/nowhere")) == (404, "not_found")
    assert error_of(await empty.http.get(HOOK)) == (405, "method_not_allowed")


async def test_an_unexpected_failure_shows_only_its_request_id(empty: Gateway) -> None:  # TG-35
    async def bug() -> None:
        raise RuntimeError("mongodb://admin:hunter2@db.internal/secret in /etc/passwd")

    empty.fastapi.add_api_route("/bug", bug)
    answer = await empty.http.get("/bug")
    assert error_of(answer) == (500, "internal_error")
    assert answer.headers["x-request-id"] in answer.text
    for leak in ("hunter2", "db.internal", "passwd", "RuntimeError", "Traceback"):
        assert leak not in answer.text


class Executor:
    """Has one execution, of the team acme."""

    def __init__(self) -> None:
        self.asked: list[ListExecutions] = []

    async def read(self, question: ReadExecution) -> ExecutionReply:
        known = question.team_id == "acme" and question.execution_id == "e1"
        return ExecutionReply(execution=execution() if known else None)

    async def list(self, question: ListExecutions) -> ExecutionPage:
        self.asked.append(question)
        mine = [summary()] if question.team_id == "acme" else []
        return ExecutionPage(executions=mine, total=len(mine), page=question.page, page_size=question.page_size)


def execution() -> Execution:
    whose: dict[str, Any] = {"team_id": "acme", "member_id": "leader"}
    trigger: dict[str, Any] = {
        "trigger_id": "t1",
        "type": TriggerType.EVENT,
        "input": TriggerInput(),
        "received_at": AT,
    }
    return Execution(
        execution_id="e1",
        robot_rev=1,
        trigger=TriggerReceivedV1.model_validate(whose | trigger),
        executor_mode=ExecutorMode.DRYRUN,
        status=ExecStatus.COMPLETED,
        phase=Phase.LEARNING,
        created_at=AT,
        **whose,
    )


def summary() -> ExecutionSummary:
    return ExecutionSummary(
        execution_id="e1",
        team_id="acme",
        member_id="leader",
        trigger_type="event",
        status=ExecStatus.COMPLETED,
        phase=Phase.LEARNING,
        created_at=AT,
    )


async def test_a_team_reads_its_own_spending(acme: Gateway) -> None:  # EX-63
    asked: list[ReadSpend] = []

    async def read(question: ReadSpend) -> SpendReply:
        asked.append(question)
        return SpendReply(rows=[SpendRow(robot="ann", calls=2)])

    acme.bus.answer(READ_SPEND, read)
    found = await acme.call("GET", "/v1/teams/acme/spend?since=2026-03-02T09:00:00Z&by=robot&by=day")
    assert [(row["robot"], row["calls"]) for row in found.json()["rows"]] == [("ann", 2)]
    assert (asked[0].team_id, asked[0].by) == ("acme", [SpendBy.ROBOT, SpendBy.DAY])
    wrong = [f"/v1/teams/{rest}" for rest in ("acme/spend", "acme/spend?since=2026-03-02T09:00:00Z&by=colour")]
    other = "/v1/teams/globex/spend?since=2026-03-02T09:00:00Z"
    assert [(await acme.call("GET", path)).status_code for path in (*wrong, other)] == [422, 422, 403]
    assert len(asked) == 1


async def test_what_a_robot_names_and_the_executor_has_not_is_read(acme: Gateway) -> None:
    asked: list[CheckRobot] = []

    async def check(question: CheckRobot) -> RobotProblems:
        asked.append(question)
        return RobotProblems(problems=["MCP server crm isn't set up here"])

    acme.bus.answer(CHECK_ROBOT, check)
    found = await acme.call("GET", "/v1/teams/acme/robots/leader/problems")
    assert found.json() == {"problems": ["MCP server crm isn't set up here"]}
    assert [(each.robot.team_id, each.robot.member_id) for each in asked] == [("acme", "leader")]
    others = [f"/v1/teams/{of}/problems" for of in ("acme/robots/unknown", "globex/robots/leader")]
    assert [(await acme.call("GET", path)).status_code for path in others] == [404, 403]
    assert len(asked) == 1


async def test_providers_are_listed_by_what_they_can(acme: Gateway) -> None:  # CL-14
    asked: list[ListProviders] = []
    can = dict.fromkeys(Capability, True)
    there = Provider(id="mine", label="Mine", type="openai", model="small", capabilities=can)

    async def providers(question: ListProviders) -> ProviderList:
        asked.append(question)
        return ProviderList(problem="there is no agent x") if question.agent_id else ProviderList(providers=[there])

    acme.bus.answer(LIST_PROVIDERS, providers)
    found = await acme.call("GET", "/v1/teams/acme/llm/providers?filters=tool_calls,vision")
    assert [(each["id"], each["capabilities"]["vision"]) for each in found.json()["providers"]] == [("mine", True)]
    assert (asked[0].team_id, asked[0].filters) == ("acme", [Capability.TOOL_CALLS, Capability.VISION])
    wrong = await acme.call("GET", "/v1/teams/acme/llm/providers?filters=visoin")
    assert wrong.status_code == 422
    assert "multimodal, temperature_adjustable, got visoin" in wrong.text
    paths = ["acme/llm/providers?agent=x", "globex/llm/providers", "globex/agents"]
    assert [(await acme.call("GET", f"/v1/teams/{path}")).status_code for path in paths] == [404, 403, 403]
    assert len(asked) == 2


async def test_agents_are_listed_by_their_tags(acme: Gateway) -> None:  # CL-08
    asked: list[ListAgents] = []

    async def agents(question: ListAgents) -> AgentList:
        asked.append(question)
        return AgentList(agents=[AgentCard(id="yao.keeper", name="The keeper", tags=["Data", "Knowledge"])])

    acme.bus.answer(LIST_AGENTS, agents)
    found = await acme.call("GET", "/v1/teams/acme/agents?tags=Data,%20Knowledge")
    assert [each["id"] for each in found.json()["agents"]] == ["yao.keeper"]
    assert asked == [ListAgents(team_id="acme", tags=["Data", "Knowledge"])]


async def test_members_test_a_connector_and_it_is_audited(acme: Gateway) -> None:
    asked: list[TryConnector] = []

    async def tried(question: TryConnector) -> TryConnectorReply:
        asked.append(question)
        if question.connector != "mine":
            return TryConnectorReply(problem="expected a connector, one of mine")
        works = CheckResult(name=ConnectorCheck.CALL, outcome=CheckOutcome.WORKS, seconds=0.5)
        return TryConnectorReply(checks=[works], calls=1, cost=0.25, currency="USD")

    acme.bus.answer(TEST_CONNECTOR, tried)
    path, viewer, member = "/v1/teams/acme/llm/providers", await acme.make_key("viewer"), await acme.make_key("member")
    found = (await acme.call("POST", f"{path}/mine/test", key=member)).json()
    assert ([each["outcome"] for each in found["checks"]], found["cost"]) == (["works"], 0.25)
    unknown = await acme.call("POST", f"{path}/gpt/test", key=member)
    assert error_of(unknown) == (404, "connector_not_found")
    assert "one of mine" in unknown.text
    assert error_of(await acme.call("POST", f"{path}/mine/test", key=viewer)) == (403, "role_too_low")
    assert [(each.team_id, each.connector) for each in asked] == [("acme", "mine"), ("acme", "gpt")]
    entries = (await acme.call("GET", "/v1/teams/acme/audit")).json()["entries"]
    assert [each["on"] for each in entries if each["action"] == "test_connector"] == [{"connector": "mine"}]


async def test_calls_under_way_are_listed_to_viewers_and_aborted_by_members(acme: Gateway) -> None:  # EX-80
    asked: list[ListCalls | AbortCalls] = []
    there = CallUnderWay(id="c1", agent_id="yao.keeper", chat_id="chat", began_at=now())

    async def listed(question: ListCalls) -> CallList:
        asked.append(question)
        return CallList(calls=[there])

    async def aborted(question: AbortCalls) -> AbortedCalls:
        asked.append(question)
        return AbortedCalls(aborted=["c1"] if question.call_id == "c1" else [])

    acme.bus.answer(LIST_CALLS, listed)
    acme.bus.answer(ABORT_CALLS, aborted)
    path, viewer, member = "/v1/teams/acme/calls", await acme.make_key("viewer"), await acme.make_key("member")
    found = (await acme.call("GET", f"{path}?chat_id=chat", key=viewer)).json()["calls"]
    assert found == [there.model_dump(mode="json")]
    assert error_of(await acme.call("DELETE", f"{path}/c1", key=viewer)) == (403, "role_too_low")
    assert error_of(await acme.call("DELETE", f"{path}?chat_id=chat", key=viewer)) == (403, "role_too_low")
    assert (await acme.call("DELETE", f"{path}/c1", key=member)).json() == {"aborted": ["c1"]}
    assert error_of(await acme.call("DELETE", f"{path}/c2", key=member)) == (404, "call_not_found")
    assert (await acme.call("DELETE", f"{path}?chat_id=chat", key=member)).json() == {"aborted": []}
    assert (await acme.call("DELETE", path, key=member)).status_code == 422
    assert asked == [
        ListCalls(team_id="acme", chat_id="chat"),
        AbortCalls(team_id="acme", call_id="c1"),
        AbortCalls(team_id="acme", call_id="c2"),
        AbortCalls(team_id="acme", chat_id="chat"),
    ]
    entries = (await acme.call("GET", "/v1/teams/acme/audit")).json()["entries"]
    assert {"call_id": "c1"} in [each["on"] for each in entries if each["action"] == "abort_call"]
    assert [each["action"] for each in entries if each["action"] == "abort_calls"]


@pytest.fixture
def executor(acme: Gateway) -> Executor:
    stub = Executor()
    acme.bus.answer(READ_EXECUTION, stub.read)
    acme.bus.answer(LIST_EXECUTIONS, stub.list)
    return stub


async def test_a_trail_is_read_by_those_who_read_executions(acme: Gateway) -> None:
    async def read(question: ReadTrail) -> TrailReply:
        step = TrailStep(number=1, at=AT, step="ask goals", outcome="GoalsSet", wrote="password=abc-123-secret")
        known = question.execution_id == "e1" and question.team_id == "acme"
        return TrailReply(found=known, steps=[step] if question.step in (None, 1) else [])

    acme.bus.answer(READ_TRAIL, read)
    found = await acme.call("GET", "/v1/teams/acme/executions/e1/trail")
    assert [step["step"] for step in found.json()["steps"]] == ["ask goals"]
    assert "abc-123-secret" not in found.text
    missing = [
        (await acme.call("GET", f"/v1/teams/acme/executions/{path}")).status_code
        for path in ("e2/trail", "e1/trail?step=2", "e1/trail?step=0")
    ]
    assert missing == [404, 404, 422]


async def test_a_trace_is_that_of_the_run_with_its_attempts_at_delivery(acme: Gateway) -> None:  # F19
    run = TraceSpan(
        trace_id="a" * 32, span_id=run_span("e1"), name="run", kind=SpanKind.RUN, started_at=AT, ended_at=AT
    )
    context = DeliveryContext(member_id="leader", execution_id="e1", trigger_type=TriggerType.EVENT, team_id="acme")
    result = ChannelResult(type=DeliveryType.WEBHOOK, target="https://a.example", success=True, delivery_id="d1")
    failed = AttemptDetail(at=AT, ok=False, latency_ms=50, error="token=abc-123")
    attempts = [failed, failed.model_copy(update={"ok": True, "error": None})]
    delivery = DeliveryReply(request_id="r1", context=context, targets=[TargetDetail(result=result, attempts=attempts)])
    away = [Transient("away")]

    async def read(question: ReadTrace) -> TraceReply:
        return TraceReply(found=question.execution_id == "e1", trace_id="a" * 32, spans=[run])

    async def read_delivery(question: ReadDelivery) -> DeliveryReply:
        if away:
            raise away.pop()
        return delivery

    acme.bus.answer(READ_TRACE, read)
    acme.bus.answer(READ_DELIVERY, read_delivery)
    alone = await acme.call("GET", "/v1/teams/acme/executions/e1/trace")
    assert [span["name"] for span in alone.json()["spans"]] == ["run"]
    found = await acme.call("GET", "/v1/teams/acme/executions/e1/trace")
    own, *below = found.json()["spans"]
    assert [(span["name"], span["error"]) for span in below] == [
        ("deliver webhook", "token=[REDACTED]"),
        ("deliver webhook", None),
    ]
    assert {(span["parent_id"], span["trace_id"]) for span in below} == {(own["span_id"], "a" * 32)}
    assert error_of(await acme.call("GET", "/v1/teams/acme/executions/e2/trace")) == (404, "execution_not_found")


async def test_executions_are_read_from_the_executor(acme: Gateway, executor: Executor) -> None:  # TG-21
    query = {"member_id": "leader", "status": "completed", "page": 2, "page_size": 5}
    listed = await acme.call("GET", "/v1/teams/acme/executions", params=query)
    assert ExecutionPage.model_validate(listed.json()).executions == [summary()]
    [asked] = executor.asked
    assert asked.model_dump(mode="json", exclude_defaults=True) == {"team_id": "acme"} | query
    await acme.call("GET", "/v1/teams/acme/executions", params={"after": "a-cursor", "limit": 7})
    assert (executor.asked[-1].after, executor.asked[-1].page_size) == ("a-cursor", 7)
    read = await acme.call("GET", "/v1/teams/acme/executions/e1")
    assert Execution.model_validate(read.json()) == execution()
    assert error_of(await acme.call("GET", "/v1/teams/acme/executions/e2")) == (404, "execution_not_found")


async def test_an_execution_is_shown_without_credentials_and_its_json_stays_valid(acme: Gateway) -> None:  # DEC-9
    output = json.dumps({"password": "hunter2", "nested": {"items": [{"token": "abc"}, 1]}, "url": "https://a.example"})
    result = TaskResult(task_id="t", step_id="s", status=TaskStatus.COMPLETED, output=Text(inline=output))
    failed = {"error": 'answered 401: {"api_key": "sk-123456789", "a": 1}', "results": [result]}
    acme.bus.answer(READ_EXECUTION, lambda _: _replied(execution().model_copy(update=failed)))
    read = (await acme.call("GET", "/v1/teams/acme/executions/e1")).json()
    assert read["error"] == 'answered 401: {"api_key": "[REDACTED]", "a": 1}'
    assert json.loads(read["results"][0]["output"]["inline"]) == {
        "password": "[REDACTED]",
        "nested": {"items": [{"token": "[REDACTED]"}, 1]},
        "url": "https://a.example",
    }
    assert (read["status"], read["trigger"]["type"]) == ("completed", "event")


async def test_an_execution_of_several_long_interventions_is_read_whole(acme: Gateway) -> None:
    texts = [letter * 384 * 1024 for letter in "abc"]
    heard = [Intervention(intervention_id=text[0], action="instruct", text=text, at=AT) for text in texts]
    acme.bus.answer(READ_EXECUTION, lambda _: _replied(execution().model_copy(update={"interventions": heard})))
    read = (await acme.call("GET", "/v1/teams/acme/executions/e1")).json()
    assert [each["text"] for each in read["interventions"]] == texts


async def _replied(found: Execution) -> ExecutionReply:
    return ExecutionReply(execution=found)


async def test_another_teams_execution_is_not_found(acme: Gateway, executor: Executor) -> None:  # TG-23
    other = await acme.make_team("other")
    answer = await acme.call("GET", "/v1/teams/other/executions/e1", key=other)
    assert error_of(answer) == (404, "execution_not_found")
    assert (await acme.call("GET", "/v1/teams/other/executions", key=other)).json()["total"] == 0


async def test_a_wrong_query_is_refused_with_its_fields(acme: Gateway) -> None:
    query = {"member_id": "a.b", "status": "fine", "page": 0, "page_size": 1000}
    answer: httpx.Response = await acme.call("GET", "/v1/teams/acme/executions", params=query)
    assert set(fields_of(answer)) == set(query)


async def bury(bus: InMemoryBus) -> None:
    headers = {
        "rota-dead-subject": "rota.v1.trigger.received.acme.leader",
        "rota-dead-consumer": "scheduler-trigger-received",
        "rota-dead-reason": "it could not be read",
        "rota-dead-deliveries": "5",
        "rota-dead-at": AT.isoformat(),
        "ce-id": "f1",
    }
    subject = "rota.v1.dead.rota.v1.trigger.received.acme.leader"
    await bus.store(subject, b'{"odd": true}', headers)


async def test_the_administrator_reads_and_redrives_dead_letters(acme: Gateway) -> None:
    assert (await acme.call("GET", "/v1/dead", key=ADMIN)).json() == {"dead": []}
    await bury(acme.bus)
    [letter] = (await acme.call("GET", "/v1/dead", key=ADMIN, params={"limit": 5})).json()["dead"]
    assert (letter["seq"], letter["reason"], letter["payload"]) == (1, "it could not be read", '{"odd": true}')
    assert (await acme.call("GET", "/v1/dead/1", key=ADMIN)).json() == letter
    for method, path in (("GET", "/v1/dead"), ("GET", "/v1/dead/1"), ("POST", "/v1/dead/1/redrive")):
        assert error_of(await acme.call(method, path)) == (403, "forbidden")
    assert (await acme.call("POST", "/v1/dead/1/redrive", key=ADMIN)).status_code == 200
    assert len(acme.bus.streams["TRIGGERS"].messages) == 1
    assert len(acme.bus.dead) == 0
    for method, path in (("GET", "/v1/dead/1"), ("POST", "/v1/dead/1/redrive")):
        assert error_of(await acme.call(method, path, key=ADMIN)) == (404, "dead_letter_not_found")
    assert list(fields_of(await acme.call("GET", "/v1/dead/x", key=ADMIN))) == ["seq"]


async def test_a_redrive_that_was_interrupted_long_ago_publishes_no_second_copy(acme: Gateway) -> None:
    await bury(acme.bus)
    began = (now() - timedelta(minutes=9)).isoformat().encode()
    await acme.bus.store("rota.v1.handling.redrive.1", began, {})  # and the process ended before it removed the letter
    answer = await acme.call("POST", "/v1/dead/1/redrive", key=ADMIN)
    assert error_of(answer) == (409, "redrive_interrupted")
    assert (len(acme.bus.dead), len(acme.bus.streams["TRIGGERS"].messages)) == (1, 0)
    assert (await acme.call("POST", "/v1/dead/1/redrive", key=ADMIN, params={"force": True})).status_code == 200
    assert (len(acme.bus.dead), len(acme.bus.streams["TRIGGERS"].messages)) == (0, 1)


async def test_a_redrive_that_was_interrupted_just_now_is_repeated(acme: Gateway) -> None:
    await bury(acme.bus)
    await acme.bus.store("rota.v1.handling.redrive.1", now().isoformat().encode(), {})
    assert (await acme.call("POST", "/v1/dead/1/redrive", key=ADMIN)).status_code == 200
    assert (len(acme.bus.dead), len(acme.bus.streams["TRIGGERS"].messages)) == (0, 1)


async def test_a_dead_letter_without_headers_hides_no_other(acme: Gateway) -> None:
    await acme.bus.store("rota.v1.dead.rota.v1.trigger.received.acme.leader", b"by hand", {"rota-dead-deliveries": "x"})
    await bury(acme.bus)
    first, second = (await acme.call("GET", "/v1/dead", key=ADMIN)).json()["dead"]
    assert (first["subject"], first["reason"]) == ("rota.v1.trigger.received.acme.leader", "")
    assert second["reason"] == "it could not be read"


async def test_a_publisher_needs_no_key(acme: Gateway) -> None:
    answer = await acme.http.post(HOOK, content=b"{}", headers=signed(b"{}"))
    assert answer.status_code == 202
