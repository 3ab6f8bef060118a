"""The executor, put together."""

from collections.abc import Mapping
from functools import partial

from executor.adapters.real import real
from executor.agents.connectors import Connectors
from executor.handlers import build_handlers
from executor.ports import Adapters
from executor.settings import Settings
from executor.use_cases import UseCases
from rota_common.runtime.logs import logger
from rota_common.runtime.service import Runtime, Service
from rota_common.runtime.serving import App, plain_app
from rota_common.spans.export_spans import WAIT_S
from rota_common.stores.mongo import OUTAGES
from rota_contracts.catalog import CONTROL_GIVEN
from rota_contracts.messages.executor_capacity import REPORT_S

NAME = "executor"
REMOVE_EVERY_S, STRAYS_EVERY_S = 60.0, 3600.0
MEASURE_CEILINGS_S = 30.0
CEILINGS_S = 5.0
"""How often to look for room for runs that wait at a ceiling, and for a changed file of them."""

BROADCAST_LIMIT = 10_000
"""Broadcast signals that may wait to be handled."""


async def warn_of_unusable(connectors: Connectors) -> None:
    """In the log, where the default connector lacks its key: else a run would be the first to say so."""
    used = connectors.default
    if used is not None and used.problem:
        reason = f"ROTA_CONNECTOR names {used.id}, which can't be used: {used.problem}"
        logger(service=NAME).warning("connector unusable", connector=used.id, reason=reason)


def build(
    settings: Settings,
    *,
    runtime: Runtime | None = None,
    adapters: Adapters | None = None,
    environ: Mapping[str, str] | None = None,
) -> App:
    """`environ` holds the variables behind `$ENV.` references, in place of the process's own."""
    service = Service.of(NAME, settings, runtime=runtime, outages=OUTAGES)
    adapters = adapters or real(settings, service, environ=environ)
    use = UseCases.over(adapters, settings, service, environ=environ)
    service.include(build_handlers(use, slots=settings.slots))
    service.on_start(partial(warn_of_unusable, use.list_models.views.connectors))
    service.every(settings.sweep_interval, use.sweep, name="sweep")
    service.every(REMOVE_EVERY_S, use.remove, name="remove")
    service.every(STRAYS_EVERY_S, use.remove.strays, name="strays")
    service.every(REPORT_S, use.heartbeat, name="heartbeat")
    service.every(CEILINGS_S, use.continue_below_ceilings, name="ceilings")
    service.every(MEASURE_CEILINGS_S, use.measure_ceilings, name="measure ceilings")
    if use.export_spans.on:
        service.every(WAIT_S, use.export_runs, name="traces")
        service.every(WAIT_S, use.export_spans, name="spans")
    service.follow([CONTROL_GIVEN], use.send.on_control_given, name="control", limit=BROADCAST_LIMIT)
    service.on_stop(use.sweep.close)
    service.on_stop(use.heartbeat.stop)
    service.on_stop(use.call_agents.close)
    service.on_stop(use.notify_hooks.close)
    service.on_stop(use.export_spans.stop)
    service.on_close(adapters.close)
    return plain_app(service, settings)
