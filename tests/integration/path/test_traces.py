"""The trace of a run: one from its trigger to its delivery, at a receiver of OTLP; and a receiver that is no help."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from rota.signing import signed_event
from rota_common.clock import now
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.metrics import SPANS
from rota_common.runtime.service import Runtime
from rota_common.runtime.traces import derived, run_span, trace_id
from rota_common.testing.openai_server import OpenAIServer, openai_server
from rota_common.testing.otlp_receiver import OtlpReceiver, otlp_receiver
from rota_contracts.ids import derived_id, execution_id
from rota_contracts.messages.execution import ExecStatus, Execution
from tests.integration.path.harness import LEAD, SOURCE, System, a_system, example
from tests.integration.path.test_real_model import untidy

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
WHY = "trigger event leads lead.created"
Start = Callable[[], AbstractAsyncContextManager[System]]
USED = ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")


@pytest.fixture
async def receiver(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[OtlpReceiver]:
    async with otlp_receiver() as made:
        monkeypatch.setenv("ROTA_OTLP_ENDPOINT", made.url)
        monkeypatch.setenv("ROTA_OTLP_TIMEOUT", "0.5")
        yield made


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    async with openai_server(untidy) as made:
        yield made


@pytest.fixture
def start(
    receiver: OtlpReceiver,
    model: OpenAIServer,
    tmp_path: Path,
    nats: EmbeddedServer,
    mongo_url: str,
    mongo_prefix: str,
) -> Start:
    """Starts the system, whose services send their spans to the receiver."""
    environ = {"OPENAI_API_KEY": "sk-of-the-test", "OPENAI_BASE_URL": model.url, "OPENAI_MODEL": "scripted"}
    servers = {"nats_url": nats.url, "mongo_url": mongo_url, "mongo_prefix": mongo_prefix}
    runtime = Runtime()
    return partial(a_system, tmp_path / "rota", **servers, runtime=runtime, connector="openai", environ=environ)


async def run_of_a_lead(system: System) -> Execution:
    """The run of an event whose sender is in a trace."""
    await system.api.create_robot(example("lead-processor", system.hooks.url))
    body, headers = signed_event(
        system.environ["IN_SECRET"], message_id="msg_1", at=now(), type="lead.created", data=LEAD
    )
    headers |= {"traceparent": f"00-{TRACE}-{SPAN}-01"}
    started = await system.api.hook(system.team, SOURCE, body, headers)
    return await system.ended(started["triggers"][0])


async def test_one_trace_leads_from_the_trigger_to_the_delivery_with_all_tokens(
    receiver: OtlpReceiver, start: Start
) -> None:  # F19 CL-24
    async with start() as system:
        over = await run_of_a_lead(system)
        assert over.status is ExecStatus.COMPLETED, over.error
        root_id, delivered = run_span(over.execution_id), over.delivery
        assert delivered is not None
        targets = len(delivered.results)
        await receiver.until(
            lambda it: (
                root_id in it.spans and sum(span.name.startswith("deliver ") for span in it.spans.values()) >= targets
            )
        )
        shown = await system.api.trace(over.execution_id)
    root, spans = receiver.spans[root_id], list(receiver.spans.values())
    assert {span.trace_id for span in spans} == {TRACE}
    (trigger,) = [span for span in spans if span.parent_id == SPAN]
    assert (trigger.name, root.parent_id, root.service) == (WHY, trigger.span_id, "executor")
    below = [span for span in spans if span not in (trigger, root)]
    assert {span.parent_id for span in below} <= set(receiver.spans)
    assert {"queue", "phase goals", "validate rules", "phase learning"} < {span.name for span in below}
    assert {span.parent_id for span in spans if span.name.startswith("deliver ")} == {root_id}
    assert {span.attributes["rota.execution_id"] for span in spans} == {over.execution_id}
    assert {span.service for span in spans if span.name.startswith("deliver ")} == {"delivery-center"}
    models = [span for span in below if span.name.startswith("chat ")]
    sums = [sum(span.attributes.get(name, 0) for span in models) for name in USED]
    assert sums == [root.attributes[name] for name in USED] == [over.usage.tokens_in, over.usage.tokens_out]
    assert sums[0] > 0
    assert len(models) == over.usage.calls
    assert {span["span_id"] for span in shown["spans"]} == set(receiver.spans)


async def test_the_trace_of_a_planned_run_begins_when_it_is_due(receiver: OtlpReceiver, start: Start) -> None:  # F19
    async with start() as system:
        await system.api.create_robot(example("lead-processor", system.hooks.url))
        item = {"action": "plan.add", "messages": [{"content": "Look at BigCorp"}]}
        due = now() + timedelta(seconds=1)
        added = await system.api.intervene("lead-processor", item | {"plan_time": due.isoformat()})
        trigger_id = derived_id("plan", system.team, "lead-processor", added["plan_id"])
        over = await system.ended({"trigger_id": trigger_id, "execution_id": execution_id(trigger_id)})
        assert over.delivery is not None
        await receiver.until(lambda it: any(span.name.startswith("deliver ") for span in it.spans.values()))
        shown = (await system.api.trace(over.execution_id))["spans"]
    trigger = shown[1]
    assert (trigger["name"], trigger["parent_id"]) == ("trigger human plan.add", "")
    assert datetime.fromisoformat(trigger["started_at"]) == due
    assert {span["trace_id"] for span in shown} == {trace_id(derived(trigger_id))}
    assert {span.trace_id for span in receiver.spans.values()} == {trace_id(derived(trigger_id))}


@pytest.mark.parametrize("fault", ["slow", "away"])
async def test_a_receiver_that_is_no_help_holds_up_no_run_and_what_is_lost_is_counted(
    fault: str, receiver: OtlpReceiver, start: Start
) -> None:  # CL-24
    receiver.silent, receiver.status = fault == "slow", 503
    lost = SPANS.labels("executor", "lost: unreachable")._value
    before = lost.get()
    async with start() as system:
        over = await run_of_a_lead(system)
        assert over.status is ExecStatus.COMPLETED, over.error
        await receiver.until(lambda it: it.requests >= 3)  # of both services, and again
        assert await system.stack.problems() == {}
        shown = await system.api.trace(over.execution_id)
    executors = [span for span in shown["spans"] if span["kind"] != "delivery"]
    assert lost.get() - before == len(executors)
    assert receiver.spans == {}
