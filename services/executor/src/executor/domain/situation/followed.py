"""The run that another one follows, in short: what was asked, its goals, its results, and what was delivered."""

from collections.abc import Iterator

from executor.domain.conversation.made_files import files_of
from executor.domain.conversation.messages import Texts
from executor.domain.run import Run
from executor.domain.situation.wording import about, previous_results
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.text import Text

GOALS, RESULTS, DELIVERED, ERROR = 4_000, 12_000, 8_000, 500
"""Characters of each part."""


def is_of_same_robot(run: Run, other: Run) -> bool:
    return (run.execution.team_id, run.execution.member_id) == (other.execution.team_id, other.execution.member_id)


def texts_of(run: Run) -> list[Text]:
    """The texts kept by reference that `in_short` needs."""
    execution = run.execution
    outputs = [result.output for result in execution.results if result.status == "completed"]
    body = execution.content.body if execution.content else None
    return [text for text in (*outputs, body) if text is not None and text.ref is not None]


def in_short(run: Run, texts: Texts) -> str:
    """`run` in markdown; without the results that the delivery repeats word for word."""
    return "\n\n".join(f"## {title}\n{text}" for title, text in _parts(run, texts) if text.strip())


def _parts(run: Run, texts: Texts) -> Iterator[tuple[str, str]]:
    execution = run.execution
    yield "Asked", f"{about(execution.trigger)} ({execution.status})"
    yield "Goals", excerpt(execution.goals.content, GOALS) if execution.goals else ""
    yield "Results", excerpt(previous_results(run, texts), RESULTS)
    made = [f"- {file.name}: {file.file}" for result in execution.results for file in files_of(result)]
    yield "Files", "\n".join(made[:20])
    if content := execution.content:
        body = texts[content.body.ref.name] if content.body.ref else content.body.inline or ""
        repeated = body in [result.output.inline for result in execution.results if result.output]
        yield "Delivered", content.summary if repeated else f"{content.summary}\n\n{excerpt(body, DELIVERED)}"
    yield "Ended with", excerpt(execution.error or execution.skipped or "", ERROR)
