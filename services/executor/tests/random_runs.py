"""Whole lives of executions as chance has them: models that answer anything, calls that fail, people who speak up.

A life is a list of events; `happen` makes one happen to a run, as a worker would. All of it at noon, so that two ways
through the same life can be compared to the last field.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from services.executor.tests.fixtures import AROUND, BAD, DELIVERED, GOOD, REPORT, a_signal, equipped, new_run
from services.executor.tests.harness import TOOLS

from executor.domain import journal, lifecycle
from executor.domain.context import contexts
from executor.domain.conversation.chat import ModelReply, ToolCall
from executor.domain.outcomes import (
    CallsBegun,
    Compacted,
    DeliveryTaken,
    GoalsCompared,
    GoalsGiven,
    Learnt,
    NotCalled,
    Outcome,
    Overflowed,
    Promised,
    Recalled,
    RulesAnswered,
    StepDelayed,
    StepFailed,
    Used,
    VerdictGiven,
)
from executor.domain.planning.interpret import LargeTexts, interpret
from executor.domain.run import CALLBACK, Run, Signal
from executor.domain.steps import (
    AskAgent,
    BeginCalls,
    CheckRules,
    Compact,
    CompareGoals,
    Done,
    Finish,
    GiveGoals,
    MakeCalls,
    Park,
    RecallLessons,
    RequestDelivery,
    RequestLearning,
    RequestSlot,
    RequestVerdict,
    RunTurn,
    Step,
    describe,
    id_of,
)
from rota_common.testing.samples import NOON
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.execution import ExecStatus, LearningResult
from rota_contracts.messages.learning import GoalsReply
from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import RulesReply
from rota_contracts.robots.robot import Phase, Robot

MORE = BAD.model_copy(update={"need_reply": True, "reply_content": "More figures, please."})
ASKS = '{"status": "need_input", "question": "Which one?"}'
MEANS: list[dict[str, Any]] = [
    {"executor_id": "experts.writer"},
    {"executor_id": "experts.writer", "expected_output": "figures"},
    {"executor_type": "mcp", "executor_id": "crm.lookup", "args": [{"name": "Globex"}]},
    {"executor_type": "mcp", "executor_id": "crm.note"},
    {"executor_type": "process", "executor_id": "crm.pay", "args": ["Globex", 7]},
    {"executor_type": "process", "executor_id": "crm.ping"},
]
TEXTS = {
    Phase.INSPIRATION: [REPORT, "## Summary\nquiet", "", ASKS],
    Phase.GOALS: ["## Goals\n1. Sell", '{"nothing_to_do": "no leads"}', "", ASKS],
    Phase.DELIVERY: ['{"summary": "Done.", "body": "# Done"}', "nothing", ASKS],
}


@dataclass(frozen=True)
class Event:
    """Something that happens to a run. `said`: the model's words behind `outcome`; `step`: the one it belongs to."""

    kind: str
    outcome: Outcome | None = None
    step: str = ""
    said: ModelReply | None = None
    word: Signal | None = None
    grant: int = 0
    status: ExecStatus = ExecStatus.COMPLETED


@dataclass
class Chance:
    """`draw` from hypothesis; after `mischief` events all goes well, so that every life ends."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    mischief: int = 0
    words: list[Signal] = field(default_factory=list)

    def one_of(self, *options: Any) -> Any:
        """The first, once there is no mischief left."""
        if self.mischief <= 0:
            return options[0]
        self.mischief -= 1
        return self.draw(st.sampled_from(options))

    def order(self, items: tuple[Any, ...]) -> list[Any]:
        return list(self.draw(st.permutations(items))) if len(items) > 1 else list(items)


def a_robot_by(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Robot:
    robot = equipped(
        continue_on_failure=draw(st.booleans()), max_turns_per_task=draw(st.integers(1, 3)), max_duration="10m"
    )
    config = robot.robot_config
    dedup = config.dedup.model_copy(update={"on": draw(st.booleans())})
    return robot.model_copy(update={"robot_config": config.model_copy(update={"dedup": dedup})})


def a_beginning(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Run:
    return new_run(draw(st.sampled_from(["clock", "event", "human"])), robot=a_robot_by(draw))


def next_events(run: Run, chance: Chance) -> list[Event]:
    """What comes of the run's next step; of calls made at once, several things."""
    step = lifecycle.next_step(run)
    match step:
        case Finish(status):
            return [Event("finished", status=status)]
        case Park():
            return [Event("parked"), *_people(run, chance)]
        case RequestSlot(parks):
            return [Event("granted", grant=parks)]
        case AskAgent() | RunTurn() | Compact():
            return [_model(run, step, chance)]
        case MakeCalls(of, uses):
            if chance.one_of(False, False, False, True):
                return [Event("taken over")]
            return [_called(id_of(of), use, chance) for use in chance.order(uses)]
        case Done():
            return []
        case other:
            name = (
                ""
                if isinstance(other, BeginCalls | RequestVerdict | RequestDelivery | RequestLearning)
                else describe(other)
            )
            return [Event("took", _answer(other, chance), name)]


