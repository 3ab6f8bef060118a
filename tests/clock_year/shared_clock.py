"""A virtual clock that processes share: eight bytes of a file, set by the driver and read by a replica."""

import mmap
import struct
from datetime import UTC, datetime, timedelta
from pathlib import Path

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
FORM = struct.Struct("<q")


class SharedClock:
    """Calling it returns the time shown last, in milliseconds as Rota's own clock."""

    def __init__(self, file: Path) -> None:
        with file.open("r+b") as opened:
            self._bytes = mmap.mmap(opened.fileno(), FORM.size)

    @classmethod
    def made(cls, file: Path, at: datetime) -> "SharedClock":
        file.write_bytes(bytes(FORM.size))
        clock = cls(file)
        clock.show(at)
        return clock

    def show(self, at: datetime) -> None:
        FORM.pack_into(self._bytes, 0, (at - EPOCH) // MILLISECOND)

    def __call__(self) -> datetime:
        (shown,) = FORM.unpack_from(self._bytes)
        return EPOCH + int(shown) * MILLISECOND
