"""The delivery-center, put together."""

import os
from collections.abc import Mapping

from delivery_center.adapters.messaging import over_bus
from delivery_center.adapters.real import real
from delivery_center.attempts.paused_executions import REMEMBERED
from delivery_center.handlers import build_handlers
from delivery_center.ports import Adapters
from delivery_center.settings import Settings
from delivery_center.targets.circuit_breakers import REFRESH_S
from delivery_center.use_cases import UseCases
from rota_common.runtime.service import Runtime, Service
from rota_common.runtime.serving import App, plain_app
from rota_common.spans.export_spans import WAIT_S
from rota_common.stores import mongo
from rota_contracts.catalog import CONTROL_GIVEN

NAME = "delivery-center"


def build(
    settings: Settings,
    *,
    runtime: Runtime | None = None,
    adapters: Adapters | None = None,
    environ: Mapping[str, str] | None = None,
) -> App:
    """`environ` resolves references in the operator's settings; by default the environment of the process."""
    service = Service.of(NAME, settings, runtime=runtime, outages=mongo.OUTAGES)
    adapters = adapters or real(settings, service, os.environ if environ is None else environ)
    use = UseCases.over(adapters, over_bus(settings, service, adapters), settings=settings, service=service)
    service.include(build_handlers(use))
    service.on_start(use.breakers.refresh)
    service.every(REFRESH_S, use.breakers.keep_current, name="targets")
    service.every(REFRESH_S, use.bring_forward.recovered, name="recovered")
    service.follow((CONTROL_GIVEN,), use.paused.apply, name="control", limit=REMEMBERED)
    service.background("retries", use.sweep)
    if use.export_spans.on:
        service.every(WAIT_S, use.export_spans, name="spans")
    service.on_stop(use.export_spans.stop)
    return plain_app(service, settings)
