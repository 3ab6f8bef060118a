"""Connectors: a model, its address and its key. The operator's YAML files; keys only as `$ENV.NAME`."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import yaml
from pydantic import ValidationError

from executor.agents.capabilities import FILE, merged, read_models
from executor.agents.operator_files import ALL_TEAMS, ConnectorFileError, OperatorFile, Teams, allows
from executor.agents.prices import Price
from executor.agents.routing import FILE as ROUTING
from executor.agents.routing import read_routing
from executor.domain.context.budget import COMPACT_AT, DEFAULT_WINDOW, window_of
from rota_common.errors import Permanent
from rota_common.redaction import REDACTED, without_credentials
from rota_common.secrets import MissingSecret, resolve
from rota_contracts.definitions.connector import ConnectorDefinition, ModelOptions
from rota_contracts.messages.provider import Capability, ConnectorOptions, Provider, VisionForm

BUILT_IN = Path(__file__).parents[1] / "connectors"
REHEARSAL = "rehearsal"
MAX_OUTPUT = 4096
ANY = ConnectorOptions()

Models = Mapping[str, Mapping[str, bool | str]]
"""Connector id → what `models.yml` says of it."""


class Options(ModelOptions):
    """`model`, `key` and `host` may be `$ENV.NAME`; `default_model` holds where that variable isn't set.

    `price`: of a million tokens; without one, that of litellm's list, for a model at its provider's own address.
    `max_output`: tokens of an answer, where a ceiling holds and neither `parameters` nor the agent limit them.
    """

    model: str = ""
    default_model: str = ""
    key: str = ""
    host: str = ""
    context_window: int = 0


class ConnectorFile(OperatorFile, ConnectorDefinition):
    type: Literal["openai", "anthropic", "rehearsal"]  # type: ignore[assignment]  # the platform alone answers itself
    options: Options = Options()


@dataclass(frozen=True)
class Connector:
    """Resolved: ready for calls, or with the `problem` that prevents them. `fallbacks`: ids of the connectors that are
    asked while its provider doesn't answer, in this order; theirs aren't followed.

    `owner`: the team that it is of, empty for the platform's. `secret`: the reference to the owner's secret that is its
    key, which is read at each call.
    """

    id: str
    label: str
    type: str
    model: str = ""
    key: str = field(default="", repr=False)
    host: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    problem: str = ""
    teams: Teams = ALL_TEAMS
    capabilities: dict[str, bool | str] = field(default_factory=dict)
    window: int = DEFAULT_WINDOW
    history_share: float = COMPACT_AT
    price: Price | None = None
    max_output: int = MAX_OUTPUT
    fallbacks: Sequence[str] = ()
    owner: str = ""
    secret: str = ""

    @property
    def known_as(self) -> str:
        """Its id among those of all teams."""
        return f"{self.owner}/{self.id}" if self.owner else self.id

    @property
    def streams(self) -> bool:
        """Does it stream texts that hold no thoughts? A server at an address of its own may, unless its file says so:
        `inline_thinking: false`."""
        return self.can("streaming") and not self.capabilities.get("inline_thinking", bool(self.host))

    def can(self, capability: str) -> bool:
        """Capabilities that nobody states are there."""
        return self.capabilities.get(capability, True) is not False

    def hide(self, text: str) -> str:
        """The text without the key and the address, for its team."""
        text = without_credentials(text, [self.key, self.host])
        for name in _names(self.host):
            text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", REDACTED, text, flags=re.IGNORECASE)
        return text

    def provider(self, *, default: bool, fallbacks: Sequence[str]) -> Provider:
        """As its team sees it."""
        stated = {each: self.capabilities[each] for each in Capability}
        can = {each: VisionForm(value) if isinstance(value, str) else value for each, value in stated.items()}
        return Provider(
            id=self.id,
            label=self.label,
            type=self.type,
            model=self.model,
            capabilities=can,
            default=default,
            problem=self.problem,
            fallbacks=[*fallbacks],
        )


NONE: Mapping[str, Connector] = {}


class Connectors:
    """All connectors by id: the file's name without `.yaml`. Those of `folder` override the built-in ones, and its
    `models.yml` what they say of their models."""

    def __init__(self, default: str, *, environ: Mapping[str, str], folder: Path | None = None) -> None:
        self._default = default
        models: Models = {} if folder is None else read_models(folder)
        self._all = _load(BUILT_IN, environ, models)
        if folder is not None:
            self._all |= _load(folder, environ, models)
        if unknown := sorted(models.keys() - self._all):
            raise ConnectorFileError(f"{FILE} names {', '.join(unknown)}: expected connectors of {folder}")
        if default and default not in self._all:
            raise ConnectorFileError(f"ROTA_CONNECTOR is {default!r}: expected one of {', '.join(sorted(self._all))}")
        self.default = self._all.get(default)
        self.routing = read_routing(folder)
        if unknown := sorted({*self.routing.hints.values()} - self._all.keys()):
            raise ConnectorFileError(f"hints in {ROUTING} name {', '.join(unknown)}: expected connectors of {folder}")
        if wrong := [each for one in self._all.values() for each in _wrong_fallbacks(one, self._all)]:
            raise ConnectorFileError(
                f"expected fallbacks to be other connectors that ask a model, got {'; '.join(wrong)}"
            )

    @property
    def ids(self) -> Collection[str]:
        return self._all.keys()

    def of(self, team: str, own: Mapping[str, Connector] = NONE) -> "TeamConnectors":
        """Those of the platform that this team may use, and its `own`; what the platform has goes before."""
        return TeamConnectors(team, self._default, self._all, own)


@dataclass(frozen=True)
class TeamConnectors:
    """The connectors of one team: of the `platform`, all by id, and its `own`."""

    team: str
    default: str
    platform: Mapping[str, Connector]
    own: Mapping[str, Connector] = field(default_factory=dict)

    def choose(self, *wanted: str) -> Connector:
        """The first one named (the call's, then the agent's), else the default. Raises Permanent, also for one that
        this team may not use; in place of such a default stands the first that it may use."""
        connector_id = next((name for name in wanted if name), "") or self._default()
        if not connector_id:
            raise Permanent(f"no connector is configured: set ROTA_CONNECTOR to one of {self._listed()}")
        connector = self.find(connector_id)
        if connector is None and connector_id in self.platform:
            where = "its file names the teams that may use it"
            raise Permanent(f"connector {connector_id} isn't for team {self.team}: {where}")
        if connector is None:
            raise Permanent(f"expected a connector, one of {self._listed()}, not {connector_id!r}")
        if connector.problem:
            raise Permanent(f"connector {connector_id} can't be used: {connector.problem}")
        return connector

    def find(self, connector_id: str) -> Connector | None:
        """One that this team may use. What isn't for it on the platform is as if it weren't there."""
        there = self.platform.get(connector_id)
        return there if there is not None and allows(there.teams, self.team) else self.own.get(connector_id)

    def providers(self, offered: ConnectorOptions = ANY, filters: Iterable[Capability] = ()) -> list[Provider]:
        """Those that are `offered`, as the team sees them; by id."""
        needed = {*offered.filters, *filters}
        mine = {name: one for name in sorted({*self.own, *self.platform}) if (one := self.find(name)) is not None}
        return [
            one.provider(default=name == self.default, fallbacks=[each.id for each in self.fallbacks(one)])
            for name, one in mine.items()
            if (not offered.connectors or name in offered.connectors)
            and all(one.capabilities.get(each) for each in needed)
        ]

    def fallbacks(self, connector: Connector) -> Sequence[Connector]:
        """Those of its fallbacks that this team may use and that ask a model, in their order."""
        found = (self.find(name) for name in connector.fallbacks if name != connector.id)
        return [each for each in found if each is not None and each.type != REHEARSAL]

    def is_usable(self, name: str) -> bool:
        """May this team use it, and can it be asked?"""
        connector = self.find(name)
        return connector is not None and not connector.problem

    def _default(self) -> str:
        if not self.default or allows(self.platform[self.default].teams, self.team):
            return self.default
        found = (self.find(name) for name in sorted({*self.platform, *self.own}))
        return next((one.id for one in found if one and one.type != REHEARSAL and not one.problem), self.default)

    def _listed(self) -> str:
        return ", ".join(each.id for each in self.providers())


def of_definition(connector_id: str, definition: ConnectorDefinition, *, team: str) -> Connector:
    """A team's own connector; nothing of it is read from the environment."""
    options = definition.options
    return Connector(
        owner=team,
        secret=options.key,
        teams=frozenset({team}),
        model=options.model,
        host=options.host,
        **_stated(connector_id, definition, {}),
    )


