"""The file of the master key that seals secrets: one key a line, the newest first."""

import base64
import os
from pathlib import Path

from rota.context import write_private
from rota.errors import CliError

KEY_BYTES = 32


def rotate(file: Path, *, drop_old: bool) -> int:
    """Put a new key in front, or keep the first one only; the number of keys that are left."""
    try:
        keys = file.read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(
            f"can't read the keys in {file}: {error}", hint="name the file of ROTA_SECRETS_KEY_FILE"
        ) from error
    if not keys:
        raise CliError(f"expected keys in {file}, one a line: it is empty", hint="restore it from the backup")
    kept = keys[:1] if drop_old else [base64.urlsafe_b64encode(os.urandom(KEY_BYTES)).decode(), *keys]
    write_private(file, "\n".join(kept))
    return len(kept)
