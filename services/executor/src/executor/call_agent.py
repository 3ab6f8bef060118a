"""Letting the validator and the learner use an agent (EX-88 to EX-91): keys and limits stay in one place."""

import asyncio

from executor.agents import Agents
from executor.facts import facts
from executor.perform import Models
from executor.ports import Calls, Prompt, Runs
from executor.prompts import locale_of, system
from executor.run import Run
from rota_common.clock import Clock
from rota_common.errors import Permanent
from rota_common.json_text import extract_json
from rota_contracts.agent import AgentAnswered, CallAgent
from rota_contracts.trigger import ExecutorMode, Message


class CallAnAgent:
    """The answer is stored before it is given: the same call id gets the same answer, and the model is asked once."""

    def __init__(self, calls: Calls, runs: Runs, models: Models, agents: Agents, clock: Clock) -> None:
        self._calls, self._runs, self._models, self._agents, self._clock = calls, runs, models, agents, clock
        self._under_way: dict[str, asyncio.Task[AgentAnswered]] = {}

    async def __call__(self, call: CallAgent) -> AgentAnswered:
        """Errors of the agent or the model are in the answer (EX-90); Transient when it may work later."""
        if known := await self._calls.find(call.call_id):
            return known
        task = self._under_way.get(call.call_id)
        if task is None:
            task = asyncio.create_task(self._answer(call))
            self._under_way[call.call_id] = task
            task.add_done_callback(lambda _: self._under_way.pop(call.call_id, None))
        return await asyncio.shield(task)

    async def _answer(self, call: CallAgent) -> AgentAnswered:
        try:
            text = await asyncio.wait_for(self._complete(call), call.timeout)
            answer = AgentAnswered(agent_id=call.assistant_id, content=text, response=extract_json(text))
        except Permanent as error:
            answer = AgentAnswered(agent_id=call.assistant_id, error=str(error))
        except TimeoutError:
            answer = AgentAnswered(agent_id=call.assistant_id, error=f"no answer within {call.timeout:g} s")
        return await self._calls.remember(call.call_id, answer, at=self._clock())

    async def _complete(self, call: CallAgent) -> str:
        run = await self._run(call)
        agent = self._agents.find(call.assistant_id)
        if agent is None:
            raise Permanent(f"there is no agent {call.assistant_id}: add {call.assistant_id}.md to ROTA_AGENTS_DIR")
        mode = run.execution.executor_mode if run else ExecutorMode.STANDARD
        model, connector = self._models.choose(mode, call.model or "", agent.connector)
        kind = call.assistant_id.removeprefix("rota.")
        if run is not None and call.assistant_id == run.robot.phase_agent("validation"):
            kind = "validation"
        if run is not None and call.assistant_id == run.robot.phase_agent("learning"):
            kind = "learning"
        messages: list[Message] = list(call.messages)
        if run is not None:
            locale = call.locale or locale_of(run.execution.trigger, run.robot)
            messages = [system(agent, call.assistant_id, run.robot, locale=locale), *messages]
        else:
            messages = [Message(role="system", content=agent.system_prompt({})), *messages]
        known = facts(run, kind) if run else {}
        return await model.complete(Prompt(messages, connector, call.timeout, call.call_id, agent.options, known))

    async def _run(self, call: CallAgent) -> Run | None:
        """The execution it is about, if it is this robot's: whose words and whose mode hold."""
        run = await self._runs.find(call.execution_id) if call.execution_id else None
        if run is None or (run.execution.team_id, run.execution.member_id) != (call.team_id, call.member_id):
            return None
        return run
