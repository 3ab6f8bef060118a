"""A supervised loop: started again whenever it ends, and a problem of its service while it keeps failing."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from time import monotonic

from rota_common.retries import backoff
from rota_common.runtime import metrics
from rota_common.runtime.logs import logger
from rota_common.to_the_end import to_the_end

PAUSE_S, LONGEST_PAUSE_S = 1.0, 5.0
RELEASE_S = 3.0
"""The time that a release takes of a stop, at most."""

FAILING = 3
"""Failures in a row that make a service not ready."""

STEADY_S = 30.0
"""A loop that has run for so long without a failure works."""


@dataclass(kw_only=True)
class SupervisedLoop:
    """`run` is the loop; it isn't started again once `is_over`. It may call `worked` after each piece of its work.
    `release` gives up what the loop holds, a lease, each time that it ends, also when it is cancelled."""

    name: str
    service: str
    run: Callable[[], Awaitable[None]]
    outages: tuple[type[Exception], ...]
    random: Random
    is_over: Callable[[], bool] = lambda: False
    release: Callable[[], Awaitable[None]] | None = None
    _failures: int = field(default=0, init=False)
    _reason: str = field(default="", init=False)
    _running_since: float | None = field(default=None, init=False)

    async def __call__(self) -> None:
        """Run for ever, with a growing pause after failures and a short one after a clean end."""
        log = logger(service=self.service)
        while not self.is_over():
            try:
                self._running_since = monotonic()
                await self._run_and_release()
                self.worked()
            except self.outages as error:
                self._failed(error)
                log.warning("loop waits", loop=self.name, reason=repr(error))
            except Exception as error:
                self._failed(error)
                log.exception("loop failed", loop=self.name)
            if not self.is_over():
                pause = backoff(max(self._failures, 1), random=self.random, base=PAUSE_S, cap=LONGEST_PAUSE_S)
                await asyncio.sleep(pause)

    async def _run_and_release(self) -> None:
        try:
            await self.run()
        finally:
            if self.release is not None:
                try:
                    await to_the_end(asyncio.wait_for(self.release(), RELEASE_S))
                except Exception as error:  # a lease ends by itself, only later
                    logger(service=self.service).warning("release failed", loop=self.name, reason=repr(error))

    def worked(self) -> None:
        """Begin to count failures anew."""
        self._failures, self._reason = 0, ""

    @property
    def problem(self) -> str:
        """The reason why the loop doesn't work; empty if it does."""
        if self._failures < FAILING or self._is_steady():
            return ""
        return f"failed {self._failures} times in a row: {self._reason}"

    def _failed(self, error: Exception) -> None:
        if self._is_steady():
            self.worked()
        self._failures, self._reason = self._failures + 1, f"{type(error).__name__}: {error}"
        self._running_since = None
        metrics.BACKGROUND_FAILURES.labels(self.service, self.name).inc()

    def _is_steady(self) -> bool:
        return self._running_since is not None and monotonic() - self._running_since > STEADY_S
