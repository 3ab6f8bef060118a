"""The forms of documents in the executor's database."""

from executor.adapters.mongo_run_documents import read
from rota_common.stores.stored_forms import StoredForm

STORED_FORMS = {"executions": StoredForm(read, {"run": {"$exists": True}, "segments": {"$exists": False}})}
"""A long execution is in segments of its own, and its parts are of the same forms."""
