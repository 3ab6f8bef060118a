"""The forms of documents in the executor's database."""

from executor.adapters.mongo_run_documents import read, with_robot_as_text
from rota_common.stores.stored_forms import OlderForm, StoredForm
from rota_common.stores.trigger_documents import input_as_object

ROBOT = "run.robot"
ROBOT_AS_OBJECT = OlderForm("with their robot as an object", {ROBOT: {"$type": "object"}}, (ROBOT,), with_robot_as_text)

DATABASE = "executor"
STORED_FORMS = {
    "executions": StoredForm(
        read,
        {"run": {"$exists": True}, "segments": {"$exists": False}},
        [ROBOT_AS_OBJECT, input_as_object("run.execution.trigger")],
    )
}
"""A long execution is in segments of its own, and its parts are of the same forms."""