def _stated(connector_id: str, stated: ConnectorDefinition, of_model: Mapping[str, bool | str]) -> dict[str, Any]:
    """The fields that a file and a definition say in the same way."""
    options = stated.options
    return {
        "id": connector_id,
        "label": stated.label,
        "type": stated.type,
        "parameters": options.parameters,
        "capabilities": merged(stated.type, of_model, options.capabilities),
        "window": window_of(options.context_window),
        "history_share": options.max_history_share or COMPACT_AT,
        "price": None if options.price is None else Price(**dict(options.price)),
        "max_output": options.max_output or MAX_OUTPUT,
        "fallbacks": tuple(stated.fallbacks),
    }


def _load(folder: Path, environ: Mapping[str, str], models: Models) -> dict[str, Connector]:
    if not folder.is_dir():
        raise ConnectorFileError(f"expected a folder of connector files (*.yaml), there is none at {folder}")
    return {path.stem: _read(path, environ, models) for path in sorted(folder.glob("*.yaml"))}


def _read(path: Path, environ: Mapping[str, str], models: Models) -> Connector:
    try:
        file = ConnectorFile.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")), extra="forbid")
    except (yaml.YAMLError, ValidationError) as error:
        raise ConnectorFileError(f"connector file {path.name} can't be read: {error}") from error
    options, problem = file.options, ""
    try:
        key = resolve(options.key, environ)
    except MissingSecret as error:
        key, problem = "", str(error)
    return Connector(
        model=_optional(options.model, environ) or options.default_model,
        key=key,
        host=_optional(options.host, environ),
        problem=problem,
        teams=file.teams,
        **_stated(path.stem, file, models.get(path.stem, {})),
    )


def _names(address: str) -> list[str]:
    """How texts may name an address: with its port, and by the host alone."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return []
    return [name for name in (parts.netloc, parts.hostname) if name]


def _wrong_fallbacks(connector: Connector, known: Mapping[str, Connector]) -> Iterator[str]:
    for place, name in enumerate(connector.fallbacks):
        wrong = ""
        if name == connector.id:
            wrong = "itself"
        elif name in connector.fallbacks[:place]:
            wrong = "twice"
        elif name not in known:
            wrong = "which isn't there"
        elif known[name].type == REHEARSAL:
            wrong = "whose answers are canned"
        if wrong:
            yield f"{name!r} of {connector.id}, {wrong}"


def _optional(text: str, environ: Mapping[str, str]) -> str:
    try:
        return resolve(text, environ)
    except MissingSecret:
        return ""
