"""MCP servers, from the operator's YAML files; secrets only by reference: `$ENV.NAME`, the operator's own, or
`$SECRET.NAME`, that of the team in whose name a tool is called."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from executor.agents.operator_files import ALL_TEAMS, OperatorFile, Teams
from executor.domain.conversation.chat import BUILT_IN
from executor.domain.used_tools import BY_AGENT
from rota_common.secrets import PREFIX, MissingSecret, resolve
from rota_contracts.definitions.definition import Definition
from rota_contracts.definitions.mcp_server import McpServerDefinition

TIMEOUT_S = 60.0
OF_THE_TEAM = "$SECRET."


class MCPFileError(ValueError):
    """The file of an MCP server can't be read; names the file and the field, never a value."""


class _File(OperatorFile):
    model_config = ConfigDict(
        extra="forbid", frozen=True, coerce_numbers_to_str=True, hide_input_in_errors=True, validate_default=True
    )

    label: str
    timeout: float = Field(default=TIMEOUT_S, gt=0, le=3600)
    idempotent: bool | list[str] | None = None
    repeatable: bool | list[str] = False
    stateless: bool = False


class _StdioFile(_File):
    transport: Literal["stdio"]
    command: str = Field(min_length=1)
    args: list[str] = []
    env: dict[str, str] = {}


class _HttpFile(_File):
    transport: Literal["http"]
    url: str = Field(pattern=r"^(https?://|\$(ENV|SECRET)\.)")
    headers: dict[str, str] = {}


_FILE: TypeAdapter[_StdioFile | _HttpFile] = TypeAdapter(
    Annotated[_StdioFile | _HttpFile, Field(discriminator="transport")]
)


@dataclass(frozen=True)
class Stdio:
    """A program that we start, with MCP on its standard input and output."""

    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Http:
    """A server somewhere else, by streamable HTTP."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    guarded: bool = False
    """A team wrote the address: it must be a public one."""


@dataclass(frozen=True)
class Server:
    """Resolved: ready for use, or with the `problem` that prevents it. `timeout` in seconds.

    `teams` may use it, each in a session of its own unless it is `stateless`.
    `idempotent`: the operator's declaration for its tools: all (True), none (False), or these; None = the server's own.
    `repeatable`: of which the same call makes sense twice in a turn.
    `keys`: the values of the operator's variables in it, which no answer may show.
    `rev`: of a team's own server, the revision of its definition; 0 = the platform's.
    """

    id: str
    label: str
    transport: Stdio | Http
    timeout: float = TIMEOUT_S
    idempotent: bool | frozenset[str] | None = None
    problem: str = ""
    teams: Teams = ALL_TEAMS
    stateless: bool = False
    repeatable: bool | frozenset[str] = False
    keys: frozenset[str] = field(default=frozenset(), repr=False)
    rev: int = 0

    @property
    def references(self) -> list[str]:
        """Its references to secrets of the team that calls."""
        return [text for text in _texts(self.transport) if text.startswith(OF_THE_TEAM)]

    def for_team(self, secrets: Mapping[str, str]) -> "Server":
        """With the values of its references."""
        return replace(self, transport=_replaced(self.transport, secrets)) if secrets else self

    def may_repeat(self, tool: str) -> bool:
        """Does the same call make sense twice in a turn?"""
        return tool in self.repeatable if isinstance(self.repeatable, frozenset) else self.repeatable

    def is_idempotent(self, tool: str, *, hinted: bool) -> bool:
        """May this tool be called again with its step id? `hinted`: the server's own declaration."""
        if isinstance(self.idempotent, frozenset):
            return tool in self.idempotent or hinted
        return hinted if self.idempotent is None else self.idempotent


def load_servers(folder: Path | None, environ: Mapping[str, str]) -> dict[str, Server]:
    """All servers of a folder by id: the file's name without `.yaml`. Raises MCPFileError."""
    if folder is None:
        return {}
    if not folder.is_dir():
        raise MCPFileError(f"expected a folder of MCP servers (*.yaml) in ROTA_MCP_DIR, there is none at {folder}")
    if (folder / f"{BUILT_IN}.yaml").exists():
        raise MCPFileError(f"{BUILT_IN} is the name of the built-in tools: rename {BUILT_IN}.yaml of the MCP servers")
    if taken := sorted(path.name for path in folder.glob(f"{BY_AGENT}*.yaml")):
        raise MCPFileError(f"names that begin with {BY_AGENT} are those of agents: rename {', '.join(taken)}")
    return {path.stem: _server(path, environ) for path in sorted(folder.glob("*.yaml"))}


def teams_of(servers: Mapping[str, Server]) -> dict[str, Teams]:
    """The teams that may use each."""
    return {server_id: server.teams for server_id, server in servers.items()}


