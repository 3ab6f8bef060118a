"""Sections of the question: what was asked, what is known, what was done. All that is foreign stands in the frame."""

from executor.domain.conversation.made_files import NAMED, attachments
from executor.domain.conversation.media import media_sent
from executor.domain.conversation.messages import Texts, read
from executor.domain.run import Run
from executor.domain.search.searched import found_for
from executor.domain.situation import wording
from rota_common.material import Frame, tagged
from rota_contracts.messages.execution import Task, excerpt
from rota_contracts.messages.trigger import TriggerType

MOST_FILES = 20


def asked(run: Run, frame: Frame) -> str:
    """The words that started the run: a person's are the request, a sender's are material."""
    trigger = run.execution.trigger
    match trigger.type:
        case TriggerType.HUMAN:
            data = frame.material("data", wording.data_text(trigger))
            return "\n".join(filter(None, [tagged("request", wording.words(trigger)), data]))
        case TriggerType.CLOCK:
            return tagged("started_by", f"the clock: {wording.given_input(trigger)}")
        case _:
            return frame.material("event", wording.given_input(trigger))


def report(run: Run, frame: Frame) -> str:
    found = run.execution.inspiration
    return frame.material("inspiration report", found.content if found else "")


def surroundings(run: Run, frame: Frame) -> str:
    """What is pending, and what the robot's runs did since its last report."""
    pending, since = wording.pending_text(run), wording.since_text(run)
    return "\n\n".join(filter(None, [frame.material("pending", pending), frame.material("since then", since)]))


def followed(run: Run, frame: Frame) -> str:
    return frame.material("the run that this one goes on from", run.followed)


def lessons(run: Run, frame: Frame) -> str:
    return frame.material("lessons of earlier runs", wording.lessons_text(run))


def known(run: Run, frame: Frame) -> str:
    return frame.material("knowledge of the team", wording.known_text(run))


def found(run: Run, task: Task, texts: Texts, frame: Frame) -> str:
    """What was searched for before a task, with its sources."""
    text = found_for(run, task)
    return frame.material("found by search", read(text, texts)) if text else ""


def said(run: Run, *, without: frozenset[str] = frozenset()) -> str:
    """Interventions of people, but for those that stand in the conversation already."""
    return tagged("said_by_people_meanwhile", wording.interventions_text(run, without=without))


def goals(run: Run) -> str:
    found = run.execution.goals
    return tagged("goals", found.content if found else "")


def plan(run: Run, frame: Frame) -> str:
    """The tasks with how they ended, and why they failed."""
    return frame.material("plan", wording.plan_text(run))


def results(run: Run, texts: Texts, frame: Frame, name: str) -> str:
    return frame.material(name, wording.previous_results(run, texts)) or f"({name}: none)"


def files(run: Run, texts: Texts) -> str:
    """Names of files that the tasks made, people sent, or the results or the input name, and so can be attached."""
    trigger = run.execution.trigger
    made = [each.file for each in attachments(run, [])]
    sent = [each.file for each in media_sent(run) if each.file]
    found = NAMED.findall(f"{wording.given_input(trigger)}\n{wording.whole_results(run, texts)}")
    return tagged("files", "\n".join([*dict.fromkeys([*made, *sent, *found])][:MOST_FILES]))


def task(task: Task) -> str:
    return tagged("task", task.description)


def arguments(task: Task) -> str:
    return tagged("arguments", str(task.args) if task.args else "")


def expected(task: Task) -> str:
    """A help alone: what was asked decides."""
    return tagged("expected_output", excerpt(task.expected_output, wording.RESULT_LIMIT))
