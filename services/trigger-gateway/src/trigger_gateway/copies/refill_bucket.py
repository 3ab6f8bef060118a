"""Copies kept in a bucket, which is filled again after it was lost, or after MongoDB was restored beside a new one."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rota_common.runtime.logs import logger
from trigger_gateway.copies.ports import Buckets, FilledBuckets

LOG = logger(service="trigger-gateway")


@dataclass(frozen=True, kw_only=True)
class RefillBucket:
    """Safe to do twice and concurrently. `forget`: from then on nothing counts as copied. `copy`: copies something that
    doesn't, and returns True if there may be more."""

    name: str
    buckets: Buckets
    filled: FilledBuckets
    forget: Callable[[], Awaitable[None]]
    copy: Callable[[], Awaitable[bool]]

    async def __call__(self) -> None:
        """Return once everything that can be copied is. Raise Transient when NATS is away."""
        while await self.sweep():
            pass

    async def sweep(self) -> bool:
        """Copy what isn't, or everything if the bucket isn't the one that was filled; True if there may be more."""
        there = await self.buckets.look(self.name)
        known = await self.filled.find(self.name)
        if known != there.made:
            if known is not None or there.empty:  # one that a version before has filled isn't noted yet
                LOG.info("bucket is filled", bucket=self.name, made=there.made, before=known)
                await self.forget()
            await self.filled.note(self.name, there.made)
        return await self.copy()
