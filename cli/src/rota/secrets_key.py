"""The rotation of the master key in its file: one key a line, of which the first one seals.

The new key is kept beside the file until the rotation is over, so that a repeated command goes on where it was cut off.
"""

import asyncio
import base64
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rota.client import Api, Json
from rota.errors import CliError
from rota_contracts.secret_refs import key_fingerprint

KEY_BYTES = 32
WAIT_S = 15.0
"""Seconds until every gateway has read a changed file: three times as often as they look."""


@dataclass(frozen=True)
class KeyFile:
    path: Path

    @property
    def beside(self) -> Path:
        """Holds the new key during a rotation."""
        return self.path.with_name(f"{self.path.name}.rotation")

    def read(self, path: Path) -> list[str]:
        try:
            keys = path.read_text(encoding="ascii").split()
        except (OSError, UnicodeDecodeError) as error:
            raise CliError(f"can't read the keys in {path}: {error}", hint="name the gateway's key file") from error
        if not keys:
            raise CliError(f"expected keys in {path}, one a line: it is empty", hint="restore it from the backup")
        return keys

    def write(self, path: Path, keys: Sequence[str]) -> None:
        """Whole or not at all, with the mode and owner that the key file has, and on the disk."""
        about = self.path.stat()
        draft = path.with_name(f".{path.name}-{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:
            os.fchmod(opened.fileno(), about.st_mode & 0o770)
            if os.geteuid() == 0:
                os.fchown(opened.fileno(), about.st_uid, about.st_gid)
            opened.write("\n".join(keys) + "\n")
            opened.flush()
            os.fsync(opened.fileno())
        draft.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def new_key(self) -> str:
        """That of a rotation that was cut off, else one that is made now."""
        if not self.beside.exists():
            self.write(self.beside, [base64.urlsafe_b64encode(os.urandom(KEY_BYTES)).decode()])
        return self.read(self.beside)[0]


async def rotate(file: Path, api: Api, *, wait: float) -> Json:
    """Seal every secret with a new key, and drop the old ones then. Safe to repeat after a crash at any point: each key
    stays in the file until nothing is sealed with it, and each gateway can open what another one seals.

    The gateway's last answer. Raises CliError if the gateway doesn't read this file, or can't seal everything anew.
    """
    keys = KeyFile(file)
    old = keys.read(file)
    new = keys.new_key()
    others = [key for key in old if key != new]
    if new not in old:
        keys.write(file, [*old, new])
    if old[0] != new:
        await _known(api, wait, lambda known: key_fingerprint(new) in known["keys"])
        keys.write(file, [new, *others])
    answer = await _known(api, wait, lambda known: known["keys"][:1] == [key_fingerprint(new)])
    if answer["left"]:
        what = f"{answer['left']} secrets are still sealed with an old key, so it stays"
        raise CliError(what, hint="the gateway's log names those that can't be opened; then repeat the command")
    keys.write(file, [new])
    keys.beside.unlink()
    return answer


async def _known(api: Api, wait: float, so: Callable[[Json], bool]) -> Json:
    """The answer of a gateway that has read the changed file, when all others have read it too."""
    await asyncio.sleep(wait)
    answer = await api.reseal()
    if not so(answer):
        raise CliError(
            f"expected the gateway at {api.url} to use the keys of this file: it uses others",
            hint="name the file of its ROTA_SECRETS_KEY_FILE, without ROTA_SECRETS_KEY beside it, or give it more time"
            " with --wait; then repeat the command",
        )
    return answer
