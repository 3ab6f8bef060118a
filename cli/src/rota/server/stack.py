"""The whole system in one process: NATS, MongoDB, the seven services, the gateway's HTTP. Same code as in a cluster."""

import os
import secrets
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from rota.errors import CliError
from rota.server.http import listening, serving
from rota.server.servers import Progress, locked, start_servers
from rota.server.services import GATEWAY, Choices, build_all, problems, stop_all, wait_until_ready
from rota_common.nats_admin.config import Folder
from rota_common.runtime.service import Runtime
from rota_common.runtime.serving import App

FETCH_TIMEOUT_S = 0.5
"""How long a pull waits for a message, and so how long an idle consumer takes to stop."""


def silent(part: str, state: str) -> None:
    """The Progress of a test: nobody watches."""


class Stack:
    """`async with Stack(folder) as stack:` runs everything and ends it all, also when a start fails half way.

    `folder` keeps the data. Without `nats_url` or `mongo_url` a server of its own is started. `http_port` 0 and
    `nats_port` None take any free port. `allow_private_targets` are networks that webhooks may go to although they are
    private, as CIDRs with commas between. Databases are named `<mongo_prefix>_<service>`; `environ` is where
    `$ENV.NAME` is looked up. A NATS of our own asks everybody for a key: `nats` is the folder that has them.
    """

    def __init__(
        self,
        folder: Path,
        *,
        nats_url: str | None = None,
        nats_port: int | None = None,
        mongo_url: str | None = None,
        mongo_prefix: str = "rota",
        connector: str = "rehearsal",
        http_port: int = 0,
        admin_key: str = "",
        smtp_url: str = "",
        allow_private_targets: str = "",
        environ: Mapping[str, str] = os.environ,
        runtime: Runtime | None = None,
        progress: Progress = silent,
    ) -> None:
        self.admin_key = admin_key or secrets.token_urlsafe(32)
        self.url, self.nats_url, self.mongo_url = "", "", ""
        self.nats: Folder | None = None
        self.apps: dict[str, App] = {}
        self._folder, self._port, self._nats_port = folder, http_port, nats_port
        self._given_nats, self._given_mongo, self._prefix = nats_url, mongo_url, mongo_prefix
        self._connector, self._smtp_url, self._allowed = connector, smtp_url, allow_private_targets
        self._environ, self._progress = environ, progress
        self._runtime = runtime or Runtime(fetch_timeout=FETCH_TIMEOUT_S)
        self._ends = AsyncExitStack()

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:  # a broken-off start too must leave no process
            await self._ends.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._ends.aclose()

    async def problems(self) -> dict[str, str]:
        """Service → why it isn't ready; empty when all are."""
        return await problems(self.apps)

    async def _start(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        # What can be refused at once is, before anything is started.
        self._ends.enter_context(locked(self._folder))
        listener = self._ends.enter_context(listening(self._port))
        servers = await start_servers(
            self._ends,
            self._folder,
            nats_url=self._given_nats,
            nats_port=self._nats_port,
            mongo_url=self._given_mongo,
            progress=self._progress,
        )
        self.nats_url, self.mongo_url, self.nats = servers.nats_url, servers.mongo_url, servers.nats
        self.apps = self._build()
        others = {name: app for name, app in self.apps.items() if name != GATEWAY}
        self._ends.push_async_callback(stop_all, others)
        for app in others.values():
            await app.service.start()
        # The lifespan of its HTTP side starts and stops the gateway.
        self.url = await self._ends.enter_async_context(serving(self.apps[GATEWAY].http, listener))
        await wait_until_ready(self.apps)
        self._progress("services", f"{len(self.apps)} ready: {', '.join(self.apps)}")

    def _build(self) -> dict[str, App]:
        chosen = Choices(
            nats_url=self.nats_url,
            mongo_url=self.mongo_url,
            mongo_prefix=self._prefix,
            folder=self._folder,
            admin_key=self.admin_key,
            connector=self._connector,
            smtp_url=self._smtp_url,
            allow_private_targets=self._allowed,
            nats=self.nats,
        )
        try:
            return build_all(chosen, self._runtime, self._environ)
        except ValueError as error:
            raise CliError(f"a setting is not valid: {error}", hint="`rota up --help` shows their form") from error
