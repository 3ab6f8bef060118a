"""An answer, streamed in pieces while its model writes it; hints, whose loss does no harm."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Self

from executor.domain.answers.pieces import Pieces

PublishPiece = Callable[[int, str], Awaitable[None]]
"""The number of the piece, and its text. Number 0: the pieces so far don't count."""


@dataclass
class AnswerStream:
    """`known`: values that no piece may hold."""

    publish: PublishPiece
    known: Collection[str] = field(default=(), kw_only=True)
    _pieces: Pieces = field(init=False)
    _number: int = field(default=0, init=False)
    _ended: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._pieces = Pieces(known=self.known)

    async def feed(self, more: str) -> None:
        for piece in self._pieces.feed(more):
            await self._send(piece)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Without an answer, what was streamed doesn't count."""
        if self.begun and not self._ended:
            await self.publish(0, "")

    @property
    def begun(self) -> bool:
        return self._number > 0

    async def end(self, answer: str) -> None:
        """The rest of the whole answer, once some of it was streamed."""
        left = self._pieces.end(answer)
        self._ended = left is not None
        for piece in left or ():
            await self._send(piece)

    async def _send(self, piece: str) -> None:
        self._number += 1
        await self.publish(self._number, piece)
