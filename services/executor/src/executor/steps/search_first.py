"""The search before a task's first turn, for an agent whose `uses` say so; what fails of it is a note on the run."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from executor.agents.prompt_files import Agent
from executor.agents.search_prompts import stage_call
from executor.agents.team_view import TeamViews
from executor.domain.conversation.chat import Tool
from executor.domain.outcomes import NotCalled, Outcome, Used
from executor.domain.phases import lesson_scope
from executor.domain.run import Run
from executor.domain.search import pipeline
from executor.domain.search.pipeline import KnowledgeQuery, Result, Stage, UnusableStage
from executor.domain.search.searched import Searched, wanted
from executor.domain.steps import BeginCalls, MakeCalls, RunTurn, Work
from executor.domain.used_tools import SEARCH, WEB_SEARCH
from executor.domain.uses import DISABLED, ByAgent, ByTool
from executor.file_ports import Blobs
from executor.steps.call_runner import CallRunner
from executor.steps.hook_chain import HookChain
from executor.steps.hooked_steps import RunStep
from executor.steps.keep_texts import keep_output
from executor.steps.step_result import StepResult
from executor.steps.used_agents import AskAgent, reply_of
from executor.steps.used_tool import the_call, used_tool, with_one
from rota_common.bus.rpc import Ask
from rota_common.errors import Permanent, Transient
from rota_common.json_text import extract_json
from rota_common.redaction import without_credentials
from rota_contracts import catalog
from rota_contracts.ids import derived_id
from rota_contracts.messages.agent import CallAgent
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.memory import Recall
from rota_contracts.messages.text import Text
from rota_contracts.messages.usage import ModelCall
from rota_contracts.model import NAME_PATTERN, Json

RECALL_TIMEOUT_S = 5
MOST_COLLECTIONS = 50
"""Shared collections in one question; the memory refuses more."""

INLINE = 4 * 1024
"""Bytes of what was found that a run's document keeps; more goes to the object store."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class SearchFirst:
    """Steps as `run_step` carries them out. Before the first of a task's, its assistant's search is an outcome of its
    own, which is saved before the assistant is asked: after a crash nothing is searched for twice."""

    run_step: RunStep
    views: TeamViews
    ask: Ask
    ask_agent: AskAgent
    calls: CallRunner
    chain: HookChain | None
    blobs: Blobs

    async def __call__(self, run: Run, step: Work) -> AsyncIterator[StepResult]:
        if isinstance(step, RunTurn) and (agent := await self._assistant(run, step)) is not None:
            yield await self._searched(_Search(by=self, run=run, step=step, agent=agent))
            return
        async for result in self.run_step(run, step):
            yield result

    async def _assistant(self, run: Run, step: RunTurn) -> Agent | None:
        """That of the task, if a search comes first. One that can't be read now is the step's own failure."""
        try:
            view = await self.views.of(run.execution.team_id, run.definitions_rev)
        except (Permanent, Transient):
            return None
        agent = view.agents.assistant(step.task.executor_id)
        return agent if wanted(run, step, agent.uses) else None

    async def _searched(self, search: "_Search") -> StepResult:
        text = pipeline.as_text(await search.results())
        found = await keep_output(self.blobs, search.run, text, inline_limit=INLINE) if text else None
        return StepResult(Searched(search.step.task.id, found, search.calls), problems=search.notes)


