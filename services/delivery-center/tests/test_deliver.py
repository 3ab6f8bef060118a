"""A request to deliver, over fakes."""

import asyncio
from typing import Any

import pytest

from delivery_center.domain.facts import rejection
from delivery_center.domain.outgoing_message import OutgoingMessage
from delivery_center.ports import Rejected, Sent, TransientReply
from rota_common.errors import Permanent, Transient
from rota_common.runtime import traces
from rota_contracts.messages.delivery import DeliveryRequestedV1, DeliveryType
from rota_contracts.messages.run_trace import TraceSpan

TWO_HOOKS = {"preferences": {"webhook": {"targets": [{"url": "https://a.example/1"}, {"url": "https://a.example/2"}]}}}


async def test_every_target_is_sent_to_and_all_facts_are_published(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    await harness.deliver(request_for(), trace="00-aa-bb-01")
    names = [fact.channel.name for fact in harness.publisher.facts]
    assert sorted(names) == sorted(  # DC-08
        ["delivery.attempted", "delivery.attempted", "delivery.completed", "delivery.settled", "delivery.accepted"]
    )
    assert names[-1] == "delivery.accepted"
    (accepted,), (completed,) = harness.published("delivery.accepted"), harness.published("delivery.completed")
    assert accepted.result == completed.result  # DC-13
    assert (accepted.execution_id, accepted.result.success, accepted.result.error) == ("e1", True, None)
    assert accepted.result.content == request_for().content
    assert accepted.result.sent_at == harness.now
    assert [(r.target, r.attempts, r.final) for r in accepted.result.results] == [
        ("https://a.example/1", 1, True),
        ("https://a.example/2", 1, True),
    ]


async def test_an_outgoing_message_holds_content_and_context(
    new_harness: Any, robot: Any, request_for: Any
) -> None:  # DC-03, DC-06
    harness = new_harness(robot(TWO_HOOKS))
    await harness.deliver(request_for(), trace="00-aa-bb-01")
    outgoing = harness.webhook.sent[0]
    assert (outgoing.body, outgoing.content.summary, outgoing.traceparent) == ("# Report", "All done.", "00-aa-bb-01")
    assert outgoing.context == request_for().context


async def test_an_attempt_is_a_span_of_its_executions_trace_and_sends_its_context_along(
    new_harness: Any, robot: Any, request_for: Any
) -> None:  # F19
    harness = new_harness(robot(TWO_HOOKS))
    spans: list[TraceSpan] = []
    harness.export(spans.extend)
    harness.webhook.script += [Transient("busy: token=abc-123")]
    await harness.deliver(request_for(), trace=f"00-{'a' * 32}-{'b' * 16}-01")
    harness.pass_time(seconds=10)
    await harness.retry_what_is_due()
    assert {(span.trace_id, span.parent_id) for span in spans} == {("a" * 32, traces.run_span("e1"))}
    sent = [outgoing.traceparent for outgoing in harness.webhook.sent]
    assert sorted(sent) == sorted(f"00-{'a' * 32}-{span.span_id}-01" for span in spans)
    failed = [span for span in spans if span.error is not None]
    assert [span.error for span in failed] == ["busy: token=[REDACTED]"]
    numbers = sorted(int(span.attributes["rota.delivery.attempt"]) for span in spans)
    assert (len({span.span_id for span in spans}), numbers) == (3, [1, 1, 2])


async def test_targets_get_the_ends_of_runs_that_their_owner_wants(
    new_harness: Any, robot: Any, request_for: Any, subtests: pytest.Subtests
) -> None:
    for on, failed, wanted in (
        (None, False, 2),
        (None, True, 0),
        (["failed"], False, 0),
        (["failed"], True, 2),
        (["completed", "failed"], True, 2),
        ([], False, 0),
    ):
        with subtests.test(on=on, failed=failed):
            harness = new_harness(robot(TWO_HOOKS if on is None else TWO_HOOKS | {"on": on}))
            await harness.deliver(request_for(context=request_for().context.model_copy(update={"failed": failed})))
            assert len(harness.webhook.sent) == wanted
            assert len(harness.published("delivery.completed")) == 1


def test_a_request_has_no_channels(request_for: Any) -> None:  # DC-01, DC-02, DEC-32
    assert "channels" not in DeliveryRequestedV1.model_fields
    assert not hasattr(request_for(channels=["email"]), "channels")


async def test_a_redelivered_request_publishes_the_same_facts_and_sends_nothing(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    await harness.deliver(request_for())
    first = list(harness.publisher.facts)
    harness.robots.stored.clear()  # what the robot is by now doesn't matter any more
    await harness.deliver(request_for())
    assert harness.publisher.facts == first + first
    assert harness.publisher.again == [False, True]  # only then the stream is searched for them
    assert len(harness.webhook.sent) == 2


async def test_two_at_once_publish_the_same_facts(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    await asyncio.gather(harness.deliver(request_for()), harness.deliver(request_for()))
    assert len({outgoing.delivery_id for outgoing in harness.webhook.sent}) == 2
    first, second = harness.published("delivery.accepted")
    assert first == second


async def test_a_delivery_without_targets_succeeds(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot())
    await harness.deliver(request_for())
    (accepted,) = harness.published("delivery.accepted")
    assert (accepted.result.success, accepted.result.results) == (True, [])
    (settled,) = harness.published("delivery.settled")
    assert (settled.success, settled.results) == (True, [])


@pytest.mark.parametrize("deleted", [True, False])
async def test_a_missing_or_deleted_robot_fails_its_delivery_with_the_reason(
    new_harness: Any, robot: Any, request_for: Any, deleted: bool
) -> None:
    harness = new_harness(robot(TWO_HOOKS, deleted=True)) if deleted else new_harness()
    await harness.deliver(request_for())
    (accepted,) = harness.published("delivery.accepted")
    assert (accepted.result.success, accepted.result.results, accepted.result.sent_at) == (False, [], None)
    assert "was deleted" in accepted.result.error if deleted else "no robot ann" in accepted.result.error
    assert harness.webhook.sent == []
    assert harness.published("delivery.settled")[0].success is False


async def test_failures_stay_with_their_targets(new_harness: Any, robot: Any, request_for: Any) -> None:  # DC-14
    harness = new_harness(robot(TWO_HOOKS))
    harness.webhook.script = [Rejected("answered 410", details={"status": 410}), Sent(details={"status": 200})]
    await harness.deliver(request_for())
    (accepted,) = harness.published("delivery.accepted")
    gone, fine = accepted.result.results
    assert (gone.success, gone.final, gone.error, gone.details, gone.sent_at) == (
        False, True, "answered 410", {"status": 410}, None,
    )  # fmt: skip
    assert (fine.success, fine.sent_at) == (True, harness.now)
    assert accepted.result.success is False
    assert accepted.result.error == "webhook https://a.example/1: answered 410"
    assert [fact.result.delivery_id for fact in harness.published("delivery.failed")] == [gone.delivery_id]
    assert harness.published("delivery.settled")[0].success is False


async def test_an_address_of_the_event_that_isnt_allowed_fails_its_target_alone(
    new_harness: Any, robot: Any, request_for: Any
) -> None:  # DC-25
    to_lead = {"event_address": {"field": "email", "domains": ["example.org"]}}
    hook = {"url": "https://a.example/1"}
    channels = {"email": {"targets": [to_lead]}, "webhook": {"targets": [hook]}}
    harness = new_harness(robot({"preferences": channels}))
    await harness.deliver(request_for(event_values={"email": "ann@evil.example"}))
    (accepted,) = harness.published("delivery.accepted")
    mail, sent = accepted.result.results
    assert (mail.success, mail.final, mail.attempts, sent.success) == (False, True, 0, True)
    assert "expected an address of example.org" in mail.error
    assert [fact.result.delivery_id for fact in harness.published("delivery.failed")] == [mail.delivery_id]
    assert harness.published("delivery.settled")[0].success is False


async def test_a_transient_failure_is_not_final(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    harness.webhook.script = [TransientReply("answered 500", details={"status": 500})]
    await harness.deliver(request_for())
    assert harness.published("delivery.settled") == []
    assert harness.published("delivery.failed") == []
    waiting = harness.published("delivery.completed")[0].result.results[0]
    assert (waiting.success, waiting.final, waiting.error) == (False, False, "answered 500")
    assert (await harness.stored()).due_at is not None


async def test_replies_of_many_targets_stay_out_of_the_facts_about_all_of_them(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    targets = [{"url": f"https://a.example/{number}"} for number in range(100)]
    harness = new_harness(robot({"preferences": {"webhook": {"targets": targets}}}))
    harness.webhook.script = [Sent(details={"status": 200, "body": "\x01" * 2048}) for _ in targets]
    await harness.deliver(request_for())
    for name in ("delivery.accepted", "delivery.completed"):
        (fact,) = harness.published(name)
        assert len(fact.model_dump_json()) < 100_000, name
        assert [(each.success, each.details) for each in fact.result.results] == [(True, None)] * 100
    assert len(harness.published("delivery.settled")[0].model_dump_json()) < 100_000
    attempted = harness.published("delivery.attempted")
    assert [fact.result.details["status"] for fact in attempted] == [200] * 100


@pytest.mark.parametrize("mode", ["dryrun", "sandbox"])
async def test_a_dry_run_sends_nothing_and_publishes_the_same_facts(
    new_harness: Any, robot: Any, request_for: Any, mode: str
) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    harness.recording.script = [Sent(details={"recorded": True})] * 2
    await harness.deliver(request_for(executor_mode=mode))
    assert harness.webhook.sent == []
    (accepted,) = harness.published("delivery.accepted")
    assert [(r.success, r.details, r.attempts) for r in accepted.result.results] == [(True, {"recorded": True}, 1)] * 2
    assert len(harness.published("delivery.attempted")) == 2
    assert len(harness.published("delivery.settled")) == 1


async def test_a_bug_in_one_channel_is_one_failed_attempt(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    harness.webhook.script = [KeyError("x"), Sent()]
    await harness.deliver(request_for())
    broken, fine = harness.published("delivery.accepted")[0].result.results
    assert (broken.error, broken.final, fine.success) == ("the channel webhook failed: KeyError", False, True)


async def test_an_attempt_that_takes_too_long_times_out(new_harness: Any, robot: Any, request_for: Any) -> None:
    class Silent:
        async def send(self, target: object, outgoing: OutgoingMessage) -> Sent:
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

    harness = new_harness(robot({"type": "webhook", "opts": {"url": "https://a.example"}}), timeout=0.01)
    harness.channels[DeliveryType.WEBHOOK] = Silent()
    await harness.deliver(request_for())
    (result,) = harness.published("delivery.accepted")[0].result.results
    assert (result.error, result.final) == ("no answer within 0.01 s", False)


async def test_targets_are_attempted_at_once_but_no_more_than_eight(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    running = peak = 0
    eight = asyncio.Event()

    class Counting:
        async def send(self, target: object, outgoing: OutgoingMessage) -> Sent:
            nonlocal running, peak
            running += 1
            peak = max(peak, running)
            if running == 8:
                eight.set()
            await eight.wait()
            running -= 1
            return Sent()

    harness = new_harness(robot({"preferences": {"process": {"targets": [{"name": f"p{n}"} for n in range(20)]}}}))
    harness.channels[DeliveryType.PROCESS] = Counting()
    await harness.deliver(request_for())
    assert peak == 8
    assert len(harness.published("delivery.attempted")) == 20


async def test_unreadable_content_fails_before_anything_is_sent(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    harness.texts.damaged = Permanent("isn't what was stored")
    with pytest.raises(Permanent, match="isn't what was stored"):
        await harness.deliver(request_for())
    assert harness.webhook.sent == []


async def test_errors_of_receivers_are_truncated_and_can_be_written_as_json(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    harness.webhook.script = [Transient("\udcff" + "x" * 10_000), Permanent("\udcff")]
    await harness.deliver(request_for())
    assert all(len(fact.data.model_dump_json()) < 5000 for fact in harness.publisher.facts)
    assert harness.published("delivery.accepted")[0].result.results[1].error == "?"


def test_a_buried_request_is_answered_with_a_failure(request_for: Any) -> None:
    answer = rejection(request_for(), "broken")
    assert (answer.request_id, answer.execution_id) == ("r1", "e1")
    assert (answer.result.success, answer.result.error, answer.result.results) == (False, "broken", [])


async def test_a_redelivered_dry_run_publishes_what_was_stored(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    await harness.deliver(request_for(executor_mode="dryrun"))
    first = list(harness.publisher.facts)
    harness.pass_time(seconds=9)
    await harness.deliver(request_for(executor_mode="dryrun"))
    assert harness.publisher.facts == first + first


class Dying:
    """Its replica dies once `sent` messages are out."""

    def __init__(self, sent: int) -> None:
        self.left = sent
        self.ids: list[str] = []
        self.configs: list[Any] = []

    async def send(self, target: object, outgoing: OutgoingMessage) -> Sent:
        self.ids.append(outgoing.delivery_id)
        self.configs.append(target)
        self.left -= 1
        if self.left == 0:
            raise asyncio.CancelledError
        return Sent()


CHANGED = {
    "preferences": {
        "webhook": {
            "targets": [
                {"url": "https://a.example/2", "secret": "$ENV.ROTATED"},
                {"url": "https://a.example/1", "headers": {"x-added": "1"}},
                {"url": "https://a.example/new"},
            ]
        }
    }
}


async def test_a_crash_after_sending_repeats_under_the_same_ids_whatever_changed_meanwhile(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    harness.channels[DeliveryType.WEBHOOK] = dying = Dying(2)
    with pytest.raises(asyncio.CancelledError):
        await harness.deliver(request_for())
    (planned,) = (await harness.stored()).targets[:1]
    assert (planned.state, planned.attempts, harness.publisher.facts) == ("retrying", [], [])
    harness.robots.stored[("acme", "ann")] = robot(CHANGED)
    harness.pass_time(seconds=30)
    await harness.deliver(request_for())
    assert dying.ids[2:] == dying.ids[:2]
    assert dying.configs[2:] == dying.configs[:2]
    (accepted,) = harness.published("delivery.accepted")
    assert [(each.delivery_id, each.attempts) for each in accepted.result.results] == [(id, 1) for id in dying.ids[:2]]
    assert (await harness.stored()).settled


async def test_a_request_that_never_comes_again_is_a_sweepers_after_a_while(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    harness.channels[DeliveryType.WEBHOOK] = dying = Dying(1)
    with pytest.raises(asyncio.CancelledError):
        await harness.deliver(request_for())
    assert await harness.retry_what_is_due() == 0
    harness.pass_time(minutes=15)
    assert await harness.retry_what_is_due() == 2  # it is answered first, then attempted
    (accepted,) = harness.published("delivery.accepted")
    assert [(each.final, each.attempts) for each in accepted.result.results] == [(False, 0), (False, 0)]
    assert sorted(set(dying.ids)) == sorted(each.delivery_id for each in accepted.result.results)
    assert harness.published("delivery.settled")[0].success
    await harness.deliver(request_for())
    assert harness.published("delivery.accepted") == [accepted, accepted]
    assert len(dying.ids) == 4


async def test_a_robot_deleted_after_a_crash_gets_nothing_more(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    harness.channels[DeliveryType.WEBHOOK] = dying = Dying(1)
    with pytest.raises(asyncio.CancelledError):
        await harness.deliver(request_for())
    harness.robots.stored[("acme", "ann")] = robot(TWO_HOOKS, deleted=True)
    sent = len(dying.ids)
    await harness.deliver(request_for())
    (accepted,) = harness.published("delivery.accepted")
    assert "was deleted" in accepted.result.error
    assert len(dying.ids) == sent
    assert (await harness.stored()).settled
