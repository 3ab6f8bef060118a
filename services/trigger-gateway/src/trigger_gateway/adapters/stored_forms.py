"""The forms of documents in the gateway's database."""

from rota_common.stores.stored_forms import OlderForm, StoredForm
from trigger_gateway.adapters.mongo_robots import FIRST_FORM, record_of, second_form

NO_DATABASES = OlderForm("without their databases", FIRST_FORM, ("robot",), second_form)

DATABASE = "gateway"
STORED_FORMS = {"robots": StoredForm(record_of, older=[NO_DATABASES])}
