"""Interventions: the fields that each action needs, and the error for a missing one."""

from typing import Any

import pytest
from pydantic import ValidationError

from rota_contracts.messages.control import Intervene, TaskChange, missing
from rota_contracts.messages.trigger import InterventionAction, Message

IMAGE = [{"type": "image_url", "image_url": {"url": "https://files.example.com/brochure.png"}}]
ENOUGH: list[tuple[str, dict[str, Any]]] = [
    ("task.add", {"messages": ["Check the budget"]}),
    ("task.add", {"messages": [IMAGE]}),
    ("task.add", {"task": {"description": "Check the budget"}}),
    ("task.cancel", {"task": {"id": "task-2"}}),
    ("task.update", {"task": {"id": "task-2", "executor_id": "experts.writer"}}),
    ("task.update", {"task": {"id": "task-2"}, "messages": ["Write it in French"]}),
    ("goal.add", {"messages": ["Also look at Globex"]}),
    ("goal.adjust", {"messages": ["Only enterprise leads"]}),
    ("goal.complete", {"goal": "Goal 2"}),
    ("goal.cancel", {"messages": ["Forget the second goal"]}),
    ("instruct", {"messages": ["Lyon"]}),
]
TOO_LITTLE: list[tuple[str, dict[str, Any], str]] = [
    ("task.add", {}, "task.add needs a message, or task.description"),
    ("task.add", {"messages": [" "], "task": {"id": "task-9"}}, "task.add needs a message, or task.description"),
    ("task.cancel", {"messages": ["the second one"]}, "task.cancel needs task.id"),
    ("task.cancel", {"task": {"description": "the second one"}}, "task.cancel needs task.id"),
    ("task.update", {"messages": ["in French"]}, "task.update needs task.id"),
    ("task.update", {"task": {"id": "task-2"}}, "task.update needs a message, or fields of task"),
    ("goal.add", {}, "goal.add needs a message"),
    ("goal.adjust", {"goal": "Goal 2"}, "goal.adjust needs a message"),
    ("goal.complete", {}, 'goal.complete needs goal (for example "Goal 2"), or a message'),
    ("goal.cancel", {"messages": [""]}, 'goal.cancel needs goal (for example "Goal 2"), or a message'),
    ("instruct", {"messages": [[]]}, "instruct needs a message"),
]


def given(action: str, fields: dict[str, Any]) -> dict[str, Any]:
    messages = [{"content": content} for content in fields.get("messages", [])]
    names = {"intervention_id": "i1", "team_id": "acme", "member_id": "lead-processor", "action": action}
    return names | fields | {"messages": messages}


def lacks(action: str, fields: dict[str, Any]) -> str | None:
    messages = [Message(content=content) for content in fields.get("messages", [])]
    task = TaskChange.model_validate(fields["task"]) if "task" in fields else None
    return missing(InterventionAction(action), messages, task, fields.get("goal"))


# TG-10
@pytest.mark.parametrize(("action", "fields"), ENOUGH)
def test_a_complete_intervention_is_accepted(action: str, fields: dict[str, Any]) -> None:
    assert lacks(action, fields) is None
    assert Intervene.model_validate(given(action, fields)).action == action


# TG-10
@pytest.mark.parametrize(("action", "fields", "words"), TOO_LITTLE)
def test_an_incomplete_intervention_is_refused_with_what_is_missing(
    action: str, fields: dict[str, Any], words: str
) -> None:
    assert (lacks(action, fields) or "").startswith(words)
    with pytest.raises(ValidationError) as refused:
        Intervene.model_validate(given(action, fields))
    assert words in str(refused.value)


# TG-07
def test_every_action_that_changes_a_run_names_what_is_missing() -> None:
    named = {action for action, _, _ in TOO_LITTLE}
    assert named == {str(action) for action in InterventionAction if not action.startswith("plan.")}
