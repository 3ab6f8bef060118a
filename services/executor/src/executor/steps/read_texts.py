"""The texts of a run that are kept by reference, as far as a prompt needs them."""

from collections.abc import Sequence

from executor.domain.context.compaction import shown
from executor.domain.context.contexts import context_of, of_task
from executor.domain.conversation.messages import references
from executor.domain.run import Run
from executor.file_ports import Blobs
from rota_contracts.messages.execution import Task
from rota_contracts.messages.text import Text


def wanted_texts(run: Run, task: Task | None = None) -> list[Text]:
    """The texts kept by reference that a prompt needs: results so far, and what is sent of the conversation about
    `task`."""
    wanted: list[Text] = []
    for result in run.execution.results:
        if task is not None and result.task_id == task.id:
            wanted += references(shown(result.turns, context_of(run, of_task(task.id))))
        elif result.output is not None and result.output.ref is not None:
            wanted.append(result.output)
    return wanted


async def read_texts(blobs: Blobs, wanted: Sequence[Text]) -> dict[str, str]:
    """By the names of their objects."""
    return {text.ref.name: await blobs.read(text) for text in wanted if text.ref is not None}
