"""Files that tools make: their ids and names, the tasks that made them, and how they go with the delivery.

A file's id comes of its call's step id: a repeated call makes the same file, and no text can claim another.
"""

import re
from collections.abc import Iterable

from executor.domain.run import Run
from rota_contracts.ids import derived_id
from rota_contracts.messages.attachment import wrap
from rota_contracts.messages.conversation import MadeFile
from rota_contracts.messages.delivery import Attachment
from rota_contracts.messages.execution import TaskResult, TaskStatus

MOST = 10
"""Files that one call keeps."""

ATTACHED = 20
"""Files that a delivery carries."""

NAMED = re.compile(r"__[A-Za-z0-9_.-]{1,40}://[\w./-]{0,200}\w")
"""The wrapper of a file, in a text."""


def file_id(step_id: str, number: int) -> str:
    """The id of the call's file with this number, which counts from 1."""
    return derived_id("file", step_id, number).replace("-", "")


def line(name: str, about: str, wrapper: str) -> str:
    """A file as the answer of its tool names it."""
    return f"[file {name}, {about}: {wrapper}]"


def made_by(step_id: str, answer: str) -> list[MadeFile]:
    """The files of a call, which its answer names."""
    found = list[MadeFile]()
    for number in range(1, MOST + 1):
        wrapper = wrap(file_id(step_id, number))
        if wrapper not in answer:  # a pattern for each number takes longer than most rounds
            continue
        if shown := re.search(rf"\[file ([\w.-]{{1,100}}), [^\]\n]{{1,200}}: {re.escape(wrapper)}\]", answer):
            found.append(MadeFile(file=wrapper, name=shown[1]))
    return found


def files_of(result: TaskResult) -> list[MadeFile]:
    return [file for turn in result.turns for each in turn.rounds for use in each.uses for file in use.files]


def attachments_of(result: TaskResult) -> list[Attachment]:
    """What the task made, as a delivery carries it."""
    made = [Attachment(title=file.name, task_id=result.task_id, file=file.file) for file in files_of(result)]
    return made[:ATTACHED]


def attachments(run: Run, named: Iterable[Attachment]) -> list[Attachment]:
    """Those that the delivery's author `named`, and what completed tasks made beside; each with its task."""
    made = {
        file.file: Attachment(title=file.name, task_id=result.task_id, file=file.file)
        for result in run.execution.results
        if result.status is TaskStatus.COMPLETED
        for file in files_of(result)
    }
    chosen = {each.file: each for each in named}
    with_task = {
        file: each.model_copy(update={"task_id": made[file].task_id}) if file in made else each
        for file, each in chosen.items()
    }
    return [*({**with_task, **{file: each for file, each in made.items() if file not in chosen}}).values()][:ATTACHED]
