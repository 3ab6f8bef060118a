"""The interpretation of a model's reply as a step's outcome. Pure: a replay interprets the same reply again."""

import json
from collections.abc import Sequence

from pydantic_core import to_jsonable_python

from executor.domain.answers.html import without_html
from executor.domain.answers.understand import VERSION
from executor.domain.conversation import loop
from executor.domain.conversation.ask_person import question_of
from executor.domain.conversation.chat import ModelReply, Tool
from executor.domain.conversation.made_files import attachments
from executor.domain.failures import is_last_attempt
from executor.domain.outcomes import (
    GoalsSet,
    Inspired,
    NeedsInput,
    NothingToDo,
    Outcome,
    Planned,
    TaskAnswered,
    Thought,
    Unusable,
    Written,
)
from executor.domain.planning import looks, parsing
from executor.domain.planning.answer import LENGTH_LIMIT, Answer, answer_of
from executor.domain.planning.own_question import ASK_AGAIN, PROBLEM, repeats
from executor.domain.planning.own_result import fitting
from executor.domain.planning.plan import nothing_to_do, plan
from executor.domain.run import Run
from executor.domain.situation.wording import given_input
from executor.domain.steps import AskAgent, RunTurn, id_of, subject_of
from executor.domain.tasks.tasks import kept_tasks
from executor.domain.texts import LargeTexts
from rota_common.json_text import extract_json
from rota_contracts.json_values import TOO_DEEP, unstorable
from rota_contracts.messages.delivery import DeliveryContent
from rota_contracts.messages.execution import InspirationReport, Task, excerpt
from rota_contracts.messages.text import INLINE_LIMIT
from rota_contracts.messages.trigger import TriggerType
from rota_contracts.robots.clock import clock_context
from rota_contracts.robots.robot import Phase

SILENT = "the agent has nothing to say (NO_REPLY)"

STOPPED = {
    "content_filter": " (the provider's filter stopped the answer)",
    "length": " (the answer was cut off at the model's limit of tokens: max_tokens of its connector)",
}
"""Why an answer that can't be used ended early, by the provider's reason."""


def interpret(
    run: Run,
    step: AskAgent | RunTurn,
    said: ModelReply,
    tools: Sequence[Tool],
    kept: LargeTexts,
    *,
    version: int = VERSION,
) -> Outcome:
    """The outcome of `step`, whose model replied and could call `tools`. `version`: of the understanding."""
    try:
        found = answer_of(run, step, said, tools, version=version)
        match step:
            case RunTurn():
                outcome = _turn(run, step, found, tools, kept)
            case AskAgent(Phase.INSPIRATION) if tools and found.calls:
                outcome = _wants_tools(run, step, found, tools, kept)
            case AskAgent(phase):
                question = parsing.needs_input(found.text)
                outcome = NeedsInput(question) if question else _phase(run, phase, found, tools, kept)
                if not isinstance(outcome, Written):  # whose text may be long: it is kept by reference
                    found.check_length(found.text)
    except parsing.UnusableAnswer as error:
        return Unusable(str(error) + STOPPED.get(said.stopped, ""))
    if not isinstance(outcome, GoalsSet | Planned | Thought):  # the others are texts
        return outcome
    try:
        problem = unstorable(to_jsonable_python(outcome))
    except ValueError:
        problem = TOO_DEEP
    return Unusable(problem) if problem else outcome


def _turn(run: Run, step: RunTurn, said: Answer, tools: Sequence[Tool], kept: LargeTexts) -> Outcome:
    task, text = step.task, said.text
    if said.version > 1 and (question := question_of(said.calls)) is not None:
        said.check_length(question)
        return _question(run, task, question, said.version)
    if said.calls and (tools or step.iteration == 0):
        return _wants_tools(run, step, said, tools, kept)
    if said.calls or said.wanted_calls:  # it was asked for a summary, without tools
        text = loop.limit_text(step.iteration, text)
    if question := parsing.needs_input(said.form or text):
        said.check_length(question)
        return _question(run, task, question, said.version) if said.version > 1 else NeedsInput(question)
    if not text.strip():
        raise parsing.UnusableAnswer(f"expected the result of the task from {task.executor_id}, got an empty answer")
    return TaskAnswered(task.id, kept.text(text, room(run)))


