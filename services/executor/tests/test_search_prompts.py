"""The words of a search: to its agents, each with its form, and to the assistant that is shown what was found."""

import re
from typing import Any, get_args

import pytest
from services.executor.tests.fixtures import new_run, with_tasks
from services.executor.tests.prompt_kinds import AGENTS, ROBOT, run_at_task, run_of_a_plain

from executor.agents.prompts import for_task, system
from executor.agents.search_prompts import stage_call
from executor.domain import lifecycle
from executor.domain.run import Run
from executor.domain.search.pipeline import Result, Stage, as_text
from executor.domain.search.searched import Searched
from executor.domain.steps import RunTurn
from rota_common.testing.samples import NOON
from rota_contracts.messages.agent import CallAgent
from rota_contracts.messages.text import Text

FOUND = [Result("prices/p1", "Globex: 9 euros"), Result("https://globex.example/", "Globex grows")]
GIVEN: dict[str, dict[str, Any]] = {
    "querydsl": {"words": "Globex price", "collections": ["prices"]},
    "rerank": {"results": FOUND},
}
ASKED = (
    "<request> Look at Globex </request>",
    "Leave Initech out.",
    "<task> Write the offer </task>",
    "one JSON",
)
WORDS: dict[Stage, tuple[str, ...]] = {
    "needsearch": (
        "- search: boolean, required.",
        "- reason: string, one sentence, optional.",
        "Must something be searched for before this is done?",
    ),
    "keyword": ("- keywords: array of 1 to 8 strings", "Make the keywords to search for."),
    "querydsl": (
        'name="keywords"> Globex price </material-',
        "<collections> prices </collections>",
        "- query: string, required, 1 to 500 characters.",
        "- collections: array of strings, optional.",
        "- limit: integer, 1 to 20, optional.",
        "- min_score: number, 0 to 1, optional.",
        "Make the query for knowledge.",
    ),
    "rerank": (
        'name="results"> 1. Globex: 9 euros 2. Globex grows </material-',
        "- order: array of integers, required.",
        "Put the results that help with this in order",
    ),
}
PURPOSES = {
    "needsearch": "Before a task is done, say whether something must be searched for",
    "keyword": "Make the keywords of a search for what a task needs",
    "querydsl": "Make the query for a search of the robot's own knowledge and the team's",
    "title": "Give the conversation a title",
}


def call_of(stage: Stage, run: Run | None = None) -> CallAgent:
    run = run or run_at_task()
    step = lifecycle.next_step(run)
    assert isinstance(step, RunTurn)
    return stage_call(run, step, stage, f"rota.{stage}", **GIVEN.get(stage, {}))


def words_of(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("stage", get_args(Stage))
def test_each_stage_is_asked_with_what_it_needs_and_its_form(stage: Stage) -> None:  # CL-19
    call = call_of(stage)
    text = words_of(call.messages[0].text())
    assert [words for words in (*ASKED, *WORDS[stage]) if words not in text] == []
    assert text.startswith("Text between <material-"), "what is foreign is material"
    assert text.endswith(WORDS[stage][-1] if stage != "rerank" else "leave out those that don't.")
    said = re.findall(r"^- (\w+): ", call.messages[0].text(), re.MULTILINE)
    properties: Any = (call.form or {})["properties"]
    assert [*properties] == said


def test_a_plain_request_stands_in_the_question_once() -> None:
    assert call_of("keyword", run_of_a_plain("human")).messages[0].text().count("Look at Globex") == 1


def test_the_agents_of_a_search_and_of_titles_know_what_they_are_for() -> None:  # CL-21
    for name, purpose in PURPOSES.items():
        agent = AGENTS.of("acme").find(f"rota.{name}")
        assert agent is not None
        text = words_of(system(agent, agent.id, ROBOT, locale="de-DE").text())
        assert purpose in text
        assert text.startswith("You work for Sales Manager.")


def test_what_was_found_is_material_for_the_task_alone() -> None:  # CL-19
    run = run_at_task()
    (task, *_) = run.execution.tasks or []
    run = lifecycle.apply(run, Searched(task.id, Text(inline=as_text(FOUND))), now=NOON)
    agent = AGENTS.of("acme").assistant("experts.writer")
    shown = words_of(for_task(run, task, agent, {})[-1].text())
    assert re.search(
        r'<material-(\w+) name="found by search"> \[1\] source: prices/p1 Globex: 9 euros \[2\] source: '
        r"https://globex.example/ Globex grows </material-\1>",
        shown,
    )
    other = with_tasks(task.model_copy(update={"id": "other"}), robot=ROBOT, run=new_run("human", robot=ROBOT))
    other = other.model_copy(update={"found": run.found})
    assert "found by search" not in for_task(other, (other.execution.tasks or [])[0], agent, {})[-1].text()