@dataclass(frozen=True, kw_only=True)
class _Search:
    """One search. `notes`: what of it failed; `calls`: what its agents took."""

    by: SearchFirst
    run: Run
    step: RunTurn
    agent: Agent
    notes: list[str] = field(default_factory=list)
    calls: list[ModelCall] = field(default_factory=list)

    async def results(self) -> Sequence[Result]:
        """The best first."""
        words, uses = pipeline.words_of(self.run, self.step.task), self.agent.uses
        if uses.of("search") != "builtin":
            return await self._called(SEARCH, uses.search, words)
        need = await self._stage("needsearch", lambda answer: pipeline.read(pipeline.Need, answer))
        if need is not None and not need.search:
            return ()
        keywords = await self._stage("keyword", lambda answer: pipeline.read(pipeline.Keywords, answer))
        words = (keywords.words() if keywords else "") or words
        collections = self._collections()
        query = await self._stage(
            "querydsl", lambda answer: pipeline.query_of(answer, collections), words=words, collections=collections
        )
        known, web = await asyncio.gather(
            self._recalled(query or KnowledgeQuery(query=words), collections), self._called(WEB_SEARCH, uses.web, words)
        )
        return await self._ranked([*known, web])

    async def _ranked(self, lists: Sequence[Sequence[Result]]) -> Sequence[Result]:
        if self.agent.uses.rerank == "disabled":
            return [each for found in lists for each in found]
        results = pipeline.fused(lists)
        if len(results) < 2:
            return results
        ordered = await self._stage("rerank", lambda answer: pipeline.ordered(answer, results), results=results)
        return results if ordered is None else ordered

    async def _stage(
        self,
        stage: Stage,
        read: Callable[[Json], T],
        *,
        words: str = "",
        collections: Sequence[str] = (),
        results: Sequence[Result] = (),
    ) -> T | None:
        """What the agent or the tool of a stage says; None where there is none, or with a note, where it fails."""
        provider = pipeline.provider_of(stage, self.agent.uses)
        try:
            match provider:
                case None:
                    return None
                case ByAgent(agent_id):
                    call = partial(stage_call, self.run, self.step, stage, agent_id)
                    return read(await self._said(call(words=words, collections=collections, results=results)))
                case ByTool():
                    arguments = partial(pipeline.stage_arguments, collections=collections, results=results)
                    wanted = words or pipeline.words_of(self.run, self.step.task)
                    found = await self._asked(stage, getattr(self.agent.uses, stage), partial(arguments, words=wanted))
                    return read(extract_json(found))
        except (Transient, Permanent, UnusableStage) as error:
            who = f"agent {provider.agent_id}" if isinstance(provider, ByAgent) else getattr(self.agent.uses, stage)
            self._note(f"went on without {stage}: {who}: {error}")
        return None

    async def _said(self, request: CallAgent) -> Json:
        """The JSON in an agent's answer. Raises Permanent, Transient."""
        reply = await reply_of(self.by.ask_agent, request)
        self.calls.extend([reply.call] if reply.call else [])
        if reply.error:
            raise Permanent(reply.error)
        return reply.response

    def _collections(self) -> Sequence[str]:
        kb = self.run.robot.robot_config.kb
        named = kb.collections if kb else []
        return [name for name in named if re.fullmatch(NAME_PATTERN, name)][:MOST_COLLECTIONS]

    async def _recalled(self, query: KnowledgeQuery, collections: Sequence[str]) -> Sequence[Sequence[Result]]:
        question = Recall(
            team_id=self.run.execution.team_id,
            member_id=self.run.execution.member_id,
            query=query.query,
            limit=query.limit,
            collections=[*(query.collections or collections)],
            shared_limit=query.limit,
            min_score=query.min_score,
            scope=lesson_scope(self.run),
        )
        try:
            reply = await self.by.ask(catalog.RECALL, question, timeout=RECALL_TIMEOUT_S)
        except (Transient, Permanent) as error:
            self._note(f"went on without knowledge: {error}")
            return ()
        return pipeline.recalled(self.run, reply, least=query.min_score)

    async def _called(self, name: str, provider: str, words: str) -> Sequence[Result]:
        """What a tool or an agent finds, called as the assistant would call it; with a note if that can't be."""
        if provider in ("", DISABLED):
            return ()
        try:
            text = await self._asked(name, provider, partial(pipeline.arguments_of, words=words))
        except (Transient, Permanent) as error:
            self._note(f"went on without {provider}: {error}")
            return ()
        return pipeline.results_in(text, source=provider)

    async def _asked(self, name: str, provider: str, arguments: Callable[[Tool], dict[str, Json]]) -> str:
        """The answer of a tool or an agent, after all checks. Raises Permanent, Transient."""
        agent = with_one(self.agent, provider)
        return await self._call(await self._use(name, agent, arguments), agent)

    async def _use(self, name: str, agent: Agent, arguments: Callable[[Tool], dict[str, Json]]) -> ToolUse:
        """The call of the one tool that the agent has by its `uses`. Raises Permanent where it can't be made here."""
        toolset = await self.by.calls.toolset(self.run)
        tool = await used_tool(toolset.tools, self.run.robot, agent)
        if not (given := arguments(tool)):
            raise Permanent("it has no argument for what it is asked, such as query, or documents to be ordered")
        return ToolUse(
            step_id=derived_id("search", self.step.step_id, name),
            name=name,
            server=tool.server,
            tool=tool.tool,
            arguments=given,
            idempotent=tool.idempotent,
        )

    async def _call(self, use: ToolUse, agent: Agent) -> str:
        """After all checks. Raises Permanent, Transient."""
        of = self.step.task
        begun = await self.by.calls.begin(self.run, BeginCalls(of, (use,)), agent, self.by.chain)
        self.notes.extend(begun.notes)
        async for result in self.by.run_step(self.run, MakeCalls(of, (the_call(begun),))):
            return await self.by.blobs.read(_output(result.outcome))
        raise Permanent("the call had no outcome")

    def _note(self, text: str) -> None:
        self.notes.append(f"search: {without_credentials(text)}")


def _output(outcome: Outcome) -> Text:
    """Raises Permanent for a call that failed."""
    match outcome:
        case Used(output=Text() as output):
            return output
        case Used(error=error):
            raise Permanent(error or "the call gave nothing")
        case NotCalled(reason=reason):
            raise Permanent(reason)
        case _:
            raise Permanent("the call has no result yet")
