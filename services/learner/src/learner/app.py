"""The learner, put together."""

from learner.adapters.real import real
from learner.handlers import build_handlers
from learner.ports import Adapters
from learner.settings import Settings
from learner.use_cases import UseCases
from rota_common.runtime.service import Runtime, Service
from rota_common.runtime.serving import App, plain_app
from rota_common.stores import mongo

NAME = "learner"


def build(settings: Settings, *, runtime: Runtime | None = None, adapters: Adapters | None = None) -> App:
    service = Service.of(NAME, settings, runtime=runtime, outages=mongo.OUTAGES)
    use = UseCases.over(adapters or real(settings, service), settings, service)
    service.include(build_handlers(use))
    service.every(settings.retention_interval, use.forget_old, name="retention")
    return plain_app(service, settings)
