"""The adapters of production."""

from rota_common.bus.agents import NatsAgents
from rota_common.runtime.service import Service
from rota_common.stores.blobs import Blobs
from validator.adapters.pattern_process import PatternProcess
from validator.adapters.plugins import load_plugins
from validator.adapters.script_process import ScriptProcess
from validator.ports import Adapters
from validator.settings import Settings


def real(settings: Settings, service: Service) -> Adapters:
    patterns = PatternProcess(seconds=settings.pattern_seconds, at_once=settings.checks_at_once)
    service.on_close(patterns.close)
    return Adapters(
        outputs=Blobs(service.bus),
        patterns=patterns,
        scripts=ScriptProcess(
            settings.scripts_dir, seconds=settings.script_seconds, megabytes=settings.script_memory_mb
        ),
        agents=NatsAgents(service.ask),
        plugins=load_plugins(),
    )
