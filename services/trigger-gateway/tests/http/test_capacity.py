"""New work at a bus that is nearly full: refused before it is accepted, while everything else goes on."""

from collections import Counter
from dataclasses import replace

from rota_common.bus.room import TEXTS_EVERY_S
from rota_common.bus.stream_usage import TEXTS_STREAM, Usage
from rota_common.testing.samples import NOON
from rota_contracts.catalog import EXECUTION_STARTED
from rota_contracts.messages.execution import ExecutionStartedV1

from .harness import ADMIN, LEAD, TEAM, Gateway, error_of
from .stand_ins import Executor

ROLE = {"identity": {"role": "Other"}}
MANUAL = {"type": "human", "messages": [{"role": "user", "content": "Now"}]}


def limit(gateway: Gateway, stream: str, *, to: int) -> None:
    log = gateway.bus.streams[stream]
    log.stream = replace(log.stream, max_bytes=to)


async def fill(gateway: Gateway, stream: str, share: float) -> None:
    """Publish a fact that waits for its consumer, and let it take this share of EXECUTIONS."""
    fact = ExecutionStartedV1(execution_id="e1", team_id="beta", member_id="other", started_at=NOON)
    await gateway.bus.publish(EXECUTION_STARTED, fact, caused_by="c1")
    limit(gateway, stream, to=int(gateway.bus.streams[stream].size / share))
    await gateway.use.admit_work.room.measure()


async def test_new_work_is_refused_while_a_stream_that_runs_need_is_nearly_full(
    acme: Gateway, executor: Executor
) -> None:
    first = await acme.post(event_id="evt_0")
    await fill(acme, "EXECUTIONS", 0.91)
    for refused in (await acme.post(), await acme.call("POST", f"{TEAM}/robots/leader/trigger", json=MANUAL)):
        assert error_of(refused) == (503, "unavailable")
        assert "stream EXECUTIONS holds 91%" in refused.json()["error"]["message"]
        assert refused.headers["retry-after"] == "30"
    assert len(acme.triggers()) == 1
    again = await acme.post(event_id="evt_0")
    assert (again.status_code, again.json()) == (200, first.json())  # what was accepted is still answered so
    assert (await acme.call("GET", f"{TEAM}/robots")).status_code == 200
    assert (await acme.call("PATCH", f"{TEAM}/robots/leader", json={"robot_status": "paused"})).status_code == 200
    await fill(acme, "EXECUTIONS", 0.89)
    assert (await acme.post()).status_code == 202


async def test_readiness_and_metrics_name_the_stream_that_is_nearly_full(acme: Gateway) -> None:
    await fill(acme, "EXECUTIONS", 0.95)
    ready = await acme.call("GET", "/health/ready")
    assert (ready.status_code, ready.json()["ready"]) == (200, True)
    assert ready.json()["degraded"]["stream EXECUTIONS"].startswith("it holds 95% of")
    log = acme.bus.streams["EXECUTIONS"]
    shown = (await acme.call("GET", "/metrics", key=ADMIN)).text
    assert f'rota_stream_bytes{{stream="EXECUTIONS"}} {float(log.size)}' in shown
    assert f'rota_stream_max_bytes{{stream="EXECUTIONS"}} {float(log.stream.max_bytes)}' in shown
    await fill(acme, "EXECUTIONS", 0.1)
    assert "degraded" not in (await acme.call("GET", "/health/ready")).json()


async def test_a_stream_that_drops_its_oldest_never_refuses_work(acme: Gateway) -> None:
    await acme.bus.store("rota.v1.delivery.settled.acme.leader", bytes(1000), {})
    limit(acme, "DELIVERIES", to=acme.bus.streams["DELIVERIES"].size)
    await acme.use.admit_work.room.measure()
    assert (await acme.post()).status_code == 202


class LongTexts:
    """A bucket of long texts that is three fifths full; the server counts the chunks of each team."""

    def __init__(self, **chunks: int) -> None:
        self.chunks = Counter(chunks)

    async def read(self) -> list[Usage]:
        count = self.chunks.total()
        return [
            Usage("bucket outputs", TEXTS_STREAM, 60_000 * count, 100_000 * count, count, refuses=True, needed=True)
        ]

    async def waiting(self) -> Counter[str]:
        return Counter()

    async def texts(self) -> Counter[str]:
        return self.chunks


async def test_a_team_whose_executions_keep_long_texts_beyond_its_share_is_refused_and_others_are_not(
    acme: Gateway,
) -> None:
    room = acme.use.admit_work.room
    room.usage = LongTexts(acme=10, beta=13)  # 26 and 34 per cent of the bucket; 25 are one team's
    await room.measure()
    refused = await acme.post()
    assert (error_of(refused), refused.headers["retry-after"]) == ((429, "team_full"), "600")
    assert "long texts" in refused.json()["error"]["message"]
    room.usage = LongTexts(acme=4, beta=19)
    await room.measure()
    assert (await acme.post()).status_code == 429  # they are counted rarely
    room._texts_at -= TEXTS_EVERY_S
    await room.measure()
    assert (await acme.post()).status_code == 202


async def test_a_team_whose_triggers_wait_beyond_its_share_is_refused_and_others_are_not(acme: Gateway) -> None:
    key = await acme.make_team("beta")
    large = LEAD | {"data": {"text": "x" * 5000}}
    limit(acme, "TRIGGERS", to=40_000)
    await acme.use.admit_work.room.measure()
    answers = [(await acme.post(large, event_id=f"evt_{n}")).status_code for n in range(4)]
    assert answers == [202, 202, 429, 429]
    await acme.use.admit_work.room.measure()  # what waits is counted anew, by what the server has
    refused = await acme.post(large, event_id="evt_9")
    assert (error_of(refused), refused.headers["retry-after"]) == ((429, "team_full"), "5")
    made = await acme.call("POST", "/v1/teams/beta/robots", key=key, json={"member_id": "other", "robot_config": ROLE})
    assert made.status_code == 201, made.text
    manual = await acme.call("POST", "/v1/teams/beta/robots/other/trigger", key=key, json=MANUAL)
    assert manual.status_code == 202
    for seq in list(acme.bus.streams["TRIGGERS"].messages):
        await acme.bus.connection("test").jetstream.delete_msg("TRIGGERS", seq)
    await acme.use.admit_work.room.measure()
    assert (await acme.post(large, event_id="evt_9")).status_code == 202
