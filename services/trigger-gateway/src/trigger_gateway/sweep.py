"""Sweeps over what is stored and not applied yet."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from rota_common.runtime.logs import logger

BATCH = 100
MANY = 1_000
LOG = logger(service="trigger-gateway")

Key = TypeVar("Key")


@dataclass(frozen=True, kw_only=True)
class Sweep(Generic[Key]):
    """What fails is passed over, and tried again once all others were. `failing`: what the log says of it; `check`
    raises when nothing can work now, which is no item's fault, so that none is passed over."""

    failing: str
    check: Callable[[], None]
    failed: set[Key] = field(default_factory=set, init=False)

    async def __call__(self, found: Mapping[Key, Callable[[], Awaitable[object]]]) -> bool:
        """One batch, without what has failed; True if there may be more."""
        for key, work in found.items():
            try:
                await work()
            except Exception as error:
                self.check()
                self.failed.add(key)
                LOG.warning(self.failing, of=key, reason=repr(error))
        if not found or len(self.failed) > MANY:
            self.failed.clear()
        return bool(found)
