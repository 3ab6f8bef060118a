"""The decision trail: all that happened to a run, in order, as it was said: enough to run it again (F24)."""

from rota_contracts.messages.text import Text
from rota_contracts.model import Instant, Json, Part


class Entry(Part):
    """One change of a run. `kind`: an outcome's name, or what else changes a run: word, parked, granted, taken over,
    expired, finished.

    A model's answer is kept as it came (`said`, with the `tools` that it could call), so that a replay understands it
    anew; everything else as `data`. `began`: when the step began. `retry_after` in seconds.
    """

    at: Instant
    step: str
    kind: str
    began: Instant | None = None
    said: Text | None = None
    tools: list[Json] = []
    data: Json = None
    retry_after: float = 0.0
