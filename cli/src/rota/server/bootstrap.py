"""Keys of a data folder: the administrator's, and the first team's."""

import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from rota.api_error import ApiError
from rota.client import Api
from rota.context_files import write_private
from rota.errors import CliError

FIRST_TEAM = "main"
CONFLICT = 409


@dataclass(frozen=True)
class Keys:
    admin_key: str
    team: str = FIRST_TEAM
    api_key: str = ""


def load_keys(folder: Path, admin_key: str = "") -> Keys:
    """The folder's keys. A missing administrator's key is generated and saved before anything uses it."""
    saved = _read(folder)
    keys = Keys(admin_key or saved.get("admin_key") or secrets.token_urlsafe(32), api_key=saved.get("api_key", ""))
    _save(folder, keys)
    return keys


async def ensure_team(url: str, folder: Path, keys: Keys) -> Keys:
    """The keys with the first team's, which is created if the folder has no key for it."""
    if keys.api_key:
        return keys
    async with Api(url, keys.team, key=keys.admin_key) as api:
        try:
            created = await api.create_team(keys.team)
        except ApiError as error:
            if error.status != CONFLICT:
                raise
            raise CliError(
                f"the team {keys.team} exists, but {_file(folder)} has no key for it",
                hint="set ROTA_TEAM and ROTA_API_KEY to one of its keys, or start with another --data folder",
            ) from error
    complete = Keys(keys.admin_key, keys.team, str(created["api_key"]))
    _save(folder, complete)
    return complete


def _file(folder: Path) -> Path:
    return folder / "keys.json"


def _save(folder: Path, keys: Keys) -> None:
    write_private(_file(folder), json.dumps(asdict(keys), indent=2))


def _read(folder: Path) -> dict[str, str]:
    try:
        saved = json.loads(_file(folder).read_text())
        return {str(name): str(value) for name, value in saved.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as error:
        raise CliError(f"can't read the keys in {_file(folder)}: {error}", hint="repair it, or remove it") from error