def _wants_tools(run: Run, step: AskAgent | RunTurn, said: Answer, tools: Sequence[Tool], kept: LargeTexts) -> Thought:
    said.check_length(json.dumps([call.arguments for call in said.calls]))
    limit = LENGTH_LIMIT if isinstance(step, RunTurn) else looks.OUTPUT_LIMIT
    text = excerpt(said.text, limit) if said.version > 2 else said.text
    thinking = kept.text(said.thinking, room(run)) if said.thinking else None
    uses = loop.uses_of(said.calls, tools, step_id=step.step_id, each_once=said.version < 6)
    return Thought(id_of(subject_of(step)), text, uses, thinking)


def _question(run: Run, task: Task, question: str, version: int) -> Outcome:
    """A question to a person; one that only repeats what was asked is none. Where no person asked for the run, it is
    asked only if the assistant insists."""
    if not question:
        raise parsing.UnusableAnswer("expected a question to the person, got an empty one: say what you need to know")
    if repeats(question, f"{given_input(run.execution.trigger)}\n{task.description}"):
        raise parsing.UnusableAnswer(PROBLEM)
    if version > 4 and run.execution.trigger.type is not TriggerType.HUMAN and not run.attempts:
        raise parsing.UnusableAnswer(ASK_AGAIN)
    return NeedsInput(question)


def _phase(run: Run, phase: Phase, said: Answer, tools: Sequence[Tool], kept: LargeTexts) -> Outcome:
    trigger, text = run.execution.trigger, said.text
    if said.silent and phase is not Phase.INSPIRATION:
        return NothingToDo(SILENT)
    match phase:
        case Phase.INSPIRATION:
            clock = run.robot.robot_config.clock
            context = trigger.input.clock or clock_context(trigger.received_at, clock.tz if clock else "UTC")
            report = said.readable(parsing.report(text))
            if said.version > 1 and not run.attempts and (missing := parsing.missing_sections(report)):
                raise parsing.UnusableAnswer(f"expected the six sections with their headings, missing: {missing}")
            return Inspired(InspirationReport(clock=context, content=report))
        case Phase.GOALS:
            reason = nothing_to_do(extract_json(text))
            if reason and not (said.version > 3 and parsing.has_goals(text)):
                return NothingToDo(reason)
            goals = parsing.goals(text, lists=said.version > 3)
            said.check_words(goals.content)
            return GoalsSet(goals.model_copy(update={"content": said.readable(goals.content)}))
        case Phase.TASKS:
            old_tasks = kept_tasks(run)
            again = run.attempts > 0
            planned = plan(text, robot=run.robot, trigger=trigger.type, tools=tools, known=old_tasks, again=again)
            if isinstance(planned, str):
                return Planned([], [f"plan: nothing is left to do: {planned}"]) if old_tasks else NothingToDo(planned)
            return Planned(*planned)
        case _:
            return _written(run, said, kept)


def _written(run: Run, said: Answer, kept: LargeTexts) -> Outcome:
    schema, last = run.robot.robot_config.delivery.result_schema, said.version > 6 and is_last_attempt(run)
    draft = parsing.draft(said.text, plain=said.version > 0 and schema is None, last=last)
    said.check_length(draft.summary + "".join(each.model_dump_json() for each in draft.attachments))
    body, silent = said.sendable(without_html(draft.body) if said.in_html else draft.body)
    if silent:
        return NothingToDo(SILENT)
    said.check_words(body)
    summary = said.readable(without_html(draft.summary) if said.in_html else draft.summary)
    content = DeliveryContent(
        summary=summary,
        body=kept.text(body),
        attachments=attachments(run, draft.attachments),
        result=None if schema is None else fitting(draft.result, schema),
    )
    return Written(content, draft.notes)


def room(run: Run) -> int:
    """Bytes that an output may take inline: all outputs of a run together stay below a message's limit."""
    turns = [turn for result in run.execution.results for turn in result.turns]
    rounds = [each for turn in turns for each in turn.rounds]
    outputs = [use.output for each in rounds for use in each.uses]
    texts = [*(turn.output for turn in turns), *(each.thinking for each in rounds), *outputs]
    used = sum(text.inline_size for text in texts if text is not None)
    return max(0, min(INLINE_LIMIT, 2 * INLINE_LIMIT - used))
