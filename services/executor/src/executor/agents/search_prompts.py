"""The questions to the agents of a search: each is one call, with its form, and the same whenever it is repeated."""

from collections.abc import Sequence

from executor.agents.sections import given, schemas
from executor.agents.sections.forms import form
from executor.domain.planning import plain_request
from executor.domain.run import Run
from executor.domain.search.pipeline import RESULT_LIMIT, Result, Stage
from executor.domain.steps import RunTurn
from rota_common.material import Frame, frame_of, joined, tagged
from rota_contracts.ids import derived_id
from rota_contracts.messages.agent import CallAgent
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.trigger import Message

STAGE_TIMEOUT_S = 60.0

WISHES: dict[Stage, str] = {
    "needsearch": "Must something be searched for before this is done?",
    "keyword": "Make the keywords to search for.",
    "querydsl": "Make the query for knowledge.",
    "rerank": "Put the results that help with this in order, and leave out those that don't.",
}
"""The instruction of each stage."""


def stage_call(
    run: Run,
    step: RunTurn,
    stage: Stage,
    agent_id: str,
    *,
    words: str = "",
    collections: Sequence[str] = (),
    results: Sequence[Result] = (),
) -> CallAgent:
    """The call of a stage's agent. `words`: the keywords. `collections`: the team's that the robot may search.
    `results`: what was found, to be put in order."""
    frame = frame_of(run.id, "search", step.step_id, stage)
    content = joined(
        frame.preamble,
        given.asked(run, frame),
        given.said(run),
        "" if plain_request.is_request(run, step.task) else given.task(step.task),
        frame.material("keywords", words),
        tagged("collections", "\n".join(collections)),
        _listed(results, frame),
        form(stage),
        WISHES[stage],
    )
    return CallAgent(
        call_id=derived_id("search", step.step_id, stage),
        team_id=run.execution.team_id,
        member_id=run.execution.member_id,
        execution_id=run.id,
        assistant_id=agent_id,
        messages=[Message(role="user", content=content)],
        timeout=STAGE_TIMEOUT_S,
        metadata={"source": stage},
        form=dict(schemas.schema(stage) or {}),
    )


def _listed(results: Sequence[Result], frame: Frame) -> str:
    shown = [f"{number}. {excerpt(each.text, RESULT_LIMIT)}" for number, each in enumerate(results, start=1)]
    return frame.material("results", "\n\n".join(shown))
