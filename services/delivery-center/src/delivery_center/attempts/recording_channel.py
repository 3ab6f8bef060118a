"""The channel of `dryrun` and `sandbox`: nothing is sent."""

from delivery_center.domain.outgoing_message import OutgoingMessage
from delivery_center.ports import Sent


class RecordingChannel:
    async def send(self, target: object, outgoing: OutgoingMessage) -> Sent:
        return Sent(details={"recorded": True})
