"""What another replica was told about a run that this one has in hand: a stop ends the step at once (F11)."""

from executor.signals import SendSignal
from rota_common.bus.live import LiveEvents
from rota_contracts.catalog import CONTROL_GIVEN

HEARD_LIMIT = 10_000
"""Words that may wait here to be heard."""


class FollowBroadcast:
    """Heard by every replica, never by one of them; what is missed is read with the run's next write."""

    def __init__(self, watch: LiveEvents, give: SendSignal) -> None:
        self._watch, self._give = watch, give

    async def __call__(self) -> None:
        async with self._watch.listen([CONTROL_GIVEN], limit=HEARD_LIMIT) as heard:
            while True:
                given = (await heard.next()).data
                self._give.cut_short(given.action, given.execution_ids)
