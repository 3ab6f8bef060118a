"""The learner's use cases, wired to its adapters."""

from dataclasses import dataclass
from typing import Self

from learner.decide_on_goals import DecideOnGoals
from learner.forget_old import ForgetOld
from learner.forget_robot import ForgetRobot
from learner.learn_from_run import LearnFromRun
from learner.manage_lessons import ManageLessons
from learner.ports import Adapters
from learner.record_run import RecordRun
from learner.settings import Settings
from rota_common.runtime.service import Service
from rota_common.stores.team_documents import RemoveTeam


@dataclass(frozen=True, kw_only=True)
class UseCases:
    learn: LearnFromRun
    decide: DecideOnGoals
    forget_robot: ForgetRobot
    remove_team: RemoveTeam
    forget_old: ForgetOld
    manage: ManageLessons

    @classmethod
    def over(cls, adapters: Adapters, settings: Settings, service: Service) -> Self:
        agents, lessons, history, robots = adapters.agents, adapters.lessons, adapters.history, adapters.robots
        return cls(
            learn=LearnFromRun(
                record=RecordRun(history=history, robots=robots),
                agents=agents,
                lessons=lessons,
                knowledge=adapters.knowledge,
                robots=robots,
                publish=service.publish,
                timeout=settings.agent_timeout,
            ),
            decide=DecideOnGoals(agents=agents, history=history, robots=robots, timeout=settings.dedup_timeout),
            forget_robot=ForgetRobot(lessons=lessons, history=history),
            remove_team=RemoveTeam(documents=adapters.team_documents),
            forget_old=ForgetOld(
                lessons=lessons,
                history=history,
                knowledge=adapters.knowledge,
                robots=robots,
                clock=service.runtime.clock,
            ),
            manage=ManageLessons(lessons=lessons, knowledge=adapters.knowledge),
        )
