"""Letting the validator and the learner use an agent (EX-88 to EX-91): keys and limits stay in one place."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from executor.agents.facts import facts
from executor.agents.prompt_files import Agent, Agents
from executor.agents.prompts import DEFAULT_LOCALE, locale_of, system
from executor.domain.run import Run
from executor.ports import Calls, Prompt, Runs
from executor.steps.step_runner import Models
from rota_common.bus.rpc import STILL_WORKING_S, StillWorking
from rota_common.clock import Clock
from rota_common.errors import Permanent
from rota_common.json_text import extract_json
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.trigger import ExecutorMode, Message
from rota_contracts.robots.robot import Robot

POLL_S = 0.3
"""How often to look for the answer that another replica is at work on."""

NOBODY = {
    "role": "a member of the team",
    "duties": "- as you are told",
    "rules": "",
    "system_prompt": "",
    "agents": "",
    "tools": "",
    "processes": "",
    "clock": "",
}
"""What stands in an agent's prompt where nobody knows whose it is."""

KINDS = ("validation", "learning", "dedup")


FindRobot = Callable[[str, str], Awaitable[Robot | None]]


async def nobody(team: str, member: str) -> Robot | None:
    return None


@dataclass(frozen=True)
class LeaseSettings:
    """Who claims calls here, and for how long (seconds) a claim lives without being renewed."""

    owner: str
    lease: float


class CallAgents:
    """The answer is stored before it is given: the same call id gets the same answer, and the model is asked once.

    Whoever asks the model holds a claim of the call. Anybody else who is asked waits for the stored answer, or takes
    over when the claim has ended: then whoever held it has died.
    """

    def __init__(
        self,
        calls: Calls,
        runs: Runs,
        models: Models,
        agents: Agents,
        clock: Clock,
        hold: LeaseSettings,
        *,
        robot: FindRobot = nobody,
        patience: float = STILL_WORKING_S,
    ) -> None:
        """`robot` finds the one that a call without an execution is for."""
        self._calls, self._runs, self._models, self._agents = calls, runs, models, agents
        self._clock, self._hold, self._robot, self._patience = clock, hold, robot, patience
        self._under_way: dict[str, asyncio.Task[AgentReply]] = {}

    async def __call__(self, call: CallAgent) -> AgentReply:
        """Errors of the agent or the model are in the answer (EX-90); Transient when it may work later, StillWorking
        when there is no answer yet: the work goes on."""
        task = self._under_way.get(call.call_id)
        if task is None:
            task = asyncio.create_task(self._answered(call))
            self._under_way[call.call_id] = task
            task.add_done_callback(lambda done: self._over(call.call_id, done))
        done, _ = await asyncio.wait([task], timeout=self._patience)
        if not done or task.cancelled():
            raise StillWorking(f"agent {call.assistant_id} has no answer yet: ask again with call_id {call.call_id}")
        return task.result()

    async def close(self) -> None:
        """Leave what is under way to the next replica that is asked for it."""
        tasks = [*self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _over(self, call_id: str, task: asyncio.Task[AgentReply]) -> None:
        self._under_way.pop(call_id, None)
        if not task.cancelled():
            task.exception()  # whoever still waits for it gets it; if nobody does, the next who asks begins anew

    async def _answered(self, call: CallAgent) -> AgentReply:
        """The stored answer, or a new one: ours, or that of the replica which claimed the call before."""
        give_up = self._clock() + timedelta(seconds=call.timeout)
        while True:
            now = self._clock()
            until = now + timedelta(seconds=self._hold.lease)
            known = await self._calls.claim(call.call_id, owner=self._hold.owner, until=until, now=now)
            if isinstance(known, AgentReply):
                return known
            if known:
                return await self._answer(call)
            if now >= give_up:
                raise StillWorking(f"another replica works on call {call.call_id} for more than {call.timeout:g} s")
            await asyncio.sleep(POLL_S)

    async def _answer(self, call: CallAgent) -> AgentReply:
        """The model is asked, and the answer stored, while the claim is renewed."""
        renewing = asyncio.create_task(self._renew(call.call_id))
        try:
            answer = await self._said(call)
            return await self._calls.remember(call.call_id, answer, at=self._clock())
        except BaseException:
            with contextlib.suppress(Exception):  # the claim ends by itself, only later
                await self._calls.release(call.call_id, owner=self._hold.owner)
            raise
        finally:
            renewing.cancel()

    async def _renew(self, call_id: str) -> None:
        """Until it is cancelled: what keeps one renewal from working may be over at the next."""
        while True:
            await asyncio.sleep(self._hold.lease / 3)
            until = self._clock() + timedelta(seconds=self._hold.lease)
            with contextlib.suppress(Exception):  # a claim that is lost costs a second call of the model, no answer
                await self._calls.renew(call_id, owner=self._hold.owner, until=until)

    async def _said(self, call: CallAgent) -> AgentReply:
        try:
            text, model = await asyncio.wait_for(self._complete(call), call.timeout)
        except Permanent as error:
            return AgentReply(agent_id=call.assistant_id, error=str(error))
        except TimeoutError:
            return AgentReply(agent_id=call.assistant_id, error=f"no answer within {call.timeout:g} s")
        return AgentReply(agent_id=call.assistant_id, content=text, response=extract_json(text), model=model)

    async def _complete(self, call: CallAgent) -> tuple[str, str]:
        """The answer, and which model gave it."""
        run = await self._run(call)
        robot = run.robot if run else await self._robot(call.team_id, call.member_id)
        agent = self._agents.find(call.assistant_id)
        if agent is None:
            raise Permanent(f"there is no agent {call.assistant_id}: add {call.assistant_id}.md to ROTA_AGENTS_DIR")
        model, connector = self._models.choose(_mode(run, robot), call.model or "", agent.connector)
        messages = [_system(call, agent, robot, run), *call.messages]
        known = _facts(call, run) if run else {"words": call.messages[-1].text()}
        prompt = Prompt(messages, connector, call.timeout, call.call_id, agent.options, known)
        return (await model.complete(prompt)).text, connector.model or connector.id

    async def _run(self, call: CallAgent) -> Run | None:
        """The execution it is about, if it is this robot's: whose words and whose mode hold."""
        run = await self._runs.find(call.execution_id) if call.execution_id else None
        if run is None or (run.execution.team_id, run.execution.member_id) != (call.team_id, call.member_id):
            return None
        return run


def _mode(run: Run | None, robot: Robot | None) -> ExecutorMode:
    if run is not None:
        return run.execution.executor_mode
    return robot.robot_config.executor.mode if robot else ExecutorMode.STANDARD


def _system(call: CallAgent, agent: Agent, robot: Robot | None, run: Run | None) -> Message:
    if robot is None:
        values = NOBODY | {"agent": call.assistant_id, "locale": call.locale or DEFAULT_LOCALE}
        return Message(role="system", content=agent.system_prompt(values))
    of_run = locale_of(run.execution.trigger, robot) if run else robot.robot_config.default_locale
    return system(agent, call.assistant_id, robot, locale=call.locale or of_run or DEFAULT_LOCALE)


def _facts(call: CallAgent, run: Run) -> dict[str, Any]:
    """`kind` is what the robot uses this agent for, whatever its name."""
    used_for = (kind for kind in KINDS if call.assistant_id == run.robot.phase_agent(kind))
    kind = next(used_for, call.assistant_id.removeprefix("rota."))
    given = {name: call.metadata.get(name, []) for name in ("history", "under_way")} if kind == "dedup" else {}
    return facts(run, kind) | given
