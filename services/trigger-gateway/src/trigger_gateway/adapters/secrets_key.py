"""The master key that seals secrets: a file that the first gateway makes, and others read."""

import base64
import contextlib
import os
import tempfile
from pathlib import Path

KEY_BYTES = 32
OTHERS = 0o007
"""The permissions of everybody who is neither its owner nor in its group."""


def load_key(given: str, file: Path | None) -> str:
    """The keys with commas between: the given ones, then the file's, one a line. A missing file is made, mode 0600.

    Raise ValueError for a file that can't be read or made, or that others may read.
    """
    if file is None:
        return given
    try:
        if not file.exists():
            _make(file)
        if file.stat().st_mode & OTHERS:
            raise ValueError(f"ROTA_SECRETS_KEY_FILE: expected {file} to be private: `chmod 600` it")
        saved = file.read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"ROTA_SECRETS_KEY_FILE: expected a file that can be read or made: {error}") from error
    return ",".join([*([given] if given else []), *saved])


def _make(file: Path) -> None:
    """Whole or not at all: replicas may start at the same moment, and the first one's key is everybody's."""
    key = base64.urlsafe_b64encode(os.urandom(KEY_BYTES)).decode()
    handle, draft = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
    try:
        with os.fdopen(handle, "w", encoding="ascii") as opened:
            opened.write(key + "\n")
            opened.flush()
            os.fsync(opened.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, file)
    finally:
        Path(draft).unlink()
