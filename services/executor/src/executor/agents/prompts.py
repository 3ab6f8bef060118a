"""The messages for an agent: its system prompt, and what it is to work on, each built of sections in a fixed order.

What stays the same for all runs of a robot comes first, so that providers can cache it; what changes comes last.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from executor.agents.prompt_files import Agent
from executor.agents.sections import given, identity, schemas
from executor.agents.sections.forms import form
from executor.agents.sections.means import explained, listed_assistants, listed_processes, listed_tools, means, reach
from executor.domain.calls.duplicates import progress_note
from executor.domain.calls.policy import processes_for
from executor.domain.context.compaction import conversation, shown
from executor.domain.context.contexts import context_of, of_phase, of_task, turns_of
from executor.domain.conversation.chat import Tool
from executor.domain.conversation.media import as_messages, media_sent
from executor.domain.conversation.messages import AGAIN, CLOSING, Texts
from executor.domain.planning import plain_request
from executor.domain.run import Run
from executor.domain.situation.moment import now_text
from executor.domain.situation.wording import clock_text, words
from rota_common.material import Frame, frame_of, joined, tagged
from rota_contracts.messages.execution import Task
from rota_contracts.messages.trigger import Message, TriggerReceivedV1, TriggerType
from rota_contracts.robots.robot import Phase, Robot

DEFAULT_LOCALE = "that of the request, else that of the duties"

WISHES = {
    Phase.INSPIRATION: "Write the report.",
    Phase.GOALS: "Make today's goals.",
    Phase.TASKS: "Make the plan.",
    Phase.DELIVERY: "Write it up.",
}
"""The last line of a phase's question."""


def system(
    agent: Agent,
    agent_id: str,
    robot: Robot,
    *,
    locale: str,
    kind: str = "",
    means: str = "",
    form: str = "",
    tail: str = "",
    values: Mapping[str, str] | None = None,
    minimal: bool = False,
    tagged_parts: bool = True,
) -> Message:
    """The system message. Persona and rules, the agent's own words, `means`, `form`, its files of context, then what
    changes: the `tail`.

    `values`: of the placeholders in the agent's file, beside those of the identity. `minimal`: for a call by another
    agent, without the files of context but that of its tools. `tagged_parts`: what it is given stands between tags.
    """
    kind = kind or identity.kind_of(agent_id)
    files = agent.files
    sections = (
        identity.persona(kind, agent_id, robot),
        "" if minimal else files.mandatory(),
        "" if minimal else files.persona(),
        identity.rules(robot),
        identity.SAFETY,
        agent.system_prompt({**_values(agent_id, robot, locale), **(values or {})}),
        means,
        form,
        identity.TAGS if tagged_parts else "",
        identity.language(locale),
        *(tagged(name, text) for name, text in files.project(minimal=minimal)),
        tail,
        identity.reminder(kind, agent_id, robot),
    )
    return Message(role="system", content=joined(*sections))


def locale_of(trigger: TriggerReceivedV1, robot: Robot) -> str:
    return trigger.locale or robot.robot_config.default_locale or DEFAULT_LOCALE


def phase_frame(run: Run, phase: Phase) -> Frame:
    return frame_of(run.id, phase)


def task_frame(run: Run, task: Task) -> Frame:
    return frame_of(run.id, "task", task.id)


def for_phase(
    run: Run,
    phase: Phase,
    agent: Agent,
    agent_id: str,
    texts: Texts,
    tools: Sequence[Tool] = (),
    *,
    about: Mapping[str, str] | None = None,
    closing: int | None = None,
    stalled: int = 0,
    in_text: Sequence[Tool] = (),
    skills: str = "",
    model: str = "",
) -> list[Message]:
    """The messages to a phase's agent. `tools`: what a plan may use. `about`: descriptions of assistants. `closing`,
    `stalled`, `in_text`, `skills`, `model`: as in `for_task`."""
    frame = phase_frame(run, phase)
    first = system(
        agent,
        agent_id,
        run.robot,
        locale=locale_of(run.execution.trigger, run.robot),
        kind=str(phase),
        means=joined(_means(run, phase, agent, tools, about or {}) or explained(in_text), skills),
        form=_form(run, phase, texts),
        tail=_tail(run, frame, model),
        values=_tools(run, tools, about or {}),
    )
    media = as_messages(media_sent(run)) if phase in (Phase.GOALS, Phase.TASKS) else []
    of, question = of_phase(phase), Message(role="user", content=_question(run, phase, texts, frame))
    talk = conversation(turns_of(run, of), context_of(run, of), texts, frame)
    return [first, *media, question, *talk, *_closing(closing, stalled), *_feedback(run)]


def for_task(
    run: Run,
    task: Task,
    agent: Agent,
    texts: Texts,
    *,
    closing: int | None = None,
    stalled: int = 0,
    in_text: Sequence[Tool] = (),
    skills: str = "",
    model: str = "",
) -> list[Message]:
    """A task with the words that were asked, the results of those before it, and the conversation about it since. A
    plain request is its own words alone, as a person wrote them; what is known for it stands in the system message.

    `closing`: the number of tool iterations after which it is asked for a last time. `stalled`: how many of the last
    ones brought nothing new. `in_text`: the tools of a model without calls of its own. `skills`: the section about
    them. `model`: its name.
    """
    frame, of = task_frame(run, task), of_task(task.id)
    turns, context = turns_of(run, of), context_of(run, of)
    told = frozenset(turn.told for turn in shown(turns, context))
    known = joined(
        given.lessons(run, frame),
        given.known(run, frame),
        given.followed(run, frame),
        given.found(run, task, texts, frame),
    )
    said = given.said(run, without=told)
    asks = run.execution.trigger.type is TriggerType.HUMAN
    words_alone = asks and plain_request.is_request(run, task) and not said
    first = system(
        agent,
        task.executor_id,
        run.robot,
        locale=locale_of(run.execution.trigger, run.robot),
        kind="run",
        means=joined(explained(in_text), skills),
        form=form("run"),
        tail=joined(
            _tail(run, frame, model, task, framed=not words_alone or bool(turns or known)), known if words_alone else ""
        ),
        tagged_parts=not words_alone,
    )
    parts = (words(run.execution.trigger),) if words_alone else (known, *_work(run, task, texts, frame, said))
    return [
        first,
        *_own_messages(run, task),
        *as_messages(media_sent(run, task)),
        Message(role="user", content=joined(*parts)),
        *conversation(turns, context, texts, frame),
        *_closing(closing, stalled),
        *_feedback(run),
    ]


