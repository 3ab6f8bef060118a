"""Connectors: a model, its address and its key. The operator's YAML files; keys only as `$ENV.NAME`."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from executor.agents.capabilities import FILE, Stated, merged, read_models
from executor.agents.operator_files import ALL_TEAMS, ConnectorFileError, OperatorFile, Teams, allows
from executor.agents.prices import Price
from executor.agents.routing import FILE as ROUTING
from executor.agents.routing import read_routing
from executor.domain.context.budget import COMPACT_AT, DEFAULT_WINDOW, window_of
from rota_common.errors import Permanent
from rota_common.redaction import REDACTED, without_credentials
from rota_common.secrets import MissingSecret, resolve
from rota_contracts.messages.provider import Capability, ConnectorOptions, Provider, VisionForm

BUILT_IN = Path(__file__).parents[1] / "connectors"
REHEARSAL = "rehearsal"
MAX_OUTPUT = 4096
ANY = ConnectorOptions()

Models = Mapping[str, Mapping[str, bool | str]]
"""Connector id → what `models.yml` says of it."""


class Options(BaseModel):
    """`model`, `key` and `host` may be `$ENV.NAME`; `default_model` holds where that variable isn't set.

    `context_window` in tokens, 0 = 200,000; `max_history_share`: of it, from which a conversation is compacted.
    `price`: of a million tokens; without one, that of litellm's list, for a model at its provider's own address.
    `max_output`: tokens of an answer, where a ceiling holds and neither `parameters` nor the agent limit them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = ""
    default_model: str = ""
    key: str = ""
    host: str = ""
    capabilities: Stated = {}
    parameters: dict[str, Any] = {}
    context_window: int = 0
    max_history_share: float = Field(default=COMPACT_AT, gt=0, le=1)
    price: Price | None = None
    max_output: int = Field(default=MAX_OUTPUT, gt=0)


class ConnectorFile(OperatorFile):
    label: str
    type: Literal["openai", "anthropic", "rehearsal"]
    options: Options = Options()
    fallbacks: list[str] = []


@dataclass(frozen=True)
class Connector:
    """Resolved: ready for calls, or with the `problem` that prevents them. `fallbacks`: ids of the connectors that are
    asked while its provider doesn't answer, in this order; theirs aren't followed."""

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

    def choose(self, *wanted: str, team: str) -> Connector:
        """The first one named (the call's, then the agent's), else the default. Raises Permanent, also for one that
        this team may not use; in place of such a default stands the first that it may use."""
        connector_id = next((name for name in wanted if name), "") or self._default_of(team)
        if not connector_id:
            raise Permanent(f"no connector is configured: set ROTA_CONNECTOR to one of {self._for(team)}")
        connector = self._all.get(connector_id)
        if connector is None:
            raise Permanent(f"expected a connector, one of {self._for(team)}, not {connector_id!r}")
        if not allows(connector.teams, team):
            raise Permanent(f"connector {connector_id} isn't for team {team}: its file names the teams that may use it")
        if connector.problem:
            raise Permanent(f"connector {connector_id} can't be used: {connector.problem}")
        return connector

    def of(self, team: str, offered: ConnectorOptions = ANY, filters: Iterable[Capability] = ()) -> list[Provider]:
        """The connectors that a team may use, of those that are `offered`; by id."""
        needed = {*offered.filters, *filters}
        return [
            one.provider(default=name == self._default, fallbacks=[each.id for each in self.fallbacks(one, team=team)])
            for name, one in sorted(self._all.items())
            if allows(one.teams, team)
            and (not offered.connectors or name in offered.connectors)
            and all(one.capabilities.get(each) for each in needed)
        ]

    def fallbacks(self, connector: Connector, *, team: str) -> Sequence[Connector]:
        """Those of its fallbacks that this team may use, in their order."""
        return [each for name in connector.fallbacks if allows((each := self._all[name]).teams, team)]

    def is_usable(self, name: str, *, team: str) -> bool:
        """May this team use it, and can it be asked?"""
        connector = self._all.get(name)
        return connector is not None and allows(connector.teams, team) and not connector.problem

    def _default_of(self, team: str) -> str:
        if not self._default or allows(self._all[self._default].teams, team):
            return self._default
        asks = (name for name, one in sorted(self._all.items()) if one.type != REHEARSAL)
        return next((name for name in asks if self.is_usable(name, team=team)), self._default)

    def _for(self, team: str) -> str:
        return ", ".join(each.id for each in self.of(team))


def _load(folder: Path, environ: Mapping[str, str], models: Models) -> dict[str, Connector]:
    if not folder.is_dir():
        raise ConnectorFileError(f"expected a folder of connector files (*.yaml), there is none at {folder}")
    return {path.stem: _read(path, environ, models) for path in sorted(folder.glob("*.yaml"))}


def _read(path: Path, environ: Mapping[str, str], models: Models) -> Connector:
    try:
        file = ConnectorFile.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (yaml.YAMLError, ValidationError) as error:
        raise ConnectorFileError(f"connector file {path.name} can't be read: {error}") from error
    options, problem = file.options, ""
    try:
        key = resolve(options.key, environ)
    except MissingSecret as error:
        key, problem = "", str(error)
    return Connector(
        id=path.stem,
        label=file.label,
        type=file.type,
        model=_optional(options.model, environ) or options.default_model,
        key=key,
        host=_optional(options.host, environ),
        parameters=options.parameters,
        problem=problem,
        teams=file.teams,
        capabilities=merged(file.type, models.get(path.stem, {}), options.capabilities),
        window=window_of(options.context_window),
        history_share=options.max_history_share,
        price=options.price,
        max_output=options.max_output,
        fallbacks=tuple(file.fallbacks),
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
