"""NATS is killed while events are posted: each answer that says "stored" is true, and nothing is stored twice."""

import asyncio
from collections import Counter
from collections.abc import Iterator

import pytest

from rota_common.runtime.embedded_servers import EmbeddedServer
from tests.integration.gateway.harness import Gateway, messages, triggers
from tests.integration.gateway.test_outages import until_ready

EVENTS, WORKERS = 1000, 16
KILLED_AFTER = 300


class Publisher:
    """Posts each event once and notes the answer, several at a time."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.answers: dict[int, int] = {}
        self.stored: dict[int, str] = {}
        self._progress = asyncio.Condition()

    async def post(self, numbers: list[int]) -> None:
        left = iter(numbers)
        await asyncio.gather(*(self._work(left) for _ in range(WORKERS)))

    async def _work(self, left: Iterator[int]) -> None:
        for number in left:
            answer = await self._gateway.post(event_id=f"evt_{number}")
            async with self._progress:
                self.answers[number] = answer.status_code
                if answer.is_success:
                    self.stored[number] = answer.json()["triggers"][0]["trigger_id"]
                self._progress.notify_all()

    async def so_far(self, count: int) -> None:
        async with self._progress:
            await self._progress.wait_for(lambda: len(self.answers) >= count)


@pytest.mark.soak
async def test_each_2xx_was_stored_and_every_other_answer_was_an_error(acme: Gateway, nats: EmbeddedServer) -> None:
    publisher = Publisher(acme)
    posting = asyncio.create_task(publisher.post(list(range(EVENTS))))
    for count in (KILLED_AFTER, 2 * KILLED_AFTER):
        await publisher.so_far(count)
        await nats.kill()
        await nats.start()
    await posting
    answers = Counter(publisher.answers.values())
    assert set(answers) == {202, 503}
    await until_ready(acme)
    kept = [event.data.trigger_id for event in await triggers(nats.url)]
    assert len(kept) == len(set(kept))
    assert set(publisher.stored.values()) <= set(kept)
    unanswered = len(kept) - len(publisher.stored)  # stored, but the answer of NATS was lost with it
    assert 0 <= unanswered <= answers[503]

    await publisher.post([number for number, status in publisher.answers.items() if status == 503])
    assert Counter(publisher.answers.values()) == +Counter({202: EVENTS - unanswered, 200: unanswered})
    assert await messages(nats.url) == EVENTS
    assert len(set(publisher.stored.values())) == EVENTS
