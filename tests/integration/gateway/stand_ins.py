"""An executor and a delivery-center that answer as the test says, over the real bus."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from rota_common.bus.router import Router
from rota_common.runtime.service import Service
from rota_contracts.catalog import (
    CALL_BACK,
    CONTROL,
    INTERVENE,
    LIST_SUBSCRIPTIONS,
    READ_DELIVERY,
    READ_EXECUTION,
    REPLAY,
    SUBSCRIBE,
    UNSUBSCRIBE,
)
from rota_contracts.messages.callback import CallBack, CallbackReply
from rota_contracts.messages.control import Control, ControlReply, Intervene, InterveneReply
from rota_contracts.messages.delivery import DeliveryReply, ReadDelivery
from rota_contracts.messages.execution import ExecStatus, Execution, ExecutionReply, ReadExecution
from rota_contracts.messages.notification import (
    ListSubscriptions,
    Subscribe,
    Subscription,
    SubscriptionPage,
    Unsubscribe,
)
from rota_contracts.messages.replay import Decision, ReplayExecution, ReplayReply
from rota_contracts.messages.trigger import ExecutorMode, TriggerInput, TriggerReceivedV1, TriggerType
from rota_contracts.robots.robot import Phase

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def execution(execution_id: str = "e1", member: str = "leader", status: ExecStatus = ExecStatus.RUNNING) -> Execution:
    trigger = TriggerReceivedV1(
        team_id="acme",
        member_id=member,
        trigger_id=f"t-{execution_id}",
        type=TriggerType.EVENT,
        input=TriggerInput(),
        received_at=AT,
    )
    return Execution(
        execution_id=execution_id,
        team_id="acme",
        member_id=member,
        robot_rev=1,
        trigger=trigger,
        executor_mode=ExecutorMode.DRYRUN,
        status=status,
        phase=Phase.RUN,
        created_at=AT,
    )


@asynccontextmanager
async def answering(name: str, url: str, router: Router) -> AsyncIterator[Service]:
    service = Service(name, url)
    service.include(router)
    await service.start()
    await service.started.wait()
    try:
        yield service
    finally:
        await service.stop(1)


@dataclass
class Executor:
    """Has the executions of the team acme that the test gives it. `arriving`: how often each is still unknown.

    `awaited`: the execution that waits for each callback; `results`: what came under it first.
    """

    has: list[Execution] = field(default_factory=list)
    arriving: dict[str, int] = field(default_factory=dict)
    controls: list[Control] = field(default_factory=list)
    words: list[Intervene] = field(default_factory=list)
    awaited: dict[str, str] = field(default_factory=dict)
    results: dict[str, CallBack] = field(default_factory=dict)
    replayed: ReplayReply = field(
        default_factory=lambda: ReplayReply(same=True, decisions=[Decision(at=AT, step="goals", outcome="asked")])
    )

    def give(self, *ids: str, member: str = "leader", status: ExecStatus = ExecStatus.RUNNING) -> None:
        self.has += [execution(each, member, status) for each in ids]

    @asynccontextmanager
    async def running(self, url: str) -> AsyncIterator["Executor"]:
        router = Router()
        router.answer(CONTROL, self._control)
        router.answer(INTERVENE, self._intervene)
        router.answer(READ_EXECUTION, self._read)
        router.answer(REPLAY, self._replay)
        router.answer(CALL_BACK, self._call_back)
        async with answering("executor", url, router):
            yield self

    async def _control(self, word: Control) -> ControlReply:
        self.controls.append(word)
        named = word.execution_id
        if named is None:
            return ControlReply(execution_ids=self._under_way(word.team_id, word.member_id))
        if self.arriving.get(named, 0) > 0:
            self.arriving[named] -= 1
            return ControlReply(execution_ids=[], unknown=True)
        found = self._find(word.team_id, named)
        if found is None:
            return ControlReply(execution_ids=[], unknown=True)
        return (
            ControlReply(execution_ids=[], over=found.status)
            if found.status.over
            else ControlReply(execution_ids=[named])
        )

    async def _intervene(self, word: Intervene) -> InterveneReply:
        """Like the real one, it drops what it has had before."""
        under_way = self._under_way(word.team_id, word.member_id)
        found = self._find(word.team_id, word.execution_id or (under_way[0] if len(under_way) == 1 else ""))
        if found is None:
            return InterveneReply(candidates=under_way)
        if found.status.over:
            return InterveneReply(over=found.status)
        if word.intervention_id not in {each.intervention_id for each in self.words}:
            self.words.append(word)
        return InterveneReply(execution_id=found.execution_id)

    async def _read(self, question: ReadExecution) -> ExecutionReply:
        return ExecutionReply(execution=self._find(question.team_id, question.execution_id))

    async def _call_back(self, result: CallBack) -> CallbackReply:
        found = self._find("acme", self.awaited.get(result.callback_id, ""))
        if found is None:
            return CallbackReply()
        repeated = self.results.setdefault(result.callback_id, result) is not result
        over = found.status if found.status.over else None
        return CallbackReply(team_id="acme", execution_id=found.execution_id, repeated=repeated, over=over)

    async def _replay(self, question: ReplayExecution) -> ReplayReply:
        known = self._find(question.team_id, question.execution_id) is not None
        return self.replayed if known else ReplayReply(found=False)

    def _find(self, team: str, execution_id: str) -> Execution | None:
        return next((each for each in self.has if (each.team_id, each.execution_id) == (team, execution_id)), None)

    def _under_way(self, team: str, member: str | None) -> list[str]:
        mine = [each for each in self.has if each.team_id == team and member in (None, each.member_id)]
        return [each.execution_id for each in mine if not each.status.over]


@dataclass
class DeliveryCenter:
    """Has the delivery of the execution e1 of the team acme, and its subscriptions."""

    has: DeliveryReply = field(default_factory=DeliveryReply)
    subscriptions: list[Subscription] = field(default_factory=list)
    refuses: str = ""

    @asynccontextmanager
    async def running(self, url: str) -> AsyncIterator["DeliveryCenter"]:
        router = Router()
        router.answer(READ_DELIVERY, self._read)
        router.answer(SUBSCRIBE, self._subscribe)
        router.answer(UNSUBSCRIBE, self._unsubscribe)
        router.answer(LIST_SUBSCRIPTIONS, self._list)
        async with answering("delivery-center", url, router):
            yield self

    async def _read(self, question: ReadDelivery) -> DeliveryReply:
        return self.has if (question.team_id, question.execution_id) == ("acme", "e1") else DeliveryReply()

    async def _subscribe(self, wanted: Subscribe) -> SubscriptionPage:
        if self.refuses:
            return SubscriptionPage(refused=self.refuses)
        made = Subscription(created_at=AT, **wanted.model_dump())
        if made not in self.subscriptions:
            self.subscriptions.append(made)
        return await self._list(ListSubscriptions(team_id=wanted.team_id, channel=wanted.channel))

    async def _unsubscribe(self, wanted: Unsubscribe) -> SubscriptionPage:
        gone = Subscription(created_at=AT, **wanted.model_dump())
        self.subscriptions = [each for each in self.subscriptions if each != gone]
        return await self._list(ListSubscriptions(team_id=wanted.team_id, channel=wanted.channel))

    async def _list(self, question: ListSubscriptions) -> SubscriptionPage:
        mine = [each for each in self.subscriptions if each.team_id == question.team_id]
        return SubscriptionPage(subscriptions=[each for each in mine if question.channel in (None, each.channel)])
