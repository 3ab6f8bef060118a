"""The forms of documents in the gateway's database."""

from rota_common.stores.stored_forms import StoredForm
from trigger_gateway.adapters.mongo_robots import record_of

STORED_FORMS = {"robots": StoredForm(record_of)}
