"""One turn's decisions: what came in, held against what is known."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rota_common.robots import Robots
from rota_contracts.envelope import Event
from rota_contracts.execution import ExecutionFinishedV1, ExecutionStartedV1
from rota_contracts.ids import execution_id
from rota_contracts.robot import Robot, RobotDeletedV1
from rota_contracts.trigger import TriggerReceivedV1
from scheduler.domain import Board, Entry, consider
from scheduler.ports import Batch, Decided, Ended, Known, Queue

News = Event[TriggerReceivedV1] | Event[ExecutionStartedV1] | Event[ExecutionFinishedV1] | Event[RobotDeletedV1]


@dataclass(frozen=True)
class LookedUp:
    """What a turn needs to know: triggers that are stored already, and the robots as they are now.

    `withdrawn`: what waited for robots that are gone, if it was withdrawn in an earlier turn.
    """

    known: dict[str, Known]
    robots: dict[tuple[str, str], Robot | BaseException | None]
    withdrawn: list[Known]

    def problem(self, event: News) -> BaseException | None:
        """Why nothing can be decided about this event, if its robot could not be read."""
        robot = self.robots.get((event.data.team_id, event.data.member_id))
        return robot if isinstance(robot, BaseException) and isinstance(event.data, TriggerReceivedV1) else None

    def repeated(self, events: Sequence[News]) -> list[Known]:
        """What these events had led to before: it may not have been published."""
        ids = (execution_id(event.data.trigger_id) for event in events if isinstance(event.data, TriggerReceivedV1))
        return [*(self.known[each] for each in dict.fromkeys(ids) if each in self.known), *self.withdrawn]


async def look_up(events: Sequence[News], queue: Queue, robots: Robots) -> LookedUp:
    """Dedup (SC-12, Decision 29) is by the execution's id, which derives from the trigger's: kept in the database."""
    triggers = [event.data for event in events if isinstance(event.data, TriggerReceivedV1)]
    gone = {(event.data.team_id, event.data.member_id) for event in events if isinstance(event.data, RobotDeletedV1)}
    withdrawn = [each for team, member in gone for each in await queue.withdrawn(team, member)]
    if not triggers:
        return LookedUp({}, {}, withdrawn)
    owners = list({(trigger.team_id, trigger.member_id) for trigger in triggers})
    known, found = await asyncio.gather(
        queue.known([execution_id(trigger.trigger_id) for trigger in triggers]),
        asyncio.gather(*(robots.find(team, member) for team, member in owners), return_exceptions=True),
    )
    return LookedUp(known, dict(zip(owners, found, strict=True)), withdrawn)


def decide(events: Sequence[News], seen: LookedUp, board: Board, *, now: datetime) -> Batch:
    """What to write; `board` is changed to what it will be then. Slots are given afterwards, when all is counted."""
    batch = Batch(at=now)
    for event in events:
        match event.data:
            case TriggerReceivedV1() as trigger:
                _trigger(trigger, event.traceparent, seen, board, batch, now)
            case ExecutionStartedV1(execution_id=started):
                if started in board.active:
                    board.active[started] = replace(board.active[started], running=True)
                    batch.started.append(started)
            case ExecutionFinishedV1(execution_id=ended, status=status):
                board.free(ended)
                batch.ended.append(Ended(ended, status))
            case RobotDeletedV1() as deleted:
                _withdraw(deleted, board, batch)
    return batch


def _trigger(
    trigger: TriggerReceivedV1, traceparent: str, seen: LookedUp, board: Board, batch: Batch, now: datetime
) -> None:
    wanted = execution_id(trigger.trigger_id)
    if wanted in seen.known or any(decided.execution_id == wanted for decided in batch.decided):
        return
    robot = seen.robots[trigger.team_id, trigger.member_id]
    if isinstance(robot, BaseException):
        raise AssertionError("a trigger whose robot could not be read isn't decided about") from robot
    verdict = consider(trigger, robot, board, now=now)
    if isinstance(verdict, Entry):
        board.queued[wanted] = verdict
    batch.decided.append(Decided(trigger, traceparent, verdict))


def _withdraw(deleted: RobotDeletedV1, board: Board, batch: Batch) -> None:
    """What waits for a robot that is gone never runs; what runs is the executor's to stop."""
    gone = [
        entry.execution_id for entry in board.queued.values() if entry.robot == (deleted.team_id, deleted.member_id)
    ]
    decided_now = {decided.execution_id for decided in batch.decided}
    for each in gone:
        if each not in decided_now:
            board.free(each)
            batch.withdrawn.append(each)
