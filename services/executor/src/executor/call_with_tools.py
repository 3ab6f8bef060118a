"""The turn of an agent that is called without a run: a task's loop, saved with the call at each move."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import monotonic

from executor.agents.connectors import Connector
from executor.call_port import Calls
from executor.caller import Caller
from executor.domain.calls.duplicates import END_AFTER, stalled_rounds
from executor.domain.calls.policy import permitted
from executor.domain.conversation import loop
from executor.domain.conversation.call_turn import NO_PERSON, called, is_full, resumed
from executor.domain.conversation.chat import ModelReply, Tool, ToolCall
from executor.domain.conversation.found_tools import offered, uses_in
from executor.domain.conversation.messages import TOOL_LIMIT
from executor.domain.planning.answer import LENGTH_LIMIT, thinking_of
from executor.domain.skills import listed
from executor.domain.used_tools import agent_of, wish
from executor.robot_hooks import BEFORE_TOOL
from executor.steps.check_calls import CheckCalls
from executor.steps.offer_tools import all_tools
from executor.steps.redacted_calls import KnownValues
from executor.tool_ports import ToolFailed, Tools
from rota_common.clock import Clock
from rota_common.errors import Permanent, Transient
from rota_common.redaction import without_credentials
from rota_contracts.ids import derived_id
from rota_contracts.messages.agent import CallAgent, CalledTool
from rota_contracts.messages.conversation import ToolUse, Turn
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import ExecutorMode, Message

AGENTS_AT_ONCE = 4
"""Agents that one round's tools ask at the same time: each may ask others in its turn."""

LEAST_S = 0.001
"""Of a call's time; what is left of it may be less."""


class ClaimLost(Exception):
    """The call is another replica's now, or was aborted."""


@dataclass(frozen=True)
class Asked:
    """What the model is asked with: the rounds so far, the tools for its next answer, and why there are no more.
    `skills`: the section of its prompt about them."""

    turn: Turn
    tools: Sequence[Tool] = ()
    closing: int | None = None
    stalled: int = 0
    skills: str = ""

    @property
    def iteration(self) -> int:
        return len(self.turn.rounds)


@dataclass(frozen=True)
class Thought:
    """The model's reply, understood, and the connector that it came by."""

    reply: ModelReply
    text: str
    calls: Sequence[ToolCall]
    connector: Connector


Think = Callable[[Asked], Awaitable[Thought]]


