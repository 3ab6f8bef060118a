"""JSON Schemas (draft 2020-12) of all messages and of robots' definitions, made from the models."""

from typing import Any

from pydantic import AliasChoices, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from rota_contracts.catalog import CHANNELS, QUESTIONS, ROOT
from rota_contracts.model import Part
from rota_contracts.robots.preferences import EmailTarget, NotifyTarget, ProcessTarget, WebhookTarget
from rota_contracts.robots.robot import RobotDefinition

Schema = dict[str, Any]

ROBOT_SCHEMA = "robot.json"
RPC = "rpc/"

TARGETS: dict[str, type[Part]] = {
    "email": EmailTarget,
    "webhook": WebhookTarget,
    "process": ProcessTarget,
    "notify": NotifyTarget,
}


class PlainSchema(GenerateJsonSchema):
    """Without a title for each field, as it would only repeat the field's name."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def schemas() -> dict[str, Schema]:
    """File name (relative to the schemas' folder) → schema."""
    made = {channel.schema: schema_of(channel.payload, channel.type) for channel in CHANNELS.values()}
    for question in QUESTIONS.values():
        for side, model in (("request", question.request), ("answer", question.answer)):
            made[f"{RPC}{question.name}.{side}.json"] = schema_of(model, f"{ROOT}.rpc.{question.name}.{side}")
    made[ROBOT_SCHEMA] = robot_schema()
    return made


def schema_of(model: type[Part], name: str) -> Schema:
    """The schema that a reader of `model` accepts: fields with a default may be missing, unknown fields are ignored."""
    schema = model.model_json_schema(schema_generator=PlainSchema)
    return {"$schema": PlainSchema.schema_dialect, "$id": f"urn:rota:schema:{name}", **schema}


def robot_schema() -> Schema:
    """The schema of `parse_definition`, for editors: closed objects, and every accepted spelling."""
    schema = schema_of(RobotDefinition, f"{ROOT}.robot-definition")
    definitions = schema["$defs"]
    for model in TARGETS.values():
        _accept_aliases(definitions[model.__name__], model)
    definitions["DeliveryPreferences"] = _with_short_form(definitions["DeliveryPreferences"])
    _close(schema)
    return schema


def _accept_aliases(schema: Schema, model: type[Part]) -> None:
    """Add the other spellings of fields: pydantic's schema has the first alone."""
    for field in model.model_fields.values():
        if not isinstance(field.validation_alias, AliasChoices):
            continue
        first, *others = (str(choice) for choice in field.validation_alias.choices)
        for other in others:
            schema["properties"][other] = schema["properties"][first] | {"description": f"same as {first}"}
        if field.is_required():
            schema["required"] = [name for name in schema["required"] if name != first]
            schema["anyOf"] = [{"required": [name]} for name in (first, *others)]


def _with_short_form(preferences: Schema) -> Schema:
    """`{type, opts}` beside `{preferences}`; `opts` is one target of that type."""
    short_forms = [_short_form(kind, target) for kind, target in TARGETS.items()]
    return {"description": preferences.pop("description"), "anyOf": [preferences, *short_forms]}


def _short_form(kind: str, target: type[Part]) -> Schema:
    needs_opts = not _is_whole(target)
    return {
        "type": "object",
        "properties": {"type": {"const": kind}, "opts": {"$ref": f"#/$defs/{target.__name__}"}},
        "required": ["type", "opts"] if needs_opts else ["type"],
    }


def _is_whole(target: type[Part]) -> bool:
    """Is a target without any options one that can be sent to?"""
    try:
        target()
    except ValidationError:
        return False
    return True


def _close(schema: Any) -> None:
    """Forbid unknown fields wherever fields are named, as they are most likely typing errors."""
    if isinstance(schema, list):
        for part in schema:
            _close(part)
    elif isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
            schema.setdefault("additionalProperties", False)
        for part in schema.values():
            _close(part)
