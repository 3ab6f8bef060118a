"""The forms of documents in the scheduler's database."""

from rota_common.stores.stored_forms import StoredForm
from scheduler.adapters.mongo_clocks import clock_state_of
from scheduler.adapters.mongo_plans import plan_of
from scheduler.adapters.queue_documents import entry_of, stored_trigger_of

STORED_FORMS = {
    "queue": StoredForm(lambda document: (entry_of(document), stored_trigger_of(document)), {"live": True}),
    "clocks": StoredForm(clock_state_of),
    "plans": StoredForm(plan_of),
}
