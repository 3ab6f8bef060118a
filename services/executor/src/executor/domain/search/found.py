"""The results of a search, as a run keeps them."""

from rota_contracts.messages.text import Text
from rota_contracts.model import Part


class Found(Part):
    """The results of the search before a task, as its assistant is shown them; `text` None: there are none."""

    task_id: str
    text: Text | None = None
