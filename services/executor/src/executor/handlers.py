"""The executor's handlers: the events it consumes and the questions it answers."""

from executor.domain.outcomes import DeliveryTaken, Learnt, VerdictGiven
from executor.domain.steps import own_delivery
from executor.runs.worker import RunWorker
from executor.use_cases import UseCases
from rota_common.bus.router import Router
from rota_contracts import catalog
from rota_contracts.envelope import Event
from rota_contracts.messages.delivery import DeliveryAcceptedV1
from rota_contracts.messages.execution import LearningResult
from rota_contracts.messages.learning import LearningCompletedV1
from rota_contracts.messages.validation import ValidationCompletedV1


def build_handlers(use: UseCases, *, slots: int) -> Router:
    router, answers = Router(), Answers(use.worker)
    router.on(catalog.EXECUTION_REQUESTED, use.start, slots=slots, when_buried=use.start.give_up)
    router.on(catalog.VALIDATION_COMPLETED, answers.validation, slots=slots)
    router.on(catalog.DELIVERY_ACCEPTED, answers.delivery, slots=slots)
    router.on(catalog.LEARNING_COMPLETED, answers.learning, slots=slots)
    router.on(catalog.ROBOT_DELETED, use.stop_runs.of_robot)
    router.on(catalog.TEAM_REMOVED, use.remove_team)
    router.on(catalog.ROBOT_CHANGED, use.follow_status)
    router.answer(catalog.CONTROL, use.send.control)
    router.answer(catalog.INTERVENE, use.send.intervene)
    router.answer(catalog.CALL_BACK, use.take_result)
    router.answer(catalog.LIST_APPROVALS, use.approvals.page)
    router.answer(catalog.READ_APPROVAL, use.approvals.one)
    router.answer(catalog.DECIDE_APPROVAL, use.approvals.decide)
    router.answer(catalog.MAY_DELIVER, use.permission)
    router.answer(catalog.LIST_QUARANTINE, use.quarantine.page)
    router.answer(catalog.READ_QUARANTINED, use.quarantine.one)
    router.answer(catalog.DECIDE_QUARANTINED, use.decide_quarantined)
    router.answer(catalog.CALL_AGENT, use.call_agents)
    router.answer(catalog.LIST_CALLS, use.abort_calls.under_way)
    router.answer(catalog.ABORT_CALLS, use.abort_calls)
    router.answer(catalog.READ_EXECUTION, use.read.one)
    router.answer(catalog.LIST_EXECUTIONS, use.read.page)
    router.answer(catalog.CHECK_SLOTS, use.read.slots)
    router.answer(catalog.REPLAY, use.replay)
    router.answer(catalog.READ_TRAIL, use.steps)
    router.answer(catalog.READ_TRACE, use.trace)
    router.answer(catalog.READ_SPEND, use.spend)
    router.answer(catalog.CHECK_ROBOT, use.check_robot)
    router.answer(catalog.CHECK_DEFINITIONS, use.check_definitions)
    router.answer(catalog.COUNT_RUNS, use.count_runs)
    router.answer(catalog.LIST_PROVIDERS, use.list_models.providers)
    router.answer(catalog.TEST_CONNECTOR, use.check_connector)
    router.answer(catalog.LIST_AGENTS, use.list_models.cards)
    return router


class Answers:
    """Answers that other services publish, as outcomes of the run that waits for them."""

    def __init__(self, worker: RunWorker) -> None:
        self._worker = worker

    async def validation(self, event: Event[ValidationCompletedV1]) -> None:
        data = event.data
        verdict = VerdictGiven(data.validation_id, data.task_id, data.verdict, data.error, data.calls)
        await self._worker.resume(data.execution_id, verdict, sent_at=event.time)

    async def delivery(self, event: Event[DeliveryAcceptedV1]) -> None:
        if event.data.request_id != own_delivery(event.data.execution_id):
            return  # of a released result: no step waits for it
        await self._worker.resume(event.data.execution_id, DeliveryTaken(event.data.result), sent_at=event.time)

    async def learning(self, event: Event[LearningCompletedV1]) -> None:
        data = event.data
        result = LearningResult(lessons=data.lessons, skipped=data.skipped, error=data.error)
        await self._worker.resume(data.execution_id, Learnt(result, data.calls), sent_at=event.time)
