"""Triggers within MongoDB documents. Their input, which others wrote, is JSON text: BSON has no integers over 64 bits
and no keys with a zero byte, and its depth is limited."""

import json

from rota_common.stores.mongo import Document
from rota_common.stores.stored_forms import OlderForm, as_object
from rota_contracts.messages.trigger import TriggerInput, TriggerReceivedV1


def trigger_document(dumped: Document) -> Document:
    """A trigger as it is stored, of its JSON form."""
    return dumped | {"input": json.dumps(dumped["input"])}


def trigger_fields(document: Document) -> Document:
    """The JSON form of a stored trigger; one that was stored before as an object is read as well."""
    stored = document.get("input")
    return document | {"input": json.loads(stored)} if isinstance(stored, str) else document


def input_as_object(trigger: str) -> OlderForm:
    """The older form of documents that hold a trigger in the field `trigger`."""
    return as_object("with their trigger's input as an object", f"{trigger}.input")


def stored_trigger(document: Document) -> TriggerReceivedV1:
    return TriggerReceivedV1.model_validate(trigger_fields(document))


def stored_input(given: TriggerInput) -> str:
    """The text of an input, as `trigger_document` stores it."""
    return json.dumps(given.model_dump(mode="json"))
