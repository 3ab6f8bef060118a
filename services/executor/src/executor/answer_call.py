"""The answer of a called agent's model, with the tools that its call has."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic

from executor.agents.connectors import Connector
from executor.agents.prompt_files import Agent
from executor.agents.team_view import TeamView
from executor.call_context import answered, facts_of, messages_of, mode_of, payer_of_call, said
from executor.call_with_tools import Asked, CallWithTools, Thought
from executor.caller import caller_of
from executor.domain.answers.understand import Understood, understand, with_quoted
from executor.domain.context.budget import fit_tools
from executor.domain.conversation.chat import ModelReply, Tool
from executor.domain.planning.answer import LENGTH_LIMIT
from executor.domain.query_class import last_words
from executor.domain.run import Run
from executor.model_port import Model, Prompt
from executor.robot_hooks import BEFORE_MODEL, HooksOfRobots, Left, RobotHooks, with_left
from executor.steps.answer_stream import AnswerStream
from executor.steps.in_window import ask_within
from executor.steps.models import Candidate, Models
from executor.steps.redacted_calls import KnownValues
from executor.steps.used_agents import AskAgent
from rota_contracts.ids import derived_id
from rota_contracts.messages.agent import AgentReply, AnswerPieceV1, CallAgent
from rota_contracts.messages.conversation import Turn
from rota_contracts.messages.trigger import ExecutorMode, Message
from rota_contracts.robots.robot import Robot

FIRST_SHARE = 0.5
"""Of the time that is left, for a connector before the last: its fallback needs time, too."""

ObservePiece = Callable[[AnswerPieceV1], Awaitable[None]]


async def not_observed(piece: AnswerPieceV1) -> None: ...


@dataclass(frozen=True, kw_only=True)
class AnswerCall:
    """Of one call, in the course of `run` and in the name of `robot`, if there are such. `ask_agent` asks the agents
    that do something for it."""

    models: Models
    view: TeamView
    run: Run | None
    robot: Robot | None
    ask_agent: AskAgent
    with_tools: CallWithTools | None
    observe_piece: ObservePiece
    known_secrets: KnownValues
    robot_hooks: HooksOfRobots | None = None

    async def __call__(
        self, request: CallAgent, agent: Agent, messages: Sequence[Message], again: int = 0
    ) -> AgentReply:
        """`again`: how often its hook has let the model go on."""
        run, robot, view = self.run, self.robot, self.view
        mode, began, first = mode_of(run, robot), monotonic(), messages[0]
        known = facts_of(request, run) if run else {"words": request.messages[-1].text()}
        form = request.form if view.agents.is_built_in(agent) else None
        wanted = request.model or agent.connector or self._routed(request, mode)
        said_before = request.model_copy(update={"messages": [*messages[1:]]})
        base = derived_id("asked again", request.call_id, again) if again else request.call_id
        hooks = self._hooks_of(request, agent, mode)

        async def think(asked: Asked) -> Thought:
            spent = monotonic() - began if asked.iteration else 0.0
            step_id = derived_id("call", base, asked.iteration) if asked.iteration else base
            left = await self._left(hooks, asked, said_before, first, wanted, step_id=step_id, again=again)

            async def ask(candidate: Candidate) -> tuple[ModelReply, Understood, Connector]:
                rest, connector = request.timeout - spent - candidate.waited, candidate.connector
                seconds = rest if candidate.last else rest * FIRST_SHARE
                tools = fit_tools(asked.tools, connector.window)
                whole, native = messages_of(said_before, first, replace(asked, tools=tools), connector)
                whole = said(with_left(whole, left), asked, connector)
                prompt = Prompt(whole, connector, seconds, step_id, agent.options, known, native, schema=form)
                return *await self._streamed(request, candidate.model, prompt, tools), connector

            wants, payer = left.model or wanted, payer_of_call(request, run, robot)
            (reply, understood, connector), _ = await self.models.ask(ask, mode, wants, payer=payer, view=view)
            return Thought(reply, understood.text, understood.calls, connector)

        until = began + request.timeout
        caller = caller_of(
            request, agent, robot, mode, view=view, again=again, ask_agent=self.ask_agent, until=until, hooks=hooks
        )
        if caller is None or self.with_tools is None:
            return answered(await think(Asked(Turn(number=1))), agent.id, first)
        thought, tools = await self.with_tools(caller, think)
        return answered(thought, agent.id, first).model_copy(update={"tools": tools})

    def _hooks_of(self, request: CallAgent, agent: Agent, mode: ExecutorMode) -> RobotHooks | None:
        """None for a call in no robot's name, and in the course of a run."""
        if self.robot_hooks is None or self.robot is None or request.execution_id:
            return None
        return RobotHooks(
            means=self.robot_hooks, request=request, agent_id=agent.id, robot=self.robot, mode=mode, view=self.view
        )

    async def _left(
        self,
        hooks: RobotHooks | None,
        asked: Asked,
        request: CallAgent,
        first: Message,
        wanted: str,
        *,
        step_id: str,
        again: int,
    ) -> Left:
        """What the robot's hooks leave of this call of the model."""
        if hooks is None or not hooks.at(BEFORE_MODEL):
            return Left()
        connector = self.models.choose(hooks.mode, wanted, view=self.view)
        tools = fit_tools(asked.tools, connector.window)
        whole, _ = messages_of(request, first, replace(asked, tools=tools), connector)
        name = f"hooks-{again}-{asked.iteration}"
        return await hooks.left(whole, connector=connector.id, step_id=step_id, name=name)

    def _routed(self, request: CallAgent, mode: ExecutorMode) -> str:
        """The connector for a person's query; calls in the course of a run are none."""
        query = "" if request.execution_id else last_words(request.messages)
        found = self.models.route(mode, query, view=self.view)
        return found.connector if found else ""

    async def _streamed(
        self, request: CallAgent, model: Model, prompt: Prompt, tools: Sequence[Tool]
    ) -> tuple[ModelReply, Understood]:
        """The reply, and its answer in pieces, too, where the caller wants them."""
        async with AnswerStream(partial(self._piece, request), known=self.known_secrets(request.team_id)) as stream:
            reply, messages = await ask_within(
                model, replace(prompt, on_text=stream.feed if request.streamed else None)
            )
            written = [message.text() for message in messages if message.role in ("user", "tool")]
            reply = with_quoted(reply, tools, written)
            understood = understand(reply, tools)
            if stream.begun and not understood.calls and len(understood.text) <= LENGTH_LIMIT:
                await stream.end(understood.text)
            return reply, understood

    async def _piece(self, request: CallAgent, number: int, text: str) -> None:
        of = {"team_id": request.team_id, "member_id": request.member_id, "call_id": request.call_id}
        await self.observe_piece(AnswerPieceV1(**of, piece=number, text=text))
