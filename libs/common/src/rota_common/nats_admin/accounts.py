"""The accounts of the NATS server: the platform's, the system's, and one for each team with feed clients."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from rota_common.nats_admin.permissions import (
    API,
    BACKUP,
    OPERATOR,
    PROCESS_ANSWER_S,
    SPARE_S,
    TOPOLOGY,
    Permissions,
    of_backup,
    of_feed_client,
    of_operator,
    of_service,
    of_topology,
)
from rota_contracts.catalog import ROOT, SERVICES, agent_subject
from rota_contracts.feed import API_PREFIX, ack_subject, consumer_api, team_subjects
from rota_contracts.messages.agent import LONGEST_S
from rota_contracts.model import Name

PLATFORM, SYSTEM = "ROTA", "SYS"
SYSTEM_USER = "sys"
USERS = (*SERVICES, TOPOLOGY, BACKUP, OPERATOR, SYSTEM_USER)
"""The users with a key, besides the teams' feed clients."""

HEADER = "# Written by `rota nats-config` and `rota feed-clients`: they write it anew, so change nothing here.\n"
PublicKey = Annotated[str, Field(pattern="^U[A-Z2-7]{55}$")]


class Accounts(BaseModel):
    """Public keys, by user of the platform and by team and feed client; `callers`: those of a team's clients that may
    call its agents."""

    users: dict[str, PublicKey] = {}
    teams: dict[Name, dict[Name, PublicKey]] = {}
    callers: dict[Name, list[Name]] = {}

    def with_team(self, team: str, keys: Mapping[str, str], callers: Collection[str]) -> "Accounts":
        """With these clients of the team, and no others."""
        teams = {**self.teams, team: {**keys}}
        calling = {**self.callers, team: sorted(callers)}
        return Accounts(
            users=self.users,
            teams={name: each for name, each in teams.items() if each},
            callers={name: each for name, each in calling.items() if each},
        )


def read_accounts(file: Path) -> Accounts:
    """The accounts in the file; none if it doesn't exist."""
    return Accounts.model_validate_json(file.read_text()) if file.exists() else Accounts()


def render(accounts: Accounts) -> str:
    """The accounts in the server's format, which takes JSON for values."""
    teams = {
        account_of(team): _team(team, names, accounts.callers.get(team, []))
        for team, names in sorted(accounts.teams.items())
        if names
    }
    everyone = {SYSTEM: _system(accounts), PLATFORM: _platform(accounts), **teams}
    return f"{HEADER}system_account: {SYSTEM}\naccounts: {json.dumps(everyone, indent=2)}\n"


def account_of(team: str) -> str:
    return f"TEAM_{team}"


def _system(accounts: Accounts) -> dict[str, Any]:
    return {"users": [{"nkey": key} for name, key in accounts.users.items() if name == SYSTEM_USER]}


def _platform(accounts: Accounts) -> dict[str, Any]:
    granted = {name: of_service(name) for name in SERVICES}
    granted |= {TOPOLOGY: of_topology(), BACKUP: of_backup(), OPERATOR: of_operator()}
    exports, imports = [], []
    for team, names in sorted(accounts.teams.items()):
        if names:
            exports += _exports(team, sorted(names), calls=bool(accounts.callers.get(team)))
            imports.append({"service": {"account": account_of(team), "subject": _processes(team)}})
    return {
        "jetstream": "enabled",
        "users": [_user(key, granted[name]) for name, key in sorted(accounts.users.items()) if name in granted],
        "exports": exports,
        "imports": imports,
    }


def _exports(team: str, names: list[str], *, calls: bool) -> list[dict[str, Any]]:
    """The platform's exports to the account of one team alone."""
    to: dict[str, Any] = {"accounts": [account_of(team)]}
    return [
        *({"stream": subject, **to} for subject in team_subjects(team)),
        *(
            # A pull has many messages as its reply.
            {"service": f"{API}.{verb}", "response_type": "stream", **to}
            for name in names
            for verb in consumer_api(team, name)
        ),
        *({"service": ack_subject(team, name), **to} for name in names),
        *([{"service": agent_subject(team, ">"), **_answered_once(LONGEST_S + SPARE_S), **to}] if calls else []),
    ]


def _team(team: str, names: dict[str, str], callers: Collection[str]) -> dict[str, Any]:
    def service(subject: str, **local: str) -> dict[str, Any]:
        return {"service": {"account": PLATFORM, "subject": subject}, **local}

    return {
        "users": [_user(key, of_feed_client(team, name, calls=name in callers)) for name, key in sorted(names.items())],
        "exports": [
            {
                "service": _processes(team),
                **_answered_once(PROCESS_ANSWER_S),
                "accounts": [PLATFORM],
            }
        ],
        "imports": [
            *({"stream": {"account": PLATFORM, "subject": subject}} for subject in team_subjects(team)),
            *(
                service(f"{API}.{verb}", to=f"{API_PREFIX}.{verb}")
                for name in sorted(names)
                for verb in consumer_api(team, name)
            ),
            *(service(ack_subject(team, name)) for name in sorted(names)),
            *([service(agent_subject(team, ">"))] if callers else []),
        ],
    }


def _answered_once(seconds: int) -> dict[str, str]:
    """Of a service whose reply may take so long: after the server's own two minutes, replies are lost."""
    return {"response_type": "singleton", "response_threshold": f"{seconds}s"}


def _processes(team: str) -> str:
    return f"{ROOT}.process.{team}.>"


def _user(key: str, granted: Permissions) -> dict[str, Any]:
    permissions: dict[str, Any] = {
        "publish": {"allow": list(granted.publish)},
        "subscribe": {"allow": list(granted.subscribe)},
    }
    if granted.answers is not None:
        permissions["allow_responses"] = {"max": granted.parts, "expires": f"{granted.answers}s"}
    return {"nkey": key, "permissions": permissions}