@dataclass(frozen=True, kw_only=True)
class CallWithTools:
    """`recording` stands in for `tools` in the name of a robot that isn't in standard mode. A round is saved before its
    calls are made, and each result when it is there, so another replica goes on where this one died."""

    calls: Calls
    tools: Tools
    recording: Tools
    clock: Clock
    owner: str
    known_secrets: KnownValues = lambda team: ()

    async def __call__(self, caller: Caller, think: Think) -> tuple[Thought, list[CalledTool]]:
        """The answer, and the calls before it. Raises ClaimLost, and what `think` raises."""
        mine = await self._mine(caller)
        call_id, agent = caller.request.call_id, caller.agent
        turn, again = resumed(await self._turn(caller), at=self.clock())
        while True:
            match loop.move(turn, serial=agent.serial):
                case loop.Think():
                    asked = _asked(turn, mine, caller)
                    thought = await think(asked)
                    if not thought.calls or not asked.tools:
                        return thought, called(turn)
                    turn = self._with_round(caller, asked, thought)
                    await self._save(call_id, turn)
                case loop.Begin(uses):
                    turn = await self._begun(caller, turn, uses[:1] if agent.serial else uses, again)
                    await self._save(call_id, turn)
                case loop.Act(uses):
                    turn = await self._act(caller, turn, uses)
                case loop.Wait():
                    raise AssertionError("no call waits for a person here")

    async def _turn(self, caller: Caller) -> Turn:
        """As far as it was saved; that of an earlier answer is over."""
        there, number = await self.calls.turn(caller.request.call_id), caller.again + 1
        return there if there is not None and there.number == number else Turn(number=number)

    async def _mine(self, caller: Caller) -> Sequence[Tool]:
        """The tools that this agent may use, but those of agents that can't be asked here."""
        allowed = permitted(await self._all(caller), caller.policy)
        return [tool for tool in allowed if caller.agent.may_use(tool)]

    async def _all(self, caller: Caller) -> Sequence[Tool]:
        listed = await all_tools(self._tools(caller), caller.robot, caller.agent)
        return [tool for tool in listed if not caller.refusal(tool.server)]

    def _tools(self, caller: Caller) -> Tools:
        tools = self.tools if caller.mode is ExecutorMode.STANDARD else self.recording
        return tools.with_own(caller.own)

    def _with_round(self, caller: Caller, asked: Asked, thought: Thought) -> Turn:
        of, again = caller.request, [caller.again] if caller.again else []
        step_id = derived_id("call", of.team_id, of.call_id, *again, asked.iteration)
        uses = loop.uses_of(thought.calls, asked.tools, step_id=step_id)
        said = thinking_of(thought.reply)
        size = len(thought.text) + len(said) + sum(len(call.model_dump_json()) for call in thought.calls)
        if size > LENGTH_LIMIT:
            raise Permanent(f"expected at most {LENGTH_LIMIT} characters of agent {caller.agent.id}, got {size}")
        thinking = Text(inline=said) if said else None
        return loop.with_round(asked.turn, thought.text, uses, at=self.clock(), thinking=thinking)

    async def _begun(self, caller: Caller, turn: Turn, uses: Sequence[ToolUse], again: frozenset[str]) -> Turn:
        """The turn after the checks of these calls, each compared with those before it."""
        hooks = caller.hooks
        check = CheckCalls(
            robot=caller.robot,
            policy=caller.policy,
            tools=await self._all(caller),
            agent=caller.agent,
            known_secrets=self.known_secrets,
            hooks=hooks.at(BEFORE_TOOL) if hooks else (),
            about=hooks.about if hooks else None,
            cleared=again,
        )
        done = await check(uses, turn)
        asks = {each.step_id: NO_PERSON.format(each.reason) for each in done.asks}
        return loop.begin(turn, done.uses, refused={**done.refused, **asks}, waiting=(), at=self.clock())

    async def _act(self, caller: Caller, turn: Turn, uses: Sequence[ToolUse]) -> Turn:
        """The turn after these calls, all made at once; each result is saved as soon as it is there."""
        began, agents = monotonic(), asyncio.Semaphore(AGENTS_AT_ONCE)
        making = [asyncio.create_task(self._made(caller, use, agents)) for use in uses]
        try:
            for done in asyncio.as_completed(making):
                step_id, output, error = await done
                turn = loop.record_result(turn, step_id, output, error, at=self.clock())
                await self._save(caller.request.call_id, turn)
                if caller.hooks is not None:
                    use = next(each for each in uses if each.step_id == step_id)
                    caller.hooks.show(use, output, error, seconds=monotonic() - began)
        finally:
            for each in making:
                each.cancel()
            await asyncio.gather(*making, return_exceptions=True)
        return turn

    async def _made(
        self, caller: Caller, use: ToolUse, agents: asyncio.Semaphore
    ) -> tuple[str, Text | None, str | None]:
        """A server that isn't there is an answer, too: a caller waits."""
        team, robot = caller.request.team_id, caller.robot
        try:
            if (agent_id := agent_of(use.server)) and caller.mode is ExecutorMode.STANDARD:
                async with agents:
                    answer = await self._asked(caller, use, agent_id)
            else:
                answer = await self._tools(caller).call(use, team=team, robot=robot, role=caller.policy.role)
        except (ToolFailed, Transient, Permanent) as error:
            return use.step_id, None, excerpt(str(error), TOOL_LIMIT)
        return use.step_id, Text(inline=excerpt(answer, TOOL_LIMIT)), None

    async def _asked(self, caller: Caller, use: ToolUse, agent_id: str) -> str:
        """The answer of the agent that does the work of a tool, in the name and in the time of this call, and with no
        more rights. Its call has its id by the step, so a repeated one gets the same answer."""
        if why := caller.refusal(use.server):
            raise ToolFailed(why)
        of = caller.request
        request = CallAgent(
            call_id=derived_id("used agent", use.step_id),
            team_id=of.team_id,
            member_id=of.member_id,
            assistant_id=agent_id,
            messages=[Message(role="user", content=wish(use))],
            timeout=max(min(of.timeout, caller.until - monotonic()), LEAST_S),
            metadata={"source": use.tool},
            locale=of.locale,
            route=of.route,
            chat_id=of.chat_id,
            callers=caller.callers,
            autonomy=caller.policy.autonomy,
        )
        reply = await caller.ask_agent(request)
        if reply.error:
            raise ToolFailed(f"agent {agent_id}: {reply.error}")
        return without_credentials(reply.content, self.known_secrets(of.team_id))

    async def _save(self, call_id: str, turn: Turn) -> None:
        if not await self.calls.save_turn(call_id, turn, owner=self.owner):
            raise ClaimLost(call_id)


def _asked(turn: Turn, mine: Sequence[Tool], caller: Caller) -> Asked:
    """Without tools once there have been enough rounds, too many without anything new, or the turn is full."""
    stalled, cap = stalled_rounds(turn), caller.agent.max_iterations or loop.CAP
    capped = len(turn.rounds) >= cap or is_full(turn)
    tools = () if capped or stalled >= END_AFTER else offered(mine, uses_in(turn.rounds))
    closing = len(turn.rounds) if capped and turn.rounds else None
    return Asked(turn, tools, closing, stalled, listed(caller.own.skills, tools))
