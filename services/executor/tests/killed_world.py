"""A world of one run: the stores of its processes, and all that they meet outside.

What is stored outlives the processes: runs, texts, files, facts, and the messages that aren't handled yet. The world
doesn't change meanwhile, so that a run which was cut can be compared with one that wasn't; `changing` is the opposite:
time goes on, and the memory knows something else each time.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pydantic_core import to_json
from services.executor.tests.fixtures import GOOD
from services.executor.tests.harness import TOOLS

from executor.adapters.in_memory import InMemoryBlobs, InMemoryFiles, ScriptedTools
from executor.adapters.in_memory_runs import InMemoryRuns
from executor.agents.connectors import Connectors
from executor.domain.conversation.chat import ModelReply
from executor.domain.outcomes import DeliveryTaken, Learnt, VerdictGiven
from executor.domain.run import Run
from executor.model_port import Prompt
from executor.reads.replay import Replay
from executor.tool_ports import Tools
from rota_common.testing.samples import NOON, TEAM, SetClock
from rota_contracts import catalog
from rota_contracts.messages.conversation import ToolStatus, ToolUse
from rota_contracts.messages.delivery import DeliveryResult
from rota_contracts.messages.execution import LearningResult
from rota_contracts.messages.goal_merge import WaitingPage
from rota_contracts.messages.learning import LessonType
from rota_contracts.messages.memory import MemoryEntry, RecalledEntry, RecallReply
from rota_contracts.messages.plan import PlanPage
from rota_contracts.messages.process import ProcessCall
from rota_contracts.messages.replay import ReplayExecution
from rota_contracts.messages.validation import RulesReply, ValidationResult
from rota_contracts.robots.robot import Robot
from rota_contracts.roles import Role

SUMMARY = "- they were found"
Handle = Callable[[Any], Awaitable[Any]]
"""The handling of a message by a process."""


@dataclass
class Cut:
    """Kills the process that makes the effect with this number, which counts from 1: before, or after it is made."""

    number: int = 0
    after: bool = False
    effects: list[str] = field(default_factory=list)

    def dies(self, *, after: bool) -> bool:
        return len(self.effects) == self.number and self.after == after


@dataclass(kw_only=True)
class Shape:
    """A run, and the world's answers. `says`: the replies of its models, in order; of a run that was cut, by the call.
    `sent`: files of people, by their ids; `person`: the answer of one. `offers`: the tools, if not those of the
    harness."""

    run: Run
    says: Sequence[ModelReply | str | Exception]
    tools: Callable[["World", ToolUse], Awaitable[str]]
    verdicts: Sequence[ValidationResult] = ()
    person: str = ""
    window: int = 0
    sent: Mapping[str, bytes] = field(default_factory=dict)
    offers: Tools = field(default_factory=lambda: ScriptedTools(TOOLS))


class World:
    """`offences`: what should never happen. `unknown`: by step id, the calls whose outcome a person was asked for."""

    def __init__(self, shape: Shape, cut: Cut, *, uncut: "World | None" = None, changing: bool = False) -> None:
        self.shape = shape
        self.cut = cut
        self.changing = changing
        self.clock, self.store_clock = SetClock(), SetClock()
        self.runs = InMemoryRuns(clock=self.store_clock)
        self.blobs = InMemoryBlobs()
        self.files = InMemoryFiles()
        for name, content in shape.sent.items():
            self.files.add(TEAM, name, content, content_type="image/png", at=NOON, file_id=name)
        self.messages: deque[Handle] = deque([_start])
        self.facts: dict[str, bytes] = {}
        self.prompts: dict[str, str] = {}
        self.replies: dict[str, ModelReply | str | Exception] = uncut.replies if uncut else {}
        self.called = list[ToolUse]()
        self.unknown: dict[str, ToolUse] = {}
        self._verdicts = list(shape.verdicts)
        self.connectors = uncut.connectors if uncut else connectors(shape.window)
        self.offences = list[str]()
        self.lives = 0
        self._said = 0
        self._uncut = uncut

    async def check_replay(self, when: str) -> None:
        if await self.runs.find("e1") is None:
            return
        replayed = await Replay(runs=self.runs, blobs=self.blobs)(ReplayExecution(team_id=TEAM, execution_id="e1"))
        if not replayed.same:
            self.offences.append(f"replay {when}: {replayed.difference[:300]}")

    async def run(self) -> Run:
        run = await self.runs.find("e1")
        assert run is not None
        return run

    async def check_end(self) -> None:
        await self.check_replay("at its end")
        run, uncut = await self.run(), self._uncut
        if not run.over:
            self.offences.append(f"not over: {run.execution.status} {run.execution.delayed}")
        requested = [name for name in self.facts if name.startswith(catalog.DELIVERY_REQUESTED.name)]
        if len(requested) > 1:
            self.offences.append(f"delivered {len(requested)} times")
        if uncut is None or self.changing or self.unknown:
            return
        ends = [(await world.run()).execution.model_dump_json() for world in (uncut, self)]
        if ends[0] != ends[1]:
            self.offences.append(f"another end: {difference(*ends)}")
        if self.facts != uncut.facts:
            self.offences.append(f"other facts: {sorted(dict(self.facts.items() ^ uncut.facts.items()))}")
        if self.prompts.keys() != uncut.prompts.keys():
            self.offences.append(f"other calls: {self.prompts.keys() ^ uncut.prompts.keys()}")

    async def complete(self, prompt: Prompt) -> ModelReply:
        """A model, which is asked nothing whose answer is stored, and the same thing always with the same bytes."""
        key, asked = prompt.step_id, [prompt.messages, list(prompt.tools), prompt.options, prompt.facts, prompt.timeout]
        said = to_json(asked).decode()
        if any(key[:8] in entry.step for entry in await self.runs.journal("e1")):
            self.offences.append(f"asked again though its answer is stored: {key}")
        earlier = {"before": self.prompts.get(key, said)}
        if self._uncut is not None and not self.changing and not self.unknown:
            earlier["the uncut run"] = self._uncut.prompts.get(key, "nothing")
        for name, known in earlier.items():
            if known != said:
                self.offences.append(f"asked {prompt.facts['kind']} otherwise than {name}: {difference(known, said)}")
        self.prompts.setdefault(key, said)
        reply = self.replies[key] if key in self.replies else self.replies.setdefault(key, self._next(prompt))
        if isinstance(reply, Exception):
            raise reply
        return ModelReply(text=reply) if isinstance(reply, str) else reply

    def _next(self, prompt: Prompt) -> ModelReply | str | Exception:
        if prompt.facts["kind"] == "summary":
            return SUMMARY
        self._said += 1
        return self.shape.says[min(self._said, len(self.shape.says)) - 1]

    async def call(
        self,
        use: ToolUse,
        *,
        team: str,
        robot: Robot | None = None,
        role: Role = Role.OWNER,
        timeout: float | None = None,
    ) -> str:
        await self._called(use.step_id)
        return await self.shape.tools(self, use)

    async def process(self, name: str, call: ProcessCall, *, timeout: float) -> str:
        await self._called(call.step_id)
        return f"{name} answered {call.args}"

    async def _called(self, step_id: str) -> None:
        """A call is made once it is stored, and after those before it have their results stored."""
        uses = uses_of(await self.run())
        stored = [each for each in uses if each.step_id == step_id]
        if [each.status for each in stored] != [ToolStatus.STARTED]:
            self.offences.append(f"{step_id} is called while it is stored as {stored}")
        if any(each.step_id == step_id and not each.idempotent for each in self.called):
            self.offences.append(f"{stored[0].name} is called again")
        self.called += stored

    async def ask(self, question: Any, request: Any, **_: Any) -> Any:
        match question.name:
            case catalog.RECALL.name:
                known = f"lesson {self.lives if self.changing else 1}"
                entry = MemoryEntry(id="l1", type=LessonType.INSIGHT, content=known, created_at=NOON)
                return RecallReply(entries=[RecalledEntry(entry=entry, score=1)])
            case catalog.CHECK_RULES.name:
                return RulesReply(verdict=GOOD)
            case catalog.LIST_PLANS.name:
                return PlanPage()
            case catalog.LIST_WAITING.name:
                return WaitingPage()
        raise AssertionError(f"no answer to {question.name}")

    async def _answer_person(self, process: Any, *, parks: int) -> None:
        run = await self.run()
        lost = {use.step_id: use for use in uses_of(run) if use.status is ToolStatus.UNKNOWN}
        asked = run.execution.question.question if run.execution.question else ""
        self.offences += [f"{use.name} isn't asked about" for use in lost.values() if use.step_id not in asked]
        self.unknown |= lost
        await process.answer("I looked it up." if lost else self.shape.person, f"i{parks}")

    def store_fact(self, name: str, fact: Any) -> None:
        body = to_json(fact)
        if name in self.facts:
            if not self.changing and self.facts[name] != body:
                self.offences.append(f"published otherwise: {name}")
            return
        self.facts[name] = body
        if (message := self._answer(name.partition(" ")[0], fact)) is not None:
            self.messages.append(message)

    def _answer(self, channel: str, fact: Any) -> "Handle | None":
        """The message that comes of a fact."""
        outcome: Any
        match channel:
            case catalog.VALIDATION_REQUESTED.name:
                given = self._verdicts.pop(0) if self._verdicts else GOOD
                outcome = VerdictGiven(fact.validation_id, fact.task_id, given, None)
            case catalog.DELIVERY_REQUESTED.name:
                done = DeliveryResult(request_id=fact.request_id, content=fact.content, success=True)
                outcome = DeliveryTaken(done)
            case catalog.LEARNING_REQUESTED.name:
                outcome = Learnt(LearningResult(skipped="nothing new"))
            case catalog.EXECUTION_RESUMABLE.name:
                return lambda process: process.worker.resume("e1", grant=fact.parks)
            case catalog.EXECUTION_PARKED.name:
                return partial(self._answer_person, parks=fact.parks)
            case _:
                return None
        return lambda process: process.worker.resume("e1", outcome)


async def _start(process: Any) -> None:
    await process.start()


def uses_of(run: Run) -> list[ToolUse]:
    turns = [turn for result in run.execution.results for turn in result.turns]
    rounds = [*run.looked_up, *(each for turn in turns for each in turn.rounds)]
    return [use for each in rounds for use in each.uses]


def difference(one: str, other: str) -> str:
    at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return f"{one[max(0, at - 60) : at + 60]!r} / {other[max(0, at - 60) : at + 60]!r}"


def connectors(window: int) -> Connectors:
    made = Connectors("rehearsal", environ={})
    if window:
        made._all["rehearsal"] = replace(made._all["rehearsal"], window=window)
    return made