def own_servers(definitions: Mapping[str, Definition]) -> dict[str, Server]:
    """Those that a team wrote; one that this version can't read has a problem."""
    return {server_id: _own(one) for server_id, one in definitions.items()}


def _own(one: Definition) -> Server:
    of: dict[str, Any] = {"id": one.id, "teams": frozenset({one.team_id}), "rev": one.rev}
    try:
        spec = McpServerDefinition.model_validate(one.spec)
    except ValidationError as error:
        wrong = error.errors(include_input=False, include_url=False)[0]
        problem = f"its definition can't be read here: {'.'.join(map(str, wrong['loc']))}: {wrong['msg']}"
        return Server(label=one.id, transport=Http(url=""), problem=problem, **of)
    return Server(
        label=spec.label,
        transport=Http(spec.url, spec.headers, guarded=True),
        timeout=spec.timeout,
        idempotent=_declared(spec.idempotent),
        repeatable=_declared(spec.repeatable) or False,
        **of,
    )


def _declared(value: bool | list[str] | None) -> bool | frozenset[str] | None:
    return frozenset(value) if isinstance(value, list) else value


def _server(path: Path, environ: Mapping[str, str]) -> Server:
    file, problem, keys = _read(path), "", frozenset[str]()
    try:
        transport = _transport(file, environ)
        keys = frozenset(resolve(value, environ) for _, value in _values(file) if value.startswith(PREFIX))
    except MissingSecret as error:  # the others work all the same: the error comes when this one is used
        transport, problem = Stdio(command=""), str(error)
    declared, repeatable = _declared(file.idempotent), _declared(file.repeatable) or False
    server = Server(
        path.stem,
        file.label,
        transport,
        file.timeout,
        declared,
        problem,
        file.teams,
        file.stateless,
        repeatable,
        keys,
    )
    if server.stateless and server.references:
        raise MCPFileError(
            f"{path.name} of the MCP servers can't be read: stateless: expected false, because {server.references[0]} "
            "makes it another server for each team"
        )
    return server


def _read(path: Path) -> _StdioFile | _HttpFile:
    try:
        raw: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise MCPFileError(f"{path.name} of the MCP servers is not YAML: {_where(error)}") from None
    try:
        file = _FILE.validate_python(raw)
    except ValidationError as error:
        # The first part of a place is the transport, which says nothing.
        reasons = [f"{'.'.join(map(str, each['loc'][1:])) or 'transport'}: {each['msg']}" for each in error.errors()]
        raise MCPFileError(f"{path.name} of the MCP servers can't be read: {'; '.join(reasons)}") from None
    for name, value in _values(file):
        prefix = next((one for one in (PREFIX, OF_THE_TEAM) if one in value), "")
        if not value.startswith(prefix):
            raise MCPFileError(
                f"{path.name} of the MCP servers can't be read: {name}: expected {prefix}NAME to be the whole value: "
                "put what stands around it into the variable too"
            )
    return file


def _values(file: _StdioFile | _HttpFile) -> list[tuple[str, str]]:
    """All values that may be references, each with the name of its field."""
    if isinstance(file, _HttpFile):
        return [("url", file.url), *((f"headers.{name}", value) for name, value in file.headers.items())]
    args = [(f"args.{number}", value) for number, value in enumerate(file.args)]
    return [("command", file.command), *args, *((f"env.{name}", value) for name, value in file.env.items())]


def _transport(file: _StdioFile | _HttpFile, environ: Mapping[str, str]) -> Stdio | Http:
    if isinstance(file, _HttpFile):
        return Http(resolve(file.url, environ), _resolved(file.headers, environ))
    args = tuple(resolve(value, environ) for value in file.args)
    return Stdio(resolve(file.command, environ), args, _resolved(file.env, environ))


def _resolved(values: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    return {name: resolve(value, environ) for name, value in values.items()}


def _texts(transport: Stdio | Http) -> list[str]:
    if isinstance(transport, Http):
        return [transport.url, *transport.headers.values()]
    return [transport.command, *transport.args, *transport.env.values()]


def _replaced(transport: Stdio | Http, secrets: Mapping[str, str]) -> Stdio | Http:
    def one(text: str) -> str:
        return secrets.get(text, text)

    def each(texts: Mapping[str, str]) -> dict[str, str]:
        return {name: one(text) for name, text in texts.items()}

    if isinstance(transport, Http):
        return Http(one(transport.url), each(transport.headers), transport.guarded)
    return Stdio(one(transport.command), tuple(map(one, transport.args)), each(transport.env))


def _where(error: Exception) -> str:
    """The place of a mistake, without its line, which may contain a secret."""
    mark = getattr(error, "problem_mark", None)
    return f"{getattr(error, 'problem', None) or 'can not be read'}, line {mark.line + 1}" if mark else str(error)
