"""The forms of documents in the scheduler's database."""

from rota_common.stores.stored_forms import StoredForm, as_object
from rota_common.stores.trigger_documents import input_as_object
from scheduler.adapters.mongo_clocks import clock_state_of
from scheduler.adapters.mongo_plans import item_text, plan_of
from scheduler.adapters.queue_documents import entry_of, stored_trigger_of

ITEM_AS_OBJECT = as_object("with their item as an object", "item", text=item_text)

DATABASE = "scheduler"
STORED_FORMS = {
    "queue": StoredForm(
        lambda document: (entry_of(document), stored_trigger_of(document)),
        {"live": True},
        [input_as_object("trigger")],
    ),
    "clocks": StoredForm(clock_state_of),
    "plans": StoredForm(plan_of, older=[ITEM_AS_OBJECT]),
}