def _work(run: Run, task: Task, texts: Texts, frame: Frame, said: str) -> tuple[str, ...]:
    asked = given.asked(run, frame)
    if plain_request.is_request(run, task):
        asks = run.execution.trigger.type is TriggerType.HUMAN
        return asked, said, "Do what the request asks for." if asks else identity.duty(run.robot, task.description)
    return (
        given.results(run, texts, frame, "results so far"),
        asked,
        said,
        given.task(task),
        given.arguments(task),
        given.expected(task),
        "Do the task, as what was asked needs it; what is expected is a help, and what was asked decides.",
    )


def _values(agent_id: str, robot: Robot, locale: str) -> dict[str, str]:
    """The placeholders of any agent's file."""
    own = robot.robot_config.identity
    return {
        "agent": agent_id,
        "role": own.role,
        "duties": "\n".join(f"- {duty}" for duty in own.duties) or "- as your role says",
        "rules": identity.rules(robot),
        "system_prompt": robot.system_prompt,
        "locale": locale,
        "clock": "",
        **dict.fromkeys(("agents", "tools", "processes"), ""),
    }


def _tools(run: Run, tools: Sequence[Tool], about: Mapping[str, str]) -> dict[str, str]:
    return {
        "agents": listed_assistants(run.robot, about),
        "tools": listed_tools(tools),
        "processes": listed_processes(processes_for(run)),
        "clock": clock_text(run.execution.trigger),
    }


def _means(run: Run, phase: Phase, agent: Agent, tools: Sequence[Tool], about: Mapping[str, str]) -> str:
    """What can be used; nothing where the agent's own file lists it."""
    if phase is Phase.GOALS:
        return reach(run.robot, tools, processes_for(run), about)
    if phase is Phase.TASKS and "agents" not in agent.prompt.get_identifiers():
        return means(run.robot, tools, processes_for(run), about)
    return ""


def _form(run: Run, phase: Phase, texts: Texts) -> str:
    return form(str(phase), **_of_form(run, phase, texts))


def schema_of(run: Run, phase: Phase, texts: Texts) -> Mapping[str, Any] | None:
    """The form of a phase's answer as a JSON Schema; None where that is text."""
    return schemas.schema(str(phase), **_of_form(run, phase, texts))


def _of_form(run: Run, phase: Phase, texts: Texts) -> dict[str, Any]:
    asked, delivers = run.execution.trigger.type is TriggerType.HUMAN, phase is Phase.DELIVERY
    files, result = delivers and bool(given.files(run, texts)), run.robot.robot_config.delivery.result_schema
    return {"asked": asked, "files": files, "result": result if delivers else None}


def _tail(run: Run, frame: Frame, model: str, task: Task | None = None, *, framed: bool = True) -> str:
    return joined(frame.preamble if framed else "", f"Now: {now_text(run, task)}", identity.runtime(model))


def _question(run: Run, phase: Phase, texts: Texts, frame: Frame) -> str:
    """The phase's question; its last line is the instruction."""
    asked = (given.known(run, frame), *_context(run, phase, texts, frame), given.said(run))
    return joined(*asked, _due(run, phase), WISHES.get(phase, "Write it up."))


def _due(run: Run, phase: Phase) -> str:
    by_clock = phase is Phase.GOALS and run.execution.trigger.type is TriggerType.CLOCK
    return identity.clock_duties(run.robot) if by_clock else ""


def _context(run: Run, phase: Phase, texts: Texts, frame: Frame) -> list[str]:
    lessons, asked, around = given.lessons(run, frame), given.asked(run, frame), given.surroundings(run, frame)
    match phase:
        case Phase.INSPIRATION:
            return [asked, around, lessons]
        case Phase.GOALS:
            return [given.report(run, frame), around, lessons, given.followed(run, frame), asked]
        case Phase.TASKS:
            done = given.results(run, texts, frame, "done already") if run.execution.results else ""
            return [lessons, given.followed(run, frame), asked, given.goals(run), given.plan(run, frame), done]
        case _:
            done = given.results(run, texts, frame, "results")
            return [
                given.report(run, frame),
                lessons,
                asked,
                given.goals(run),
                given.plan(run, frame),
                done,
                given.files(run, texts),
            ]


def _own_messages(run: Run, task: Task) -> list[Message]:
    """The words of the task's own messages; not those that stand in the request already. Whatever role was written
    into one: people speak as users, never as the system, an agent or a tool."""
    if task.messages == run.execution.trigger.input.messages:
        return []
    return [Message(role="user", content=words) for message in task.messages if (words := message.text().strip())]


def _closing(cap: int | None, stalled: int = 0) -> list[Message]:
    said = progress_note(stalled) if cap is None else CLOSING.format(cap=cap)
    return [Message(role="user", content=said)] if said else []


def _feedback(run: Run) -> list[Message]:
    said = f"Your last answer couldn't be used: {run.feedback}\n{AGAIN}"
    return [Message(role="user", content=said)] if run.feedback else []
