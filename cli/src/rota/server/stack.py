"""The whole system in one process: NATS, MongoDB, the seven services, the gateway's HTTP. Same code as in a cluster."""

import asyncio
import gc
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from secrets import token_urlsafe
from types import TracebackType
from typing import Self

from pymongo.errors import PyMongoError

from rota.errors import CliError
from rota.server.http import listening, serving, url_of
from rota.server.servers import Progress, locked, start_servers
from rota.server.services import GATEWAY, StackSettings, problems, stop_all, wait_until_ready
from rota.urls import without_password
from rota_common.nats_admin.config import Folder
from rota_common.runtime.service import Runtime
from rota_common.runtime.serving import App
from rota_common.stores.migrations import migrate_all
from rota_common.stores.mongo import Mongo


def silent(part: str, state: str) -> None:
    """The Progress that prints nothing."""


def _import_services() -> None:
    """Takes seconds, in which the servers start. An import only adds objects, so that garbage would be looked for among
    more and more of them in vain."""
    gc.disable()
    try:
        from rota.server import build as build
    finally:
        gc.enable()


@dataclass
class Stack:
    """`async with Stack(folder) as stack:` runs everything and stops it, also when the start fails half way.

    `folder` keeps the data. Without `nats_url` or `mongo_url` a child process is started. `http_port` 0 and `nats_port`
    None take any free port; so does a `nats_port` that is taken. `allow_private_targets` are private networks that
    webhooks may go to, as comma-separated CIDRs. Databases are named `<mongo_prefix>_<service>`; the operator's
    settings refer to `environ` as `$ENV.NAME`. `secrets` are given to teams: team → name → value. A NATS child process
    requires keys: `nats` is the folder that holds them.
    """

    folder: Path
    _: KW_ONLY
    nats_url: str = ""
    nats_port: int | None = None
    mongo_url: str = ""
    mongo_prefix: str = "rota"
    connector: str = "rehearsal"
    http_port: int = 0
    admin_key: str = field(default_factory=lambda: token_urlsafe(32))
    smtp_url: str = ""
    allow_private_targets: str = ""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    secrets: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    runtime: Runtime = field(default_factory=Runtime)
    progress: Progress = silent
    url: str = field(default="", init=False)
    nats: Folder | None = field(default=None, init=False)
    apps: dict[str, App] = field(default_factory=dict, init=False)
    _ends: AsyncExitStack = field(default_factory=AsyncExitStack, init=False)

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:  # an interrupted start must leave no process either
            await self._ends.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._ends.aclose()

    async def problems(self) -> dict[str, str]:
        """Service → why it is not ready; empty when all are."""
        return await problems(self.apps)

    async def _start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        # A folder in use and a taken port are refused before anything starts.
        self._ends.enter_context(locked(self.folder))
        listener = self._ends.enter_context(listening(self.http_port))
        starting = start_servers(
            self._ends,
            self.folder,
            nats_url=self.nats_url,
            nats_port=self.nats_port,
            mongo_url=self.mongo_url,
            progress=self.progress,
        )
        servers, _ = await asyncio.gather(starting, asyncio.to_thread(_import_services))
        self.nats_url, self.mongo_url = servers.nats_url, servers.mongo_url
        self.nats = servers.nats
        await self._migrate()
        self.apps = self._build(url_of(listener))
        others = {name: app for name, app in self.apps.items() if name != GATEWAY}
        self._ends.push_async_callback(stop_all, others)
        for app in others.values():
            await app.service.start()
        # The lifespan of its HTTP server starts and stops the gateway.
        self.url = await self._ends.enter_async_context(serving(self.apps[GATEWAY].http, listener))
        await wait_until_ready(self.apps)
        self.progress("services", f"{len(self.apps)} ready: {', '.join(self.apps)}")

    async def _migrate(self) -> None:
        """Nothing of another version runs on this folder."""
        from rota.server.stored_forms import DATABASES

        try:
            async with AsyncExitStack() as ends:
                mongo = Mongo(self.mongo_url, "admin")
                ends.push_async_callback(mongo.close)
                for name, forms in DATABASES.items():
                    async for part, ended in migrate_all(mongo.client[f"{self.mongo_prefix}_{name}"], forms):
                        if ended.changed or ended.left:
                            self.progress("documents", f"{part}: {ended}")
        except PyMongoError as error:
            what = f"expected a MongoDB replica set at {without_password(self.mongo_url)}: {error!s:.200}"
            raise CliError(what, hint="correct --mongo-url, or omit the option") from error

    def _build(self, public_url: str) -> dict[str, App]:
        from rota.server.build import build_all

        settings = StackSettings(
            nats_url=self.nats_url,
            mongo_url=self.mongo_url,
            mongo_prefix=self.mongo_prefix,
            folder=self.folder,
            admin_key=self.admin_key,
            connector=self.connector,
            smtp_url=self.smtp_url,
            allow_private_targets=self.allow_private_targets,
            public_url=public_url,
            nats=self.nats,
        )
        try:
            return build_all(settings, self.runtime, self.environ, self.secrets)
        except ValueError as error:
            raise CliError(f"a setting is not valid: {error}", hint="`rota up --help` shows its form") from error
