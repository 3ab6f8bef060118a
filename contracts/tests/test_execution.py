"""The parts of an execution whose fields depend on each other."""

from typing import Any

import pytest
from pydantic import ValidationError

from rota_contracts.messages.execution import ExecStatus, Task, excerpt
from rota_contracts.messages.text import BlobRef, Text
from rota_contracts.messages.trigger import Message

MCP = {
    "id": "task-1",
    "executor_type": "mcp",
    "executor_id": "ark.image.text2img.generate",
    "mcp_server": "ark.image.text2img",
    "mcp_tool": "generate",
}


# EX-19
def test_a_task_of_mcp_names_server_and_tool() -> None:
    assert Task.model_validate(MCP).mcp_tool == "generate"


# EX-19
@pytest.mark.parametrize("missing", ["mcp_server", "mcp_tool"])
def test_a_task_of_mcp_without_server_or_tool_is_refused(missing: str) -> None:
    with pytest.raises(ValidationError, match="needs mcp_server and mcp_tool besides executor_id"):
        Task.model_validate({key: value for key, value in MCP.items() if key != missing})


# EX-19
def test_a_task_of_mcp_whose_names_disagree_is_refused_with_the_expected_one() -> None:
    with pytest.raises(ValidationError, match=r"expected executor_id ark\.image\.text2img\.generate, not generate"):
        Task.model_validate({**MCP, "executor_id": "generate"})


# EX-16
def test_a_task_of_an_assistant_needs_no_server() -> None:
    assert Task.model_validate({"id": "task-1", "executor_id": "experts.text-writer"}).mcp_server is None


# EX-06, DEC-30
def test_a_waiting_or_paused_execution_is_not_over() -> None:
    assert {status for status in ExecStatus if status.over} == {"completed", "failed", "cancelled"}


@pytest.mark.parametrize(
    "fields", [{}, {"inline": "x", "ref": BlobRef(bucket="outputs", name="n", size=1, sha256="s")}]
)
def test_a_text_is_either_inline_or_elsewhere(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="exactly one of inline and ref"):
        Text(**fields)


def test_an_empty_text_is_a_text() -> None:
    assert Text(inline="").inline == ""


# TG-08
def test_the_text_of_a_message_with_an_image_is_its_textual_parts() -> None:
    parts = [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {}},
        {"type": "text", "text": "well?"},
    ]
    assert Message.model_validate({"content": parts}).text() == "Look:\nwell?"


@pytest.mark.parametrize(("value", "expected"), [("abcdef", "ab…"), ("abc", "abc"), (1234, "12…")])
def test_an_excerpt_is_never_longer_than_its_limit(value: Any, expected: str) -> None:
    assert excerpt(value, limit=3) == expected
