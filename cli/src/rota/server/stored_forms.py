"""The forms of stored documents of all services, by the database that they lie in (behind the prefix)."""

from collections.abc import Mapping

from delivery_center.adapters import stored_forms as of_delivery
from executor.adapters import stored_forms as of_executor
from rota_common.stores.stored_forms import StoredForm
from scheduler.adapters import stored_forms as of_scheduler
from trigger_gateway.adapters import stored_forms as of_gateway

DATABASES: Mapping[str, Mapping[str, StoredForm]] = {
    each.DATABASE: each.STORED_FORMS for each in (of_gateway, of_scheduler, of_executor, of_delivery)
}
