"""The memory, put together."""

from memory.adapters.real import real
from memory.handlers import build_handlers
from memory.ports import Adapters
from memory.settings import Settings
from memory.use_cases import UseCases
from rota_common.runtime.service import Runtime, Service
from rota_common.runtime.serving import App, plain_app
from rota_common.stores import mongo

NAME = "memory"


def build(settings: Settings, *, runtime: Runtime | None = None, adapters: Adapters | None = None) -> App:
    service = Service.of(NAME, settings, runtime=runtime, outages=mongo.OUTAGES)
    use = UseCases.over(adapters or real(settings, service), settings, service)
    service.include(build_handlers(use))
    return plain_app(service, settings)
