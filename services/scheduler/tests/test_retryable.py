"""The questions of retries by message: pages of what was rejected or failed, and the trigger itself."""

from rota_common.testing.samples import TEAM, a_robot
from rota_contracts import catalog
from rota_contracts.ids import execution_id
from rota_contracts.messages.execution import ReadTrigger
from rota_contracts.messages.retry import ListRetryable
from rota_contracts.messages.trigger import RejectReason
from tests.integration.scheduler.harness import Harness


async def test_rejected_and_failed_ones_are_listed_in_pages_with_their_triggers(harness: Harness) -> None:  # DEC-48
    await harness.keep(a_robot(member_id="off", autonomous_mode=False))
    async with harness.scheduler():
        await harness.trigger("t1", member_id="off")
        await harness.rejected(1)
        await harness.trigger("t2")
        await harness.slots(1)
        await harness.finished("t2", status="failed")
        await harness.until("done", "t2")
        found, after = list[str](), ""
        while len(found) < 3:  # the page behind the last one is empty
            question = ListRetryable(team_id=TEAM, limit=1, after=after)
            page = await harness.gateway.ask(catalog.LIST_RETRYABLE, question)
            if not page.executions:
                break
            found += [each.execution_id for each in page.executions]
            after = page.next
        about = {"team_id": TEAM, "trigger_id": "t1"}
        full = await harness.gateway.ask(catalog.READ_TRIGGER, ReadTrigger(**about, with_trigger=True))
        bare = await harness.read("t1")
    assert found == [execution_id("t1"), execution_id("t2")]
    assert (full.reason, bare.reason) == (RejectReason.NOT_AUTONOMOUS,) * 2
    assert full.trigger is not None
    assert full.trigger.input.data == {"company": "Globex"}
    assert bare.trigger is None
