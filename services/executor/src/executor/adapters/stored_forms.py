"""The forms of documents in the executor's database."""

from executor.adapters.mongo_run_documents import read
from rota_common.stores.stored_forms import StoredForm, as_object
from rota_common.stores.trigger_documents import input_as_object

DATABASE = "executor"
STORED_FORMS = {
    "executions": StoredForm(
        read,
        {"run": {"$exists": True}, "segments": {"$exists": False}},
        [as_object("with their robot as an object", "run.robot"), input_as_object("run.execution.trigger")],
    )
}
"""A long execution is in segments of its own, and its parts are of the same forms."""
