"""The long texts of a run, which lie outside of it."""

from dataclasses import dataclass, field
from datetime import timedelta

from executor.domain.run import Run
from rota_common.stores.blobs import Owner, text_of
from rota_contracts.messages.text import INLINE_LIMIT, Text

NAMED_BY_RUN = 4
"""The version of the understanding since which the texts of a run are named under it."""

RETRIED_FOR = timedelta(days=4)
"""Longer than the delivery-center tries to deliver a text, which it reads for each attempt."""


def owner_of(run: Run) -> Owner:
    return Owner(run.execution.team_id, run.id)


@dataclass
class LargeTexts:
    """Makes texts of outputs; those too long for a document are collected in `large`, for the caller to store.

    Without an owner they are named by their content alone, as earlier versions did."""

    owner: Owner | None = None
    large: list[str] = field(default_factory=list)

    def text(self, whole: str, limit: int = INLINE_LIMIT) -> Text:
        made = text_of(whole, owner=self.owner, inline_limit=limit)
        if made.ref is not None:
            self.large.append(whole)
        return made


def texts_again(run: Run, version: int) -> LargeTexts:
    """The texts of an answer that was understood by this version, named as they were then."""
    return LargeTexts(owner_of(run) if version >= NAMED_BY_RUN else None)
