"""The validator, put together."""

from rota_common.runtime.service import Runtime, Service
from rota_common.runtime.serving import App, plain_app
from validator.adapters.real import real
from validator.handlers import build_handlers
from validator.ports import Adapters
from validator.settings import Settings
from validator.use_cases import UseCases

NAME = "validator"


def build(settings: Settings, *, runtime: Runtime | None = None, adapters: Adapters | None = None) -> App:
    service = Service.of(NAME, settings, runtime=runtime)
    use = UseCases.over(adapters or real(settings, service), settings, service)
    service.include(build_handlers(use))
    return plain_app(service, settings)
