"""What a data folder keeps beside the data: the administrator's key, the first team's, the one that seals secrets."""

import base64
import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from rota.client import Api, ApiError
from rota.context import write_private
from rota.errors import CliError

FIRST_TEAM = "main"
CONFLICT = 409


@dataclass(frozen=True)
class Keys:
    admin_key: str
    team: str = FIRST_TEAM
    api_key: str = ""


def admin_key_of(folder: Path, given: str = "") -> Keys:
    """The keys in the folder, or a new administrator's key, saved before anything uses it."""
    kept = _read(folder)
    keys = Keys(given or kept.get("admin_key") or secrets.token_urlsafe(32), FIRST_TEAM, kept.get("api_key", ""))
    _save(folder, keys)
    return keys


async def first_team(url: str, folder: Path, keys: Keys) -> Keys:
    """The keys with that of the first team, which is created when the folder doesn't know one yet."""
    if keys.api_key:
        return keys
    async with Api(url, keys.team, keys.admin_key) as api:
        try:
            answer = await api.create_team(keys.team)
        except ApiError as error:
            if error.status != CONFLICT:
                raise
            raise CliError(
                f"the team {keys.team} exists already, but its key isn't in {_file(folder)}",
                hint="set ROTA_TEAM and ROTA_API_KEY to a key of it, or start with another --data folder",
            ) from error
    made = Keys(keys.admin_key, keys.team, str(answer["api_key"]))
    _save(folder, made)
    return made


def secrets_key_of(folder: Path, given: str = "") -> str:
    """The keys that secrets of sources are kept with: those given, and the folder's, which is made if there is none."""
    file = folder / "secrets.key"
    try:
        kept = file.read_text().strip()
    except FileNotFoundError:
        kept = ""
    except OSError as error:
        raise CliError(f"can't read the key in {file}: {error}", hint="mend it, or set ROTA_SECRETS_KEY") from error
    if not given and not kept:
        kept = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()
        write_private(file, kept)
    return ",".join(key for key in (given, kept) if key)


def _file(folder: Path) -> Path:
    return folder / "keys.json"


def _save(folder: Path, keys: Keys) -> None:
    write_private(_file(folder), json.dumps(asdict(keys), indent=2))


def _read(folder: Path) -> dict[str, str]:
    try:
        held = json.loads(_file(folder).read_text())
        return {str(name): str(value) for name, value in held.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as error:
        raise CliError(f"can't read the keys in {_file(folder)}: {error}", hint="mend it, or remove it") from error
