"""The validator's use cases, wired to its adapters."""

from dataclasses import dataclass
from typing import Self

from rota_common.runtime.service import Service
from validator.check_output import CheckOutput
from validator.fair_slots import FairSlots
from validator.judge_output import JudgeOutput
from validator.ports import Adapters
from validator.registry import Kinds
from validator.settings import Settings


@dataclass(frozen=True, kw_only=True)
class UseCases:
    check: CheckOutput
    judge: JudgeOutput

    @classmethod
    def over(cls, adapters: Adapters, settings: Settings, service: Service) -> Self:
        kinds = Kinds(adapters.plugins)
        return cls(
            check=CheckOutput(
                outputs=adapters.outputs,
                patterns=adapters.patterns,
                scripts=adapters.scripts,
                kinds=kinds,
                slots=FairSlots(settings.checks_at_once, per_team=settings.checks_per_team),
            ),
            judge=JudgeOutput(
                outputs=adapters.outputs,
                agents=adapters.agents,
                kinds=kinds,
                publish=service.publish,
                timeout=settings.agent_timeout,
            ),
        )
