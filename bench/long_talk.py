"""`python -m bench.long_talk`: a task of ten turns with fifty rounds of tools each, whose results are 20 kB long, for a
model with a window of 32,000 tokens; on a real mongod, with a scripted model and tools.

It prints the milliseconds, and the bytes sent to the database, of a round at the beginning and at the end.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import Any

import bson
from pymongo import monitoring

from executor.adapters.in_memory import InMemoryBlobs, InMemoryFiles, ScriptedModel, ScriptedProcesses, ScriptedTools
from executor.adapters.mongo_runs import MongoRuns
from executor.adapters.recording_tools import RecordingProcesses, RecordingTools
from executor.agents.connectors import Connectors
from executor.agents.prompt_files import Agents
from executor.agents.team_view import TeamViews
from executor.domain import journal, lifecycle, phases
from executor.domain.context.tokens import conversation_tokens, tool_tokens
from executor.domain.conversation.chat import ModelReply, Tool, ToolCall
from executor.domain.outcomes import GoalsSet, Outcome, Planned, Recalled, RulesAnswered, VerdictGiven
from executor.domain.run import Run
from executor.domain.steps import BeginCalls, CheckRules, Compact, MakeCalls, RequestVerdict, RunTurn
from executor.model_port import Prompt
from executor.steps.call_runner import CallRunner, Toolset
from executor.steps.compact_conversation import CompactConversation
from executor.steps.models import Models
from executor.steps.show_media import ShowMedia
from executor.steps.step_runner import StepRunner
from rota_common.clock import now
from rota_common.runtime.embedded_servers import mongod
from rota_common.stores.mongo import Mongo
from rota_common.testing.samples import a_robot, a_trigger
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.execution import Goals, Task
from rota_contracts.messages.validation import RulesReply, ValidationResult

TURNS, ROUNDS, RESULT, WINDOW = 10, 50, 20_000, 32_000
AGENT = f"---\nteams: '*'\nconnector: small\nmax_iterations: {ROUNDS + 1}\n---\nLook things up.\n"
CONNECTOR = f"label: Small\nteams: '*'\ntype: rehearsal\noptions: {{context_window: {WINDOW}}}\n"
LOOKUP = Tool("crm__lookup", "crm", "lookup", "Looks a customer up", idempotent=True)
MORE = ValidationResult(passed=False, score=0.5, issues=["more"], need_reply=True, reply_content="Look up more.")
GOOD = ValidationResult(passed=True, score=0.9)


@dataclass
class Talk:
    """The scripted model, and the figures. `prompts`: tokens of each prompt."""

    asked: int = 0
    compactions: int = 0
    prompts: list[int] = field(default_factory=list)
    spent: list[float] = field(default_factory=list)
    written: list[int] = field(default_factory=list)

    async def answer(self, prompt: Prompt) -> ModelReply | str:
        self.prompts.append(conversation_tokens(prompt.messages) + tool_tokens(prompt.tools))
        if prompt.facts["kind"] == "summary":
            self.compactions += 1
            return "- many were looked up"
        self.asked += 1
        if self.asked % (ROUNDS + 1) == 0:
            return f"{self.asked} looked up"
        return ModelReply(calls=[ToolCall(id=f"c{self.asked}", name=LOOKUP.name, arguments={"n": self.asked})])


class SentBytes(monitoring.CommandListener):
    """The bytes of all commands that the database has got."""

    def __init__(self) -> None:
        self._bytes = 0

    def take(self) -> int:
        taken, self._bytes = self._bytes, 0
        return taken

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        self._bytes += len(bson.encode(event.command))

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None: ...

    def failed(self, event: monitoring.CommandFailedEvent) -> None: ...


async def found(use: ToolUse) -> str:
    return f"{use.arguments['n']} ".ljust(RESULT, "x")


def runner(talk: Talk, folder: Path) -> StepRunner:
    (folder / "agents").mkdir()
    (folder / "connectors").mkdir()
    (folder / "agents" / "looker.md").write_text(AGENT)
    (folder / "connectors" / "small.yaml").write_text(CONNECTOR)
    model, blobs, unused = ScriptedModel(answer=talk.answer), InMemoryBlobs(), _unused()
    connectors = Connectors("small", environ={}, folder=folder / "connectors")
    views = TeamViews(agents=Agents(folder / "agents"), connectors=connectors)
    models = Models(views=views, real=model, rehearsal=model)
    tools = Toolset(ScriptedTools([LOOKUP], answer=found), ScriptedProcesses())
    return StepRunner(
        models=models,
        blobs=blobs,
        questions=unused,
        merge_goals=unused,
        gather_situation=unused,
        compact=CompactConversation(models=models, blobs=blobs),
        show_media=ShowMedia(files=InMemoryFiles(), web=_unused()),
        describe_media=unused,
        publish_piece=unused,
        calls=CallRunner(
            blobs=blobs, views=views, real=tools, recording=Toolset(RecordingTools({}), RecordingProcesses())
        ),
    )


def _unused() -> Any:
    return None


def a_run() -> Run:
    config = {
        "resources": {"agents": ["looker"], "mcp": [{"id": "crm"}]},
        "executor": {"max_turns_per_task": TURNS, "max_duration": "24h"},
        "learn": {"on": False},
    }
    task = Task(id="t", description="Look up everybody", executor_id="looker", expected_output="all of them")
    run = phases.begin("e1", a_trigger(), a_robot(config=config), now=now(), traceparent="")
    for outcome in (Recalled([]), GoalsSet(Goals(content="Look up everybody")), Planned([task], [])):
        run = journal.record_outcome(run, outcome, now=now())
    return run


def judged(run: Run, step: CheckRules | RequestVerdict) -> Outcome:
    if isinstance(step, CheckRules):
        return RulesAnswered(step.task.id, RulesReply(verdict=GOOD))
    last = step.conversation.turn == TURNS
    verdict = GOOD if last else MORE.model_copy(update={"issues": [f"more than {step.conversation.turn}"]})
    return VerdictGiven(step.validation_id, step.task.id, verdict, None)


async def talk_through(store: MongoRuns, run_step: StepRunner, talk: Talk, sent: SentBytes) -> Run:
    run = a_run()
    epoch = await store.create(run, owner="bench", lease=timedelta(hours=1))
    if epoch is None:
        raise RuntimeError("expected an empty database, there is a run in it")
    run = (await store.save(run, epoch)).model_copy(update={"unsaved": []})
    sent.take()
    spent = 0.0
    while True:
        step = lifecycle.next_step(run)
        began, outcomes = perf_counter(), list[tuple[Outcome, Any]]()
        if isinstance(step, CheckRules | RequestVerdict):
            outcomes.append((judged(run, step), None))
        elif isinstance(step, RunTurn | BeginCalls | MakeCalls | Compact):
            outcomes += [(result.outcome, result) async for result in run_step(run, step)]
        else:
            return run
        for outcome, result in outcomes:
            given = {"said": result.reply, "tools": result.tools} if result is not None else {}
            run = journal.record_outcome(run, outcome, now=now(), **given)
            run = await store.save(run, epoch)
        spent += perf_counter() - began
        if isinstance(step, MakeCalls):
            talk.spent.append(spent)
            talk.written.append(sent.take())
            spent = 0.0


def report(talk: Talk, rounds: int) -> None:
    def row(name: str, values: Sequence[float], unit: str, scale: float = 1) -> None:
        ends = [values[:rounds], values[rounds : 2 * rounds], values[-rounds:]]
        shown = [f"{median(each) * scale:.1f} (mean {mean(each) * scale:.1f})" for each in ends]
        print(f"{name}, {unit}, median of {rounds}: first {shown[0]}, next {shown[1]}, last {shown[2]}")

    row("time of a round", talk.spent, "ms", 1000)
    row("written for a round", talk.written, "bytes")
    longest = max(talk.prompts)
    print(f"rounds {len(talk.spent)}, compactions {talk.compactions}, longest prompt {longest} of {WINDOW} tokens")


async def measure(rounds: int) -> tuple[Run, Talk]:
    """The run at its end, and the figures, which are printed."""
    with tempfile.TemporaryDirectory() as name:
        folder, talk, sent = Path(name), Talk(), SentBytes()
        monitoring.register(sent)
        server = mongod(folder / "mongo")
        await server.start()
        try:
            mongo = Mongo(server.url, "bench_executor")
            store = MongoRuns(mongo.database)
            await store.prepare()
            run = await talk_through(store, runner(talk, folder), talk, sent)
            report(talk, rounds)
            print(f"ended {run.execution.results[0].status} after {len(run.execution.results[0].turns)} turns")
            await mongo.close()
            return run, talk
        finally:
            await server.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=20, help="rounds whose median is shown, at each end")
    asyncio.run(measure(parser.parse_args().rounds))
