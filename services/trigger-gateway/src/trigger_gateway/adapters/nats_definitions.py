"""Robots for everybody else: the `robots` bucket, and the facts that they changed or are gone."""

import contextlib
from collections.abc import Iterator

from nats.errors import Error as NatsError
from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError
from nats.js.kv import KeyValue

from rota_common.bus.connection import Bus
from rota_common.bus.publishing import Publish
from rota_common.bus.robots import robot_key
from rota_common.errors import Transient
from rota_contracts.catalog import ROBOT_CHANGED, ROBOT_DELETED
from rota_contracts.ids import derived_id
from rota_contracts.messages.robot_facts import RobotChangedV1, RobotDeletedV1
from rota_contracts.robots.robot import Robot
from rota_contracts.streams import ROBOTS_BUCKET
from trigger_gateway.robots.record import as_told

TRIES = 10


@contextlib.contextmanager
def transient() -> Iterator[None]:
    """NATS's errors as ours."""
    try:
        yield
    except NatsError as error:
        raise Transient(f"NATS: {type(error).__name__}") from error


def check_connected(bus: Bus) -> None:
    """A client that lost its server keeps what it is given and waits; the caller shall not wait with it."""
    if not bus.connected:
        raise Transient("NATS: not connected")


class NatsDefinitions:
    def __init__(self, bus: Bus, publish: Publish) -> None:
        self._bus, self._publish = bus, publish
        self._bucket: KeyValue | None = None

    def check(self) -> None:
        check_connected(self._bus)

    async def put(self, robot: Robot) -> None:
        self.check()
        with transient():
            bucket = self._bucket = self._bucket or await self._bus.jetstream.key_value(ROBOTS_BUCKET)
            for _ in range(TRIES):
                if await _put_if_newer(bucket, robot):
                    return
        raise Transient(f"robot {robot.member_id} is written by others all the time")

    async def announce(self, robot: Robot, *, created: bool) -> None:
        self.check()
        cause = derived_id("robot", robot.team_id, robot.member_id, robot.rev)
        of = {"team_id": robot.team_id, "member_id": robot.member_id, "rev": robot.rev}
        with transient():
            if robot.deleted:
                await self._publish(ROBOT_DELETED, RobotDeletedV1.model_validate(of), caused_by=cause)
            else:
                fact = RobotChangedV1.model_validate({**of, "created": created, "robot_status": as_told(robot)})
                await self._publish(ROBOT_CHANGED, fact, caused_by=cause)


async def _put_if_newer(bucket: KeyValue, robot: Robot) -> bool:
    """False if somebody else wrote between our look and our write."""
    key = robot_key(robot.team_id, robot.member_id)
    try:
        entry = await bucket.get(key)
        there, last = Robot.model_validate_json(entry.value or b"").rev, entry.revision
    except KeyNotFoundError as missing:  # also for a key that was purged by hand: then it still has a revision
        there, last = 0, missing.entry.revision if missing.entry else 0
    if there >= robot.rev:
        return True
    try:
        await bucket.update(key, robot.model_dump_json().encode(), last=last)
    except KeyWrongLastSequenceError:
        return False
    return True
