"""Validation of a task's result: rules first, then a semantic check. The verdict decides how the task goes on."""

from enum import StrEnum

from pydantic import Field

from rota_contracts.messages.text import Text
from rota_contracts.messages.usage import ModelCall
from rota_contracts.model import Json, Name, Part, Payload

THRESHOLD = 0.6
"""The lowest score that passes."""


class AssertionType(StrEnum):
    """The built-in types."""

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
        description=f"{', '.join(AssertionType)}; or a type that was added to the validator (any other fails the task)",
        examples=list(AssertionType),
    )
    value: Json = Field(default=None, description="what is expected; what it means is up to the type")
    path: str | None = Field(default=None, description="json_path, and any type that checks a part: data.items[0].id")
    script: str | None = Field(default=None, description="script: its name")
    use: str | None = Field(default=None, description="agent: its id")
    message: str | None = Field(default=None, description="replaces the standard text of a failure")
    negate: bool = Field(default=False, description="true: it passes if the check fails")


ValidationRule = Assertion | str
"""An assertion, or a sentence that only a model can judge."""


class ValidationResult(Part):
    """The verdict on one result of one task."""

    passed: bool
    score: float = Field(ge=0, le=1)
    issues: list[str] = []
    suggestions: list[str] = []
    details: str = Field(default="", description="report in markdown")
    complete: bool = Field(default=False, description="the expected result is present")
    need_reply: bool = False
    reply_content: str = ""


class Conversation(Part):
    """The position of an output in the conversation with an assistant."""

    turn: int = Field(default=1, ge=1)
    max_turns: int = Field(default=1, ge=1, description="1: a single call, as of MCP tools and processes")

    @property
    def goes_on(self) -> bool:
        """True if a further turn is possible."""
        return self.turn < self.max_turns


class CheckRules(Part):
    """Request to the validator: check an output against rules."""

    rules: list[ValidationRule]
    output: Text
    conversation: Conversation = Conversation()
    team_id: Name | None = Field(default=None, description="needed by agent assertions")
    member_id: Name | None = None
    execution_id: str | None = None
    check_id: str | None = Field(default=None, description="idempotency key of the check")


class RulesReply(Part):
    """The verdict of the rules; `open_rules` are those that need the semantic check."""

    verdict: ValidationResult
    open_rules: list[str] = Field(default=[], description="sentences, and `agent` assertions as JSON")


class ValidationRequestedV1(Payload):
    """Published when a result has passed its rules and needs the semantic check."""

    validation_id: str
    execution_id: str
    task_id: str
    description: str
    expected_output: str = ""
    rules: list[str] = Field(default=[], description="the open rules: sentences, and `agent` assertions as JSON")
    output: Text
    agent: str = "rota.validation"
    threshold: float = Field(default=THRESHOLD, ge=0, le=1)
    conversation: Conversation = Conversation()
    rules_verdict: ValidationResult | None = Field(default=None, description="the verdict of the rules, to be merged")
    asked: str = Field(default="", description="the person's own words that started the run: they decide")
    said: str = Field(default="", description="what people have said in the run since")
    given: dict[str, str] = Field(default={}, description="material of the task by name: event, results, knowledge")
    now: str = Field(default="", description="the date, the time and the zone of the run, in words")


class ValidationCompletedV1(Payload):
    """Published when the semantic check has ended. With `error` there is no verdict, and the task fails."""

    validation_id: str
    execution_id: str
    task_id: str
    verdict: ValidationResult
    error: str | None = None
    calls: list[ModelCall] = Field(default=[], description="what the judges' calls of models took")
