"""Robots for other services: the bucket `robots`, and the events that they changed or are deleted."""

import contextlib
from collections.abc import Iterator

from nats.errors import Error as NatsError
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
from trigger_gateway.adapters.put_if_newer import put_if_newer
from trigger_gateway.robots.record import recorded_status


@contextlib.contextmanager
def transient() -> Iterator[None]:
    """Raise NATS's errors as Transient."""
    try:
        yield
    except NatsError as error:
        raise Transient(f"NATS: {type(error).__name__}") from error


def check_connected(bus: Bus) -> None:
    """Raise Transient without a connection: the client would buffer and wait, and the caller with it."""
    if not bus.connected:
        raise Transient("NATS: not connected")


class NatsDefinitions:
    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._bucket: KeyValue | None = None

    async def put(self, robot: Robot) -> None:
        check_connected(self._bus)
        with transient():
            bucket = self._bucket = self._bucket or await self._bus.jetstream.key_value(ROBOTS_BUCKET)
            key = robot_key(robot.team_id, robot.member_id)
            if not await put_if_newer(bucket, key, robot, by="rev"):
                raise Transient(f"robot {robot.member_id} is being written concurrently: try again")

    async def remove_team(self, team: str) -> None:
        """By a purge: deleting a key leaves a message under it for ever."""
        check_connected(self._bus)
        keys = f"$KV.{ROBOTS_BUCKET}.{robot_key(team, '*')}"
        with transient():
            await self._bus.jetstream.purge_stream(f"KV_{ROBOTS_BUCKET}", subject=keys)


class NatsRobotEvents:
    def __init__(self, bus: Bus, publish: Publish) -> None:
        self._bus, self._publish = bus, publish

    def check(self) -> None:
        check_connected(self._bus)

    async def publish(self, robot: Robot, *, created: bool) -> None:
        self.check()
        cause = derived_id("robot", robot.team_id, robot.member_id, robot.rev)
        of = {"team_id": robot.team_id, "member_id": robot.member_id, "rev": robot.rev}
        with transient():
            if robot.deleted:
                await self._publish(ROBOT_DELETED, RobotDeletedV1.model_validate(of), caused_by=cause)
            else:
                status = recorded_status(robot)
                changed = RobotChangedV1.model_validate({**of, "created": created, "robot_status": status})
                await self._publish(ROBOT_CHANGED, changed, caused_by=cause)
