"""Checking a task's result: rules first, then meaning (VA-01). The verdict decides what happens to the task."""

from enum import StrEnum

from pydantic import Field

from rota_contracts.messages.text import Text
from rota_contracts.model import Json, Name, Part, Payload

THRESHOLD = 0.6
"""The lowest score that passes (VA-11)."""


class AssertionType(StrEnum):
    """The types every validator knows."""

    EQUALS = "equals"
    CONTAINS = "contains"
    NOT_CONTAINS = "not_contains"
    JSON_PATH = "json_path"
    REGEX = "regex"
    TYPE = "type"
    SCRIPT = "script"
    AGENT = "agent"


class Assertion(Part):
    """One check of an output, for example `{"type": "json_path", "path": "data.count", "value": 10}`."""

    type: str = Field(
        description=f"{', '.join(AssertionType)}; or a name that the validator was taught (any other fails its task)",
        examples=list(AssertionType),
    )
    value: Json = None
    path: str | None = Field(default=None, description="json_path, and any type that looks at a part: data.items[0].id")
    script: str | None = Field(default=None, description="script: its name")
    use: str | None = Field(default=None, description="agent: which one checks")
    message: str | None = Field(default=None, description="said instead of the standard text when it fails")
    negate: bool = False


ValidationRule = Assertion | str
"""A rule is an assertion, or a sentence that only a model can judge."""


class ValidationResult(Part):
    """VA-11: the verdict over one result of one task."""

    passed: bool
    score: float = Field(ge=0, le=1)
    issues: list[str] = []
    suggestions: list[str] = []
    details: str = Field(default="", description="report in markdown")
    complete: bool = Field(default=False, description="the expected result is there")
    need_reply: bool = False
    reply_content: str = ""


class Conversation(Part):
    """Where in the talk with an assistant an output stands (VA-12). Without `turns` there is nobody to reply to."""

    turn: int = Field(default=1, ge=1)
    max_turns: int = Field(default=1, ge=1, description="1: a single call, as of MCP tools and processes (VA-14)")

    @property
    def goes_on(self) -> bool:
        """May there be a further turn?"""
        return self.turn < self.max_turns


class CheckRules(Part):
    """Question to the validator: do the rules hold for this output?"""

    rules: list[ValidationRule]
    output: Text
    conversation: Conversation = Conversation()
    team_id: Name | None = Field(default=None, description="whose robot it is; needed by agent assertions")
    member_id: Name | None = None
    execution_id: str | None = None
    check_id: str | None = Field(default=None, description="the same each time this very check is asked for")


class RulesReply(Part):
    """`open_rules` are those that only the semantic layer can judge."""

    verdict: ValidationResult
    open_rules: list[str] = Field(default=[], description="sentences, and `agent` assertions as JSON")


class ValidationRequestedV1(Payload):
    """A result that kept its rules wants the second, semantic look."""

    validation_id: str
    execution_id: str
    task_id: str
    description: str
    expected_output: str = ""
    rules: list[str] = Field(default=[], description="the open ones: sentences, and `agent` assertions as JSON")
    output: Text
    agent: str = "rota.validation"
    threshold: float = Field(default=THRESHOLD, ge=0, le=1)
    conversation: Conversation = Conversation()
    rules_verdict: ValidationResult | None = Field(default=None, description="of the first layer, to be merged")


class ValidationCompletedV1(Payload):
    """The semantic verdict. With `error`, no verdict could be had, and the task fails with that reason."""

    validation_id: str
    execution_id: str
    task_id: str
    verdict: ValidationResult
    error: str | None = None
