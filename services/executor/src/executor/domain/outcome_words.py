"""Outcomes of steps in words, for people who ask why."""

from executor.domain.outcomes import (
    CallsBegun,
    CeilingReached,
    GoalsGiven,
    GoalsSet,
    Hooked,
    Inspired,
    LookedUp,
    NeedsInput,
    NotCalled,
    NothingToDo,
    Outcome,
    Planned,
    Recalled,
    StepDelayed,
    StepFailed,
    TaskAnswered,
    Thought,
    TimedOut,
    Unusable,
    Used,
    VerdictGiven,
    Written,
)
from executor.domain.search.searched import Searched
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.text import Text

LIMIT = 300
"""Characters of what an outcome quotes."""


def in_words(outcome: Outcome) -> str:
    found = _of_phase(outcome) or _of_task(outcome) or _of_service(outcome) or _of_failure(outcome)
    return " ".join(excerpt(found, LIMIT).split())


def _of_phase(outcome: Outcome) -> str:
    match outcome:
        case Inspired(report):
            return f"report: {report.content}"
        case GoalsSet(goals):
            return f"goals: {goals.content}"
        case Planned(tasks):
            return f"{len(tasks)} tasks: " + "; ".join(task.description for task in tasks)
        case NothingToDo(reason):
            return f"nothing to do: {reason}"
        case NeedsInput(question):
            return f"asks a person: {question}"
        case Written(content):
            return f"to deliver: {content.summary}"
    return ""


def _of_task(outcome: Outcome) -> str:
    match outcome:
        case Thought(_, _, uses):
            return f"calls {_calls(uses)}"
        case CallsBegun():
            return _begun(outcome)
        case TaskAnswered(_, output):
            return f"result: {_text(output)}"
        case TimedOut(_, seconds):
            return f"its turn timed out after {seconds:g} s"
        case Used(_, _, output, error):
            return f"the call failed: {error}" if error is not None else f"answer: {_text(output)}"
        case NotCalled(_, _, reason):
            return f"not called: {reason}"
    return ""


def _of_service(outcome: Outcome) -> str:
    match outcome:
        case Recalled(lessons, note):
            return note or f"{len(lessons)} lessons recalled"
        case LookedUp(made):
            return f"looked up {_calls(made.uses)}"
        case GoalsGiven(into, done):
            return f"goals given to execution {into}" if done else f"execution {into} took no goals"
        case VerdictGiven(_, _, verdict, error):
            passed = "passed" if verdict.passed else "not passed"
            return error or f"{passed} with {verdict.score:g}: {'; '.join(verdict.issues) or 'no issues'}"
        case Searched(_, found):
            return "searched, and found something" if found else "searched, and found nothing"
        case Hooked():
            return _hooked(outcome)
    return ""


def _begun(made: CallsBegun) -> str:
    asks = {each.step_id for each in made.asks}
    done = [use for use in made.uses if use.step_id not in asks and use.step_id not in made.refused]
    no = [f"{use.name} ({made.refused[use.step_id]})" for use in made.uses if use.step_id in made.refused]
    parts = [
        *([f"calls {_calls(done)}"] if done else []),
        *([f"asks a person about {', '.join(each.tool for each in made.asks)}"] if made.asks else []),
        *([f"refuses {', '.join(no)}"] if no else []),
        *([f"hooks ({', '.join(made.by)}) had a say"] if made.by else []),
    ]
    return "; ".join(parts)


def _hooked(made: Hooked) -> str:
    names = ", ".join(made.by)
    if made.cancelled:
        return f"hooks: {made.cancelled}"
    what = [*(["the messages"] if made.messages else []), *([f"the model to {made.model}"] if made.model else [])]
    return f"hooks ({names}) changed {' and '.join(what)}" if what else "hooks changed nothing"


def _of_failure(outcome: Outcome) -> str:
    match outcome:
        case Unusable(reason):
            return f"can't be used: {reason}"
        case StepFailed(reason):
            return f"failed: {reason}"
        case CeilingReached(question):
            return f"asks for room below a ceiling: {question}"
        case StepDelayed(reason):
            return f"to be tried again: {reason}"
    return ""


def _calls(uses: list[ToolUse]) -> str:
    return ", ".join(f"{use.name} ({use.error})" if use.error else use.name for use in uses)


def _text(text: Text | None) -> str:
    if text is None:
        return "none"
    return text.inline or "" if text.ref is None else f"{text.ref.size} bytes"
