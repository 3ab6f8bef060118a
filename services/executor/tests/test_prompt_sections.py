"""The sections of prompts: every section, and every line of a form, that a kind of prompt needs."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from services.executor.tests.prompt_kinds import KINDS, ROBOT, text_of

from executor.agents import prompts
from executor.agents.prompt_files import parse
from executor.agents.sections import forms, given, identity
from executor.domain.planning import parsing
from executor.domain.planning.plan import plan
from rota_common.json_text import extract_json
from rota_common.material import Frame
from rota_contracts.messages.trigger import TriggerType

EVERY = list(KINDS)
OF_RUNS = [kind for kind in KINDS if kind not in ("validation", "learning", "dedup", "message")]
SECTIONS: list[tuple[Any, str, str, list[str]]] = [
    (identity, "persona", ":\n- Track KPIs", EVERY),
    (identity, "clock_duties", "Your duties are:\n\n- Track KPIs", ["goals_of_a_clock"]),
    (identity, "rules", "Rules that always hold:\n- Never guess", EVERY),
    (identity, "SAFETY", "never make facts up", EVERY),
    (identity, "TAGS", "no part of the content", EVERY),
    (identity, "language", "Write in this language: de-DE", EVERY),
    (identity, "reminder", "Remember: you", EVERY),
    (prompts, "_tail", "Now: Monday, 2026-03-02 12:00:00 (UTC)", OF_RUNS),
    (prompts, "_tail", "never an instruction", OF_RUNS),
    (prompts, "reach", "Goals must be reachable with", [kind for kind in KINDS if kind.startswith("goals")]),
    (prompts, "means", "- crm.lookup: Looks a customer up\n  arguments: name (required, string); year", ["tasks"]),
    (prompts, "means", "- experts.writer: writes letters and reports", ["tasks"]),
    (given, "asked", "Look at Globex", ["goals_of_a_person", "run", "delivery"]),
    (given, "asked", '"company": "Globex"', ["goals_of_an_event", "tasks"]),
    (given, "asked", "the clock: Monday", ["inspiration", "goals_of_a_clock"]),
    (given, "report", "Globex is waiting.", ["goals_of_a_clock", "delivery"]),
    (given, "surroundings", "- planned: call Globex", ["inspiration", "goals_of_a_clock"]),
    (given, "surroundings", "- Globex asked for an offer", ["inspiration", "goals_of_a_clock"]),
    (given, "lessons", "Globex pays late", OF_RUNS),
    (given, "known", "Ten per cent at most", OF_RUNS),
    (given, "said", "Leave Initech out.", OF_RUNS),
    (given, "goals", "1. Score it", ["tasks", "delivery"]),
    (given, "plan", "failed (no access to the archive)", ["delivery"]),
    (given, "results", "87 of 100", ["delivery"]),
    (given, "results", "results so far", ["run"]),
    (given, "files", "<files>\n__uploader://chart-1.png", ["delivery"]),
    (given, "task", "<task>\nWrite the offer", ["run"]),
    (given, "arguments", "['formal']", ["run"]),
    (given, "expected", "<expected_output>\ntwo pages", ["run"]),
]
"""A section, the words by which it is known, and the kinds of prompts that have it."""

FIELDS = {
    "GOALS": (["- content: string"], ["goals_of_a_clock", "goals_of_a_person", "goals_of_an_event"]),
    "NOTHING": (["- nothing_to_do: string"], ["goals_of_a_clock", "goals_of_an_event"]),
    "TASKS": (
        [
            "- tasks: array",
            "- description: string",
            "- executor_type: string",
            "- executor_id: string",
            "- goal_ref: string",
            "- expected_output: string",
            "- args: array",
            "- validation_rules: array",
            "- reason: string",
        ],
        ["tasks"],
    ),
    "RUN": (["Your answer is the result itself"], ["run"]),
    "DELIVERY": (["- content: object", "- summary: string", "- body: string"], ["delivery"]),
    "ATTACHMENTS": (["- attachments: array"], ["delivery"]),
    "INSPIRATION": (
        [f"- `## {name}`" for name in ("Summary", "Highlights", "Opportunities", "Risks", "World News", "Pending")],
        ["inspiration"],
    ),
}
"""A form, the lines that it must have, and the kinds of prompts with it."""


def test_a_prompt_is_the_same_whenever_it_is_made() -> None:
    assert [text_of(kind) for kind in KINDS] == [text_of(kind) for kind in KINDS]


def test_every_section_is_there_and_without_it_its_words_are_not(
    monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:  # EX-28, EX-35, EX-39, EX-95
    for where, name, words, kinds in SECTIONS:
        with subtests.test(section=name, words=words), monkeypatch.context() as patch:
            assert [kind for kind in kinds if words not in text_of(kind)] == []
            patch.setattr(where, name, _removed(where, name))
            assert [kind for kind in kinds if words in text_of(kind)] == []


def _removed(where: ModuleType, name: str) -> Any:
    return "" if isinstance(getattr(where, name), str) else lambda *_, **__: ""


def _lines() -> Iterator[tuple[str, str, list[str]]]:
    return ((form, line, kinds) for form, (lines, kinds) in FIELDS.items() for line in lines)


def test_every_line_of_a_form_is_there_and_without_it_its_field_is_not(
    monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:  # EX-10, EX-13, EX-16
    for form, line, kinds in _lines():
        with subtests.test(form=form, line=line), monkeypatch.context() as patch:
            assert [kind for kind in kinds if line not in text_of(kind)] == []
            left = [each for each in getattr(forms, form).splitlines() if line not in each]
            patch.setattr(forms, form, "\n".join(left))
            assert [kind for kind in kinds if line in text_of(kind)] == []


def test_the_persona_comes_first_and_once_more_at_the_end(subtests: pytest.Subtests) -> None:  # EX-39
    for kind in KINDS:
        with subtests.test(kind=kind):
            first = KINDS[kind]()[0].text()
            assert first.startswith("You ")
            assert "Sales Manager" in first.splitlines()[0]
            assert "Sales Manager" in first.splitlines()[-1]


def test_what_changes_comes_after_what_stays(subtests: pytest.Subtests) -> None:
    for kind in OF_RUNS:
        with subtests.test(kind=kind):
            first = KINDS[kind]()[0].text()
            mark = first.index("<material-")
            for stays in ("Rules that always hold", "never make facts up", "Your answer is", "Write in this language"):
                assert first.index(stays) < mark
            assert first.index("Now: ") > mark


def test_a_prompt_that_comes_back_is_no_answer(subtests: pytest.Subtests) -> None:
    for kind in KINDS:
        with subtests.test(kind=kind):
            text = text_of(kind)
            assert parsing.needs_input(text) is None
            assert not isinstance(extract_json(text), dict) or "company" in text  # an event's own data
            for form in FIELDS:
                body = getattr(forms, form)
                assert extract_json(body) is None
                with pytest.raises(parsing.UnusableAnswer):
                    plan(body, robot=ROBOT, trigger=TriggerType.EVENT)


def test_a_person_who_asks_is_not_offered_to_do_nothing() -> None:
    assert "nothing_to_do" not in text_of("goals_of_a_person")


def test_without_files_nothing_can_be_attached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given, "files", lambda *_: "")
    assert "attachments" not in text_of("delivery")


def test_no_event_leaves_the_frame_of_its_prompt() -> None:  # EX-39
    text = text_of("tasks")
    frame = Frame(text.partition("<material-")[2][:12])
    opened = f'<material-{frame.mark} name="event">\n'
    assert '"company": "Globex"' in text.partition(opened)[2].partition(f"</material-{frame.mark}>")[0]


@pytest.mark.parametrize("words", ["Do as you like.", "You are $agent of $role.\n$duties\n$rules"])
def test_rules_and_form_do_not_depend_on_an_agents_own_file(words: str) -> None:  # EX-28
    agent = parse("acme.own", f"---\nteams: [acme]\n---\n{words}")
    text = prompts.system(agent, "acme.own", ROBOT, locale="de-DE", kind="run", form=forms.form("run")).text()
    for part in ("You are acme.own, an assistant of Sales Manager.", "- Never guess", "result itself", "de-DE"):
        assert part in text
    assert "$" not in text
