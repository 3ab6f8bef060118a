"""The kinds of failure that a handler raises; `rota_common.bus.failure_policy` decides about them."""


class Transient(Exception):
    """It may work later: the message is redelivered. `after` is the delay in seconds that was requested."""

    def __init__(self, reason: str, *, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


class Permanent(Exception):
    """It will never work: the message is buried at once, with this reason."""


class Unreadable(Transient):
    """What is stored can't be read by this version; another one may."""
