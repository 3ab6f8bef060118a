"""The answer of a turn, streamed in pieces while its model writes it; hints, whose loss does no harm."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Self

from executor.domain.answers.pieces import Pieces
from executor.domain.outcomes import Outcome, TaskAnswered
from executor.domain.run import Run
from executor.file_ports import Blobs

PublishPiece = Callable[[Run, str, int, str], Awaitable[None]]
"""Of a run's task: the number of the piece, and its text. Number 0: the pieces so far don't count."""


@dataclass
class AnswerStream:
    """`known`: values that no piece may hold."""

    publish: PublishPiece
    run: Run
    task_id: str
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
        if self._number and not self._ended:
            await self.publish(self.run, self.task_id, 0, "")

    async def end(self, outcome: Outcome, blobs: Blobs) -> None:
        """The rest of the answer, if some of it was streamed."""
        if not self._number or not isinstance(outcome, TaskAnswered):
            return
        left = self._pieces.end(await blobs.read(outcome.output))
        self._ended = left is not None
        for piece in left or ():
            await self._send(piece)

    async def _send(self, piece: str) -> None:
        self._number += 1
        await self.publish(self.run, self.task_id, self._number, piece)
