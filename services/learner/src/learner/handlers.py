"""What the learner listens to, and which use case each message goes to."""

from learner.decide_on_goals import DecideOnGoals
from learner.domain import failed
from learner.forget_robot import ForgetRobot
from learner.learn_from_run import LearnFromRun
from learner.record_run import RecordRun
from rota_common.bus.publishing import Publish
from rota_common.bus.router import Router
from rota_contracts.catalog import CHECK_GOALS, LEARNING_COMPLETED, LEARNING_REQUESTED, ROBOT_DELETED
from rota_contracts.envelope import Event
from rota_contracts.messages.learning import CheckGoals, GoalsReply, LearningCompletedV1, LearningRequestedV1
from rota_contracts.messages.robot_facts import RobotDeletedV1

SLOTS = 32
"""Answers waited for at once; a model takes seconds and the wait costs nothing."""


def build_router(
    *, record: RecordRun, learn: LearnFromRun, decide: DecideOnGoals, forget: ForgetRobot, publish: Publish
) -> Router:
    router = Router()

    async def say(event: Event[LearningRequestedV1], fact: LearningCompletedV1) -> None:
        await publish(LEARNING_COMPLETED, fact, caused_by=fact.execution_id, step="learning", trace=event.traceparent)

    async def when_buried(event: Event[LearningRequestedV1], reason: str) -> None:
        await say(event, failed(event.data, reason))

    @router.consume(LEARNING_REQUESTED, slots=SLOTS, when_buried=when_buried)
    async def on_learning_requested(event: Event[LearningRequestedV1]) -> None:
        await record(event.data, event.time)
        await say(event, await learn(event.data, event.time))

    @router.consume(ROBOT_DELETED)
    async def on_robot_deleted(event: Event[RobotDeletedV1]) -> None:
        await forget(event.data.team_id, event.data.member_id, rev=event.data.rev)

    @router.answer(CHECK_GOALS)
    async def on_check_goals(asked: CheckGoals) -> GoalsReply:
        return await decide(asked)

    return router
