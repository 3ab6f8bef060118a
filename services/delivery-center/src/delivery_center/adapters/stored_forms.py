"""The forms of documents in the delivery-center's database."""

from delivery_center.adapters.delivery_documents import delivery_of
from rota_common.stores.stored_forms import StoredForm

DATABASE = "delivery"
STORED_FORMS = {"deliveries": StoredForm(delivery_of)}
