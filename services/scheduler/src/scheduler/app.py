"""The composition root of the scheduler."""

from rota_common.bus.room import MEASURE_EVERY_S
from rota_common.runtime.service import Runtime, Service
from rota_common.runtime.serving import App, plain_app
from rota_common.stores.mongo import OUTAGES
from rota_contracts.catalog import EXECUTOR_REPORTED
from scheduler.adapters.real import real
from scheduler.clocks.sync_clocks import SYNC_S
from scheduler.dispatching.measure_queue import MEASURE_S
from scheduler.dispatching.report_backlog import REPORT_S
from scheduler.handlers import build_handlers
from scheduler.ports import Adapters
from scheduler.settings import Settings
from scheduler.use_cases import UseCases

NAME = "scheduler"


def build(settings: Settings, *, runtime: Runtime | None = None, adapters: Adapters | None = None) -> App:
    service = Service.of(NAME, settings, runtime=runtime, outages=OUTAGES)
    use = UseCases.over(adapters or real(settings, service), settings, service)
    service.include(build_handlers(use))
    service.background("dispatch", use.dispatcher.run, release=use.dispatcher.release)
    service.every(MEASURE_EVERY_S, use.room.measure, name="measure the bus")
    service.every(settings.tick_every, use.tick, name="tick")
    service.every(SYNC_S, use.sync_clocks, name="sync clocks")
    service.every(REPORT_S, use.report_backlog, name="report backlog")
    service.every(MEASURE_S, use.measure_queue, name="measure the queue")
    service.every(0, use.robots.follow, name="robots")
    service.follow([EXECUTOR_REPORTED], use.capacity.update, name="capacity")
    return plain_app(service, settings)
