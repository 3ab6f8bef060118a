"""The texts of a run that are kept by reference, as far as a prompt needs them."""

from collections.abc import Sequence

from executor.domain.context.compaction import shown
from executor.domain.context.contexts import context_of, of_subject, of_task, turns_of
from executor.domain.conversation.messages import references
from executor.domain.run import Run
from executor.domain.search.searched import found_for
from executor.file_ports import Blobs
from rota_contracts.messages.execution import Task
from rota_contracts.messages.text import Text
from rota_contracts.robots.robot import Phase


def wanted_texts(run: Run, subject: Phase | Task) -> list[Text]:
    """The texts kept by reference that a prompt needs: results so far, and what is sent of its own conversation."""
    own = of_subject(subject)
    done = (result.output for result in run.execution.results if of_task(result.task_id) != own)
    wanted = [text for text in done if text is not None and text.ref is not None]
    found = found_for(run, subject) if isinstance(subject, Task) else None
    wanted += [found] if found is not None and found.ref is not None else []
    return [*wanted, *references(shown(turns_of(run, own), context_of(run, own)))]


async def read_texts(blobs: Blobs, wanted: Sequence[Text]) -> dict[str, str]:
    """By the names of their objects."""
    return {text.ref.name: await blobs.read(text) for text in wanted if text.ref is not None}
