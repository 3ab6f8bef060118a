"""Puts the validator together."""

from rota_common.blobs import Blobs
from rota_common.service import Runtime, Service
from rota_common.serving import App, plain_app
from validator.adapters.bus_agents import BusAgents
from validator.adapters.pattern_process import PatternProcess
from validator.check_output import CheckOutput
from validator.judge_output import JudgeOutput
from validator.settings import Settings
from validator.subscribers import build_router


def build(settings: Settings, *, runtime: Runtime | None = None) -> App:
    service = Service("validator", settings.nats_url, runtime=runtime)
    outputs, patterns = Blobs(service.bus), PatternProcess(seconds=settings.pattern_seconds)
    service.on_stop(patterns.close)
    judge = JudgeOutput(outputs, BusAgents(service.ask), timeout=settings.agent_timeout)
    service.include(build_router(CheckOutput(outputs, patterns), judge, service.publish))
    return plain_app(service, settings)
