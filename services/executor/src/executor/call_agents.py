"""Agent calls without a task of a run; here, so that keys and limits stay in one place."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

from executor.answer_call import AnswerCall, ObservePiece, not_observed
from executor.call_context import may_call, mode_of, system_of, with_uses
from executor.call_port import Calls
from executor.call_with_hooks import call_with_hooks, hooks_of_call
from executor.call_with_tools import CallWithTools, ClaimLost
from executor.domain.run import CEILING, Run, Signal
from executor.ports import Runs
from executor.read_person_files import OfPerson, no_person
from executor.robot_hooks import HooksOfRobots
from executor.runs.worker import RENEWALS
from executor.spending.budget_port import AtCeiling
from executor.steps.models import Models
from executor.steps.own_hooks import HookMeans
from executor.steps.redacted_calls import KnownValues
from rota_common.bus.rpc import STILL_WORKING_S, StillWorking
from rota_common.clock import Clock
from rota_common.errors import Permanent, Transient
from rota_contracts.ids import derived_id
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.robots.robot import Robot

POLL_S = 0.3
"""How often to look for the reply that another replica is working on."""

CEILING_AGAIN_S = 60.0
"""Before a call is made again that had no room below a ceiling."""

FindRobot = Callable[[str, str], Awaitable[Robot | None]]


async def no_robot(team: str, member: str) -> Robot | None:
    return None


@dataclass(frozen=True)
class LeaseSettings:
    """`owner` claims calls here; `lease` is the life of a claim without renewal, in seconds."""

    owner: str
    lease: float

    @property
    def claim(self) -> timedelta:
        return timedelta(seconds=self.lease)


@dataclass(frozen=True, kw_only=True)
class CallAgents:
    """The reply is stored before it is returned: the same call id gets the same reply, and the model is asked once.

    The replica that asks the model claims the call. The others wait for the stored reply, or take over when the claim
    has ended, which means that its owner has died.
    """

    calls: Calls
    runs: Runs
    models: Models
    clock: Clock
    lease: LeaseSettings
    find_robot: FindRobot = no_robot
    patience: float = STILL_WORKING_S
    observe_piece: ObservePiece = not_observed
    known_secrets: KnownValues = lambda team: ()
    hooks: HookMeans | None = None
    with_tools: CallWithTools | None = None
    of_person: OfPerson = no_person
    robot_hooks: HooksOfRobots | None = None
    _under_way: dict[str, asyncio.Task[AgentReply]] = field(init=False, default_factory=dict)

    async def __call__(self, request: CallAgent) -> AgentReply:
        """Errors of the agent or the model are in the reply. Transient: it may work later; StillWorking: there is no
        reply yet, and the work goes on."""
        task = self._under_way.get(request.call_id)
        if task is None:
            task = asyncio.create_task(self._stored_reply(request))
            self._under_way[request.call_id] = task
            task.add_done_callback(lambda done: self._forget(request.call_id, done))
        done, _ = await asyncio.wait([task], timeout=self.patience)
        if not done or task.cancelled():
            agent, call_id = request.assistant_id, request.call_id
            raise StillWorking(f"agent {agent} has no answer yet: ask again with call_id {call_id}")
        return task.result()

    async def close(self) -> None:
        """Leave the calls under way to the next replica that is asked for them."""
        tasks = [*self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self, call_id: str, task: asyncio.Task[AgentReply]) -> None:
        self._under_way.pop(call_id, None)
        if not task.cancelled():
            task.exception()  # raised to those who wait; without them, the next request starts anew

    async def _stored_reply(self, request: CallAgent) -> AgentReply:
        """The stored reply, or a new one: ours, or that of the replica which has claimed the call."""
        give_up = self.clock() + timedelta(seconds=request.timeout)
        while True:
            known = await self._claim(request)
            if isinstance(known, AgentReply):
                return known
            if known:
                if (reply := await self._claimed_reply(request)) is not None:
                    return reply
                continue
            if self.clock() >= give_up:
                waited = f"for more than {request.timeout:g} s"
                raise StillWorking(f"another replica works on call {request.call_id} {waited}")
            await asyncio.sleep(POLL_S)

    async def _claim(self, request: CallAgent) -> AgentReply | bool:
        lease, shown = self.lease, None if request.execution_id else request
        return await self.calls.claim(
            request.call_id, team=request.team_id, owner=lease.owner, lease=lease.claim, shown=shown
        )

    async def _claimed_reply(self, request: CallAgent) -> AgentReply | None:
        """Ask the model and store its reply, while the claim is renewed. None: the claim isn't this replica's any more,
        or the call was aborted; its model's call is cancelled."""
        asking = asyncio.create_task(self._reply(request))
        holding = asyncio.create_task(self._hold(request.call_id))
        try:
            await asyncio.wait([asking, holding], return_when=asyncio.FIRST_COMPLETED)
            return await self.calls.remember(request.call_id, asking.result()) if asking.done() else None
        except ClaimLost:
            return None
        except BaseException:
            with contextlib.suppress(Exception):  # the claim ends anyway, only later
                await self.calls.release(request.call_id, owner=self.lease.owner)
            raise
        finally:
            asking.cancel()
            holding.cancel()
            await asyncio.gather(asking, holding, return_exceptions=True)

    async def _hold(self, call_id: str) -> None:
        """Renew the claim until it is lost, or the call has its reply: then it was aborted."""
        held = True
        while held:
            await asyncio.sleep(self.lease.lease / RENEWALS)
            with contextlib.suppress(Exception):  # a lost claim costs a second call of the model, and no reply
                held = await self.calls.renew(call_id, owner=self.lease.owner, lease=self.lease.claim)

    async def _reply(self, request: CallAgent) -> AgentReply:
        run = await self._run(request)
        try:
            request = self._within_deadline(request, run)
            return await asyncio.wait_for(self._complete(request, run), request.timeout)
        except AtCeiling as error:
            if run is not None:
                await self._make_it_ask(run, error)
            raise Transient(str(error), after=CEILING_AGAIN_S) from error
        except Permanent as error:
            return AgentReply(agent_id=request.assistant_id, error=str(error))
        except TimeoutError:
            return AgentReply(agent_id=request.assistant_id, error=f"no answer within {request.timeout:g} s")

    def _within_deadline(self, request: CallAgent, run: Run | None) -> CallAgent:
        """With the time that its run has left, if that is shorter. Raise Permanent when the run has none."""
        deadline = run.execution.deadline_at if run is not None else None
        if run is None or deadline is None:
            return request
        left = (deadline - self.clock()).total_seconds()
        if left <= 0:
            raise Permanent(f"the deadline of execution {run.id} is over")
        return request.model_copy(update={"timeout": min(request.timeout, left)})

    async def _make_it_ask(self, run: Run, error: AtCeiling) -> None:
        """The run of a call that has no room below a ceiling asks a person."""
        signal_id = derived_id("ceiling", run.id, run.parks, run.asks)
        signal = Signal(id=signal_id, action=CEILING, reason=str(error), need=error.need, at=self.clock())
        await self.runs.deliver_signal(run.id, signal)

    async def _complete(self, request: CallAgent, run: Run | None) -> AgentReply:
        """The answer of the agent's model, with the tools that such a call has."""
        robot = run.robot if run else await self.find_robot(request.team_id, request.member_id)
        agent_id = request.assistant_id
        by_hook = bool(request.callers)
        view = await self.models.views.of(request.team_id, run.definitions_rev if run else None)
        if robot is not None and not (by_hook or may_call(robot, agent_id) or view.agents.serves(robot, agent_id)):
            raise Permanent(f"robot {robot.member_id} doesn't have agent {agent_id}: name it among its agents")
        if (agent := view.agents.find(agent_id)) is None:
            raise Permanent(view.missing(agent_id))
        self.models.check_offered(agent, request.model or "", view=view)
        agent, said = await self.of_person(request, with_uses(agent, request, view))
        messages = [system_of(request, agent, robot, run), *said, *request.messages]
        answer = AnswerCall(
            models=self.models,
            view=view,
            run=run,
            robot=robot,
            ask_agent=self._stored_reply,
            with_tools=self.with_tools,
            observe_piece=self.observe_piece,
            known_secrets=self.known_secrets,
            robot_hooks=self.robot_hooks,
        )
        if self.hooks is not None and agent.hooks and mode_of(run, robot) is ExecutorMode.STANDARD:
            hooks = hooks_of_call(self.hooks, request, agent, view=view, ask_agent=self._stored_reply)
            return await call_with_hooks(hooks, request, messages, answer=answer)
        return await answer(request, agent, messages)

    async def _run(self, request: CallAgent) -> Run | None:
        """The execution of the call, if it is this robot's: its robot and its mode apply."""
        run = await self.runs.find(request.execution_id) if request.execution_id else None
        if run is None or (run.execution.team_id, run.execution.member_id) != (request.team_id, request.member_id):
            return None
        return run
