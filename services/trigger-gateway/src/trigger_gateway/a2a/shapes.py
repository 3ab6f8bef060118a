"""Shapes of the protocol, as JSON: the parameters of its methods, and what they answer with. No I/O."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic_core import to_json

from rota_contracts.model import Json

VERSION = "1.0"
ROLE_USER, ROLE_AGENT = "ROLE_USER", "ROLE_AGENT"

Id = Annotated[str, Field(min_length=1, max_length=255)]
Shape = dict[str, Json]


class TaskState(StrEnum):
    """The state of a task."""

    SUBMITTED = "TASK_STATE_SUBMITTED"
    WORKING = "TASK_STATE_WORKING"
    INPUT_REQUIRED = "TASK_STATE_INPUT_REQUIRED"
    COMPLETED = "TASK_STATE_COMPLETED"
    FAILED = "TASK_STATE_FAILED"
    CANCELED = "TASK_STATE_CANCELED"
    REJECTED = "TASK_STATE_REJECTED"


class Params(BaseModel):
    """Parameters, by their names in JSON or in the protocol's own definition. What isn't known is ignored, as the
    protocol wants it."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


class GivenPart(Params):
    text: str | None = None
    data: Json = None

    @property
    def words(self) -> str | None:
        """None for what isn't taken: bytes and addresses of files."""
        if self.text is not None:
            return self.text
        return to_json(self.data).decode() if "data" in self.model_fields_set else None


class GivenMessage(Params):
    message_id: Id
    context_id: str = Field(default="", max_length=200)
    task_id: str = Field(default="", max_length=255)
    role: str = ROLE_USER
    parts: list[GivenPart] = Field(min_length=1, max_length=1000)


class Configuration(Params):
    return_immediately: bool = False
    task_push_notification_config: Any = None


class SendMessage(Params):
    message: GivenMessage
    configuration: Configuration = Configuration()


class NamedTask(Params):
    id: Id


def text_part(text: str) -> Shape:
    return {"text": text, "mediaType": "text/plain"}


def data_part(data: Json) -> Shape:
    return {"data": data, "mediaType": "application/json"}


def agent_message(message_id: str, parts: Sequence[Shape], *, context_id: str = "", task_id: str = "") -> Shape:
    of = {"contextId": context_id, "taskId": task_id}
    given: Mapping[str, Json] = {name: value for name, value in of.items() if value}
    return {"messageId": message_id, **given, "role": ROLE_AGENT, "parts": [*parts]}
