"""The choice of a model for a call, and of those that it falls back on."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TypeVar

from executor.agents.connectors import ANY, REHEARSAL, Connector
from executor.agents.prompt_files import Agent
from executor.agents.routing import Route
from executor.agents.team_view import TeamView, TeamViews
from executor.domain.query_class import query_of
from executor.domain.run import Run
from executor.domain.spending import Payer
from executor.model_port import Model, NoAnswer
from executor.spending.budget_port import AtCeiling
from executor.spending.metered_model import Meter
from executor.steps.circuit_breakers import CircuitBreakers, GuardedModel, label_of
from rota_common.errors import Permanent
from rota_common.redaction import without_credentials
from rota_common.runtime.logs import logger
from rota_common.runtime.metrics import CONNECTOR_FALLBACKS
from rota_contracts.messages.execution import Task
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.robots.robot import Phase

_log = logger(service="executor")


@dataclass(frozen=True)
class Candidate:
    """A connector to ask, and its model. `waited`: the seconds that those before it took; `last`: there is no other to
    fall back on."""

    connector: Connector
    model: Model
    waited: float = 0.0
    last: bool = True


T = TypeVar("T")
Ask = Callable[[Candidate], Awaitable[T]]
"""The question to one candidate, with a prompt made for its connector."""


@dataclass(frozen=True, kw_only=True)
class Models:
    """`rehearsal` answers in every run that isn't in standard mode. Calls of the real one are metered, and pass its
    connector's circuit breaker."""

    views: TeamViews
    real: Model
    rehearsal: Model
    meter: Meter | None = None
    breakers: CircuitBreakers = field(default_factory=CircuitBreakers)

    def check_offered(self, agent: Agent, wanted: str, *, view: TeamView) -> None:
        """Raise Permanent for a connector that this agent doesn't offer its callers."""
        if not wanted or agent.connector_options == ANY:
            return
        offered = [each.id for each in view.connectors.providers(agent.connector_options)]
        if wanted not in offered:
            names = ", ".join(offered) or "none of this team's"
            raise Permanent(f"agent {agent.id} may be asked with the connectors {names}, not {wanted!r}")

    def route(self, mode: ExecutorMode, query: str, *, view: TeamView) -> Route | None:
        """The connector for a query that is left to the default one; None: the default, also where this team can't use
        the one that the rules choose."""
        found = self.views.connectors.routing.route(query) if mode is ExecutorMode.STANDARD else None
        return found if found and view.connectors.is_usable(found.connector) else None

    def routed(self, run: Run, subject: Phase | Task | None, *, view: TeamView) -> tuple[str, Sequence[str]]:
        """The connector for what a person asks a run, with a note; empty for the default."""
        found = self.route(run.execution.executor_mode, query_of(run, subject), view=view)
        return (found.connector, (found.note,)) if found else ("", ())

    def choose(self, mode: ExecutorMode, *wanted: str, view: TeamView) -> Connector:
        """The first connector named in `wanted`, or the default. Raises Permanent when this team can't use it."""
        standard = mode is ExecutorMode.STANDARD
        return view.connectors.choose(*(wanted if standard else (REHEARSAL,)))

    async def ask(
        self, ask: Ask[T], mode: ExecutorMode, *wanted: str, payer: Payer, view: TeamView
    ) -> tuple[T, Sequence[str]]:
        """What the first candidate gives whose provider answers, and a note if that is a fallback.

        A fallback never makes things worse: if none of them can do it, the first failure is raised.
        """
        failures = list[Exception]()
        candidates, began = self._candidates(mode, *wanted, payer=payer, view=view), monotonic()
        for candidate in candidates:
            try:
                self.breakers.check(candidate.connector, alone=len(candidates) == 1)
                given = await ask(replace(candidate, waited=monotonic() - began) if failures else candidate)
            except NoAnswer as error:
                failures.append(error)
            except (Permanent, AtCeiling) as error:
                if not failures:
                    raise
                failures.append(error)
            else:
                return given, _noted(candidates[0].connector, candidate.connector, failures)
        if len(candidates) > 1:
            _log.warning("no fallback answers", connector=candidates[0].connector.known_as, reason=_reasons(failures))
        raise failures[0]

    def metered(self, payer: Payer) -> Model:
        """The real model, whatever the circuit breakers say."""
        return self.meter.of(self.real, payer) if self.meter else self.real

    def _candidates(self, mode: ExecutorMode, *wanted: str, payer: Payer, view: TeamView) -> Sequence[Candidate]:
        """The chosen one, then its fallbacks that may be asked now."""
        chosen = self.choose(mode, *wanted, view=view)
        if mode is not ExecutorMode.STANDARD or chosen.type == REHEARSAL:
            return [Candidate(chosen, self.rehearsal)]
        fallbacks = view.connectors.fallbacks(chosen)
        usable = [each for each in fallbacks if not each.problem and not self.breakers.is_open(each)]
        guarded = GuardedModel(model=self.metered(payer), breakers=self.breakers, alone=not usable)
        asked = [chosen, *usable]
        return [Candidate(each, guarded, last=each is asked[-1]) for each in asked]


def _noted(first: Connector, asked: Connector, failures: Sequence[Exception]) -> Sequence[str]:
    """A note on the fallback that was asked, and why; none if the first one was."""
    if not failures:
        return ()
    CONNECTOR_FALLBACKS.labels(label_of(first), label_of(asked)).inc()
    _log.warning("a fallback was asked", connector=first.known_as, fallback=asked.known_as, reason=_reasons(failures))
    return (f"connector {asked.id} asked in place of {first.id}: {_reasons(failures)}",)


def _reasons(failures: Sequence[Exception]) -> str:
    return without_credentials("; ".join(str(error) for error in failures))
