"""A worker's tools, processes and model in memory, driven as a real worker drives them."""

from collections.abc import Callable, Sequence
from typing import Any

from services.executor.tests.lives import answer

from executor.adapters.recording_tools import RecordingProcesses, RecordingTools
from executor.adapters.tool_fakes import ScriptedProcesses, ScriptedTools
from executor.agents.connectors import Connectors
from executor.agents.prompt_files import Agent, Agents
from executor.domain import journal, lifecycle
from executor.domain.conversation.chat import ModelReply, Tool, ToolCall
from executor.domain.run import Run
from executor.domain.steps import AskAgent, BeginCalls, Finish, MakeCalls, RunTurn, Step
from executor.ports import Prompt
from executor.steps.step_runner import Models, StepRunner, Toolset
from rota_common.testing.samples import SetClock
from rota_contracts.messages.text import Text

LOOKUP = Tool("crm__lookup", "crm", "lookup", "Looks a customer up", idempotent=True)
NOTE = Tool("crm__note", "crm", "note", "Writes a note")
DRAW = Tool("ark_image_text2img__draw", "ark.image.text2img", "draw")
TOOLS = [LOOKUP, NOTE, DRAW]


def calls(*named: tuple[str, dict[str, Any]], text: str = "") -> ModelReply:
    """A model's answer that calls tools by these names with these arguments."""
    made = [ToolCall(id=f"c{number}", name=name, arguments=given) for number, (name, given) in enumerate(named, 1)]
    return ModelReply(text=text, calls=made)


class Blobs:
    """Everything is short enough."""

    async def keep(self, text: str, *, inline_limit: int = 0) -> Text:
        return Text(inline=text)

    async def read(self, text: Text) -> str:
        return text.inline or ""


class ScriptedModel:
    """Answers in this order, then with `last`; `prompts` is what it was asked."""

    def __init__(self, *answers: ModelReply | str | Exception, last: ModelReply | str = "done") -> None:
        self._answers, self._last = list(answers), last
        self.prompts: list[Prompt] = []

    async def complete(self, prompt: Prompt) -> ModelReply:
        self.prompts.append(prompt)
        said = self._answers.pop(0) if self._answers else self._last
        if isinstance(said, Exception):
            raise said
        return ModelReply(text=said) if isinstance(said, str) else said


class Shop:
    """Carries a run's own steps out; the other services agree with everything."""

    def __init__(self, model: ScriptedModel, *, tools: Sequence[Tool] = TOOLS, agent: Agent | None = None) -> None:
        self.model, self.tools, self.processes = model, ScriptedTools(tools), ScriptedProcesses()
        self.clock, self.steps = SetClock(), list[Step]()
        agents, nobody = Agents(), Any
        if agent is not None:
            agents._agents[agent.id] = agent
        self.perform = StepRunner(
            Models(Connectors("rehearsal", environ={}), real=model, rehearsal=model),
            agents,
            Blobs(),  # type: ignore[arg-type]  # no object store is needed
            nobody,  # type: ignore[arg-type]  # nor anybody to ask
            nobody,  # type: ignore[arg-type]  # nor runs to merge with
            nobody,  # type: ignore[arg-type]  # nor to look at
            real=Toolset(self.tools, self.processes),
            recording=Toolset(RecordingTools({"crm"}), RecordingProcesses()),
        )

    async def step(self, run: Run) -> Run:
        """The run after its next step."""
        step = lifecycle.next_step(run)
        self.steps.append(step)
        if not isinstance(step, AskAgent | RunTurn | BeginCalls | MakeCalls):
            return journal.record_outcome(run, answer(run, step), now=self.clock())
        async for heard in self.perform(run, step):
            run = journal.record_outcome(run, heard.outcome, now=self.clock(), said=heard.said, tools=heard.tools)
        return run

    async def until(self, run: Run, stop: Callable[[Run], bool]) -> Run:
        while not stop(run):
            run = await self.step(run)
        return run

    async def task_done(self, run: Run) -> Run:
        """The run once its first task is over."""
        return await self.until(run, lambda run: bool(run.execution.results) and _final(run))

    async def over(self, run: Run) -> Run:
        run = await self.until(run, lambda run: isinstance(lifecycle.next_step(run), Finish))
        step = lifecycle.next_step(run)
        assert isinstance(step, Finish)
        return journal.record_finished(run, step.status, now=self.clock())


def _final(run: Run) -> bool:
    return run.execution.results[0].status in ("completed", "failed", "skipped")
