"""The two kinds of failure a handler can name. What becomes of them is decided in `rota_common.bus.failure_policy`."""


class Transient(Exception):
    """It may work later: the message comes back. `after` is the delay in seconds the failing side asked for."""

    def __init__(self, reason: str, *, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


class Permanent(Exception):
    """It will never work: the message goes to the dead letters at once, with this reason."""
