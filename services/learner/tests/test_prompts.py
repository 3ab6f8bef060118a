"""The questions to the learning agent and the dedup agent."""

import re
from datetime import timedelta
from typing import Any

from services.learner.tests.harness import NOON, WELL

from learner.history import PastRun
from learner.prompts import dedup_call, learning_call
from rota_contracts.messages.agent import CallAgent
from rota_contracts.messages.learning import CheckGoals, LearningRequestedV1

OWNER = {"team_id": "acme", "member_id": "leads", "execution_id": "e1"}


def _learning() -> CallAgent:
    summary = WELL | {"known": ["Globex pays late"], "now": "Monday, 2026-03-02 12:00:00 (UTC)"}
    return learning_call(LearningRequestedV1.model_validate({**OWNER, "summary": summary}), timeout=60)


def _dedup() -> CallAgent:
    done = PastRun("e0", "acme", "leads", 1, "Score Globex", "a lead", "completed", "91", NOON - timedelta(hours=1))
    given = CheckGoals.model_validate({**OWNER, "goals": "Score it", "window_s": 3600, "asked_at": NOON})
    return dedup_call(given, [done], timeout=60)


def _text(call: CallAgent) -> str:
    return " ".join(call.messages[0].text().split())


def test_lessons_are_asked_for_with_what_is_known_and_only_if_there_are_any() -> None:  # LE-02
    text = _text(_learning())
    wanted = [
        "Now: Monday, 2026-03-02 12:00:00 (UTC)",
        "- Globex pays late",
        "## Goals Score the lead",
        "each lesson a sentence or two that stand by themselves, in the language of the goals",
        "Only what is new: nothing that the lessons say already that the run was given, and nothing that a text",
        "That a task went well, or how such tasks are done in general, is no lesson: a lesson names what is special",
        "special to this work, its people or its tools. No lesson is the usual answer.",
        "Your answer is one JSON object and nothing else: no text around it, no fence.",
        "- lessons: array of at most 10 objects; may be empty. The fields of each object:",
        "- type: string. One of execution (what worked, what failed); feedback (",
        "- content: string, 1 to 500 characters.",
    ]
    assert [words for words in wanted if words not in text] == []


def test_a_decision_on_goals_is_asked_for_with_what_each_answer_means() -> None:
    text = _text(_dedup())
    wanted = [
        "The material holds the goals of a run that is about to begin, what this robot has done lately (`history`,",
        "newest first) and its other runs that aren't over (`under_way`; one without goals has yet to make them",
        "Has it been done already, or is it being done?",
        "Your answer is one JSON object and nothing else: no text around it, no fence. Its fields:",
        "- decision: string, required. One of skip, merge, proceed.",
        "- reason: string, one sentence.",
        "- execution_id: string. With skip and merge",
        "- goals: string, markdown. With merge: the goals that are left.",
        "- into: string. With merge",
        "`skip`: a past run has reached all of these goals",
        "`merge` with `into`: a run under way has these goals or fits them; it is given `goals` too, and the new run",
        "`merge` without `into`: a past run has reached some of them; the new run goes on with `goals` alone.",
        "`proceed`: anything else, and whenever you are in doubt.",
    ]
    assert [words for words in wanted if words not in text] == []


def test_the_schemas_of_both_answers_have_the_fields_of_the_forms() -> None:
    for call in (_learning(), _dedup()):
        said = re.findall(r"^ *- (\w+): (?:string|array)", call.messages[0].text(), re.MULTILINE)
        assert sorted(_names(call.form)) == sorted(said)


def _names(schema: Any) -> list[str]:
    if not isinstance(schema, dict):
        return []
    own = schema.get("properties", {})
    return [*own, *(name for each in (*own.values(), schema.get("items")) for name in _names(each))]