def _people(run: Run, chance: Chance) -> list[Event]:
    """What a parked run waits for, sooner or later."""
    number = f"p{run.parks}-{len(run.execution.interventions)}"
    words = []
    if run.execution.question is not None:
        words.append(a_signal("instruct", "The German one.", id=f"a-{number}"))
    if run.paused:
        words.append(a_signal("resume", id=f"r-{number}"))
    for callback in run.promised:
        sent = {"id": f"c-{callback.id}", "callback": callback.id}
        result = a_signal(CALLBACK, output=Text(inline="paid"), **sent)
        words.append(chance.one_of(result, a_signal(CALLBACK, error="closed", **sent), None))
    return [Event("expired") if word is None else Event("word", word=word) for word in chance.order(tuple(words))]


def _model(run: Run, step: AskAgent | RunTurn | Compact, chance: Chance) -> Event:
    of = contexts.of_step(step)
    if isinstance(step, Compact):
        made = Compacted(of, chance.one_of("- looked up", ""), step.turn, step.rounds)
        return Event("took", chance.one_of(made, StepDelayed("busy", 3)), describe(step))
    again = [Overflowed(of), Overflowed(of, 5_000)] if contexts.context_of(run, of).overflows < 3 else []
    failed = chance.one_of(None, None, None, StepDelayed("busy", 3), StepFailed("refused"), *again)
    if failed is not None:
        return Event("took", failed, describe(step))
    looks = isinstance(step, AskAgent) and step.phase is Phase.INSPIRATION and step.iteration < 3
    if isinstance(step, RunTurn) or (looks and chance.one_of(False, True)):
        said = _turn(chance)
    else:
        said = ModelReply(text=_phase(run, step.phase, chance))
    return Event("took", interpret(run, step, said, TOOLS, LargeTexts()), describe(step), said=said)


def _phase(run: Run, phase: Phase, chance: Chance) -> str:
    if phase is not Phase.TASKS:
        return str(chance.one_of(*TEXTS[phase]))
    size = chance.draw(st.integers(1, 3))
    tasks = [chance.one_of(*MEANS) | {"id": f"t{number}"} for number in range(size)]
    return str(chance.one_of(json.dumps({"tasks": tasks}), '{"tasks": [], "reason": "done"}', "no plan", ASKS))


def _turn(chance: Chance) -> ModelReply:
    kind = chance.one_of("answer", "tools", "tools", "nothing", "ask")
    if kind == "tools":
        names = chance.draw(st.lists(st.sampled_from(["crm__lookup", "crm__note", "shell"]), min_size=1, max_size=3))
        return ModelReply(
            calls=[ToolCall(id=f"c{n}", name=name, arguments={"n": n % 2}) for n, name in enumerate(names)]
        )
    return ModelReply(text={"answer": "42", "nothing": " ", "ask": ASKS}[kind])


def _called(task_id: str, use: ToolUse, chance: Chance) -> Event:
    done = Used(task_id, use.step_id, Text(inline="found"))
    failed, away = Used(task_id, use.step_id, None, "404"), NotCalled(task_id, use.step_id, "away")
    later = [] if use.server is not None else [Promised(task_id, use.step_id)] * 2
    return Event("took", chance.one_of(done, failed, away, *later))


def _merged(step: CompareGoals | GiveGoals, chance: Chance) -> Outcome:
    if isinstance(step, GiveGoals):
        return GoalsGiven(step.merge.into, done=chance.one_of(True, False))
    merge = GoalsReply(decision="merge", goals="the rest", execution_id="e0")
    proceed, skip = GoalsReply(decision="proceed"), GoalsReply(decision="skip", reason="done")
    away = merge.model_copy(update={"into": "e9", "execution_id": None})
    return GoalsCompared(chance.one_of(proceed, merge, away, skip))


def _answer(step: Step, chance: Chance) -> Outcome:
    match step:
        case RecallLessons():
            return Recalled([], note="without lessons", surroundings=AROUND if step.with_situation else None)
        case CompareGoals() | GiveGoals():
            return _merged(step, chance)
        case BeginCalls(of, uses):
            return CallsBegun(
                id_of(of), list(uses), {use.step_id: f"c-{use.step_id}" for use in uses if use.server is None}
            )
        case CheckRules(task):
            good, kind = RulesReply(verdict=GOOD), RulesReply(verdict=GOOD, open_rules=["Be kind."])
            return RulesAnswered(task.id, chance.one_of(good, kind, RulesReply(verdict=MORE), RulesReply(verdict=BAD)))
        case RequestVerdict(task, _, validation_id):
            verdict, error = chance.one_of((GOOD, None), (MORE, None), (BAD, None), (GOOD, "no verdict"))
            return VerdictGiven(validation_id, task.id, verdict, error)
        case RequestDelivery():
            return DeliveryTaken(DELIVERED)
        case RequestLearning():
            return Learnt(LearningResult(skipped="nothing new"))
    raise AssertionError(f"no answer to {step}")


def happen(run: Run, event: Event) -> Run:
    """The run after an event, noted in its entries."""
    match event.kind:
        case "parked":
            return journal.record_parked(run, now=NOON)
        case "granted":
            return journal.record_granted(run, event.grant, now=NOON)
        case "expired":
            return journal.record_expired(run, now=run.expires_at or NOON)
        case "taken over":
            return journal.record_taken_over(run, now=NOON)
        case "finished":
            return journal.record_finished(run, event.status, now=NOON)
        case "word":
            return journal.record_signals(run.model_copy(update={"inbox": [event.word]}), now=NOON)
    assert event.outcome is not None
    said = Text(inline=event.said.model_dump_json()) if event.said is not None else None
    return journal.record_outcome(run, event.outcome, now=NOON, step=event.step, said=said, tools=TOOLS, retry_after=5)
