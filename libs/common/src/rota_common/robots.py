"""Reading a robot's definition: the gateway puts it into the `robots` bucket, everyone else reads it there."""

from nats.js.errors import KeyNotFoundError
from nats.js.kv import KeyValue

from rota_common.bus import Bus
from rota_contracts.robot import Robot
from rota_contracts.streams import ROBOTS_BUCKET


def robot_key(team: str, member: str) -> str:
    return f"{team}.{member}"


class Robots:
    """Definitions as they are now."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._bucket: KeyValue | None = None

    async def find(self, team: str, member: str) -> Robot | None:
        """The robot, also one that was deleted (`deleted` is set); None if there never was one."""
        if self._bucket is None:
            self._bucket = await self._bus.jetstream.key_value(ROBOTS_BUCKET)
        try:
            entry = await self._bucket.get(robot_key(team, member))
        except KeyNotFoundError:
            return None
        return Robot.model_validate_json(entry.value or b"")
