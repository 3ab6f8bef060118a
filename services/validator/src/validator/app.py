"""Puts the validator together."""

from rota_common.runtime.service import Runtime, Service
from rota_common.runtime.serving import App, plain_app
from rota_common.stores.blobs import Blobs
from validator.adapters.bus_agents import BusAgents
from validator.adapters.pattern_process import PatternProcess
from validator.adapters.plugins import load_plugins
from validator.adapters.script_process import ScriptProcess
from validator.check_output import CheckOutput
from validator.handlers import build_router
from validator.judge_output import JudgeOutput
from validator.registry import Kinds
from validator.settings import Settings


def build(settings: Settings, *, runtime: Runtime | None = None) -> App:
    service = Service.of("validator", settings, runtime=runtime)
    kinds, outputs = Kinds(load_plugins()), Blobs(service.bus)
    patterns = PatternProcess(seconds=settings.pattern_seconds)
    service.on_stop(patterns.close)
    scripts = ScriptProcess(settings.scripts_dir, seconds=settings.script_seconds, megabytes=settings.script_memory_mb)
    check = CheckOutput(outputs, patterns, scripts, kinds)
    judge = JudgeOutput(outputs, BusAgents(service.ask), kinds, timeout=settings.agent_timeout)
    service.include(build_router(check, judge, service.publish))
    return plain_app(service, settings)
