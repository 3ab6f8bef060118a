"""Owners of knowledge and their lives: a robot's name may be used again after the robot was deleted."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from rota_common.errors import Permanent
from rota_contracts.messages.memory import MemoryEntry, RecalledEntry, SharedEntry, SharedMatch, private_kb
from rota_contracts.robots.robot import Robot

Found = TypeVar("Found", RecalledEntry, SharedMatch)

REPLY_LIMIT = 400_000
"""Bytes of one list of a reply: a message holds 1 MB, and a reply may have two lists."""

MAX_COLLECTIONS = 50
"""Collections in one question: each is a search of its own."""

VECTOR_WEIGHT, KEYWORD_WEIGHT = 0.7, 0.3
CANDIDATES = 4
"""Of each entry that is wanted, so many of the nearest are compared by their words, too."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A robot, as the owner of its entries and files; or with `agent` a person, as the owner of the files for it."""

    team: str
    member: str
    agent: str = ""

    @property
    def tenant(self) -> str:
        """The key of the owner's entries. Names hold no dots, so no two owners share one."""
        return f"{self.team}.{self.member}.{self.agent}" if self.agent else f"{self.team}.{self.member}"

    @property
    def label(self) -> str:
        """For people; two robots may share it, so nothing is found by it."""
        return private_kb(self.team, self.member)


@dataclass(frozen=True, slots=True)
class Shelf:
    """A collection of a team's shared knowledge."""

    team: str
    collection: str

    @property
    def tenant(self) -> str:
        """The key of its entries. Names hold no dots, so no two shelves share one."""
        return f"{self.team}.{self.collection}"


@dataclass(frozen=True, slots=True)
class KnowledgeBase:
    """`rev` is the highest known revision of the robot, `deleted_rev` that of its last deletion (0 = none)."""

    owner: Owner
    created_at: datetime
    rev: int = 0
    deleted_rev: int = 0
    deleted_at: datetime | None = None

    @property
    def deleted(self) -> bool:
        return self.deleted_rev > 0 and self.deleted_rev >= self.rev


def revision(robot: Robot | None) -> int | None:
    """The revision that new knowledge belongs to; None if the robot is deleted, 0 if it is unknown."""
    if robot is None:
        return 0
    return None if robot.deleted else robot.rev


def acceptable(entries: Sequence[MemoryEntry], rev: int | None, known: KnowledgeBase | None) -> list[MemoryEntry]:
    """The entries that may be kept: none of a deleted robot, and none that an earlier robot of that name learnt."""
    if rev is None or outlived(known, rev):
        return []
    ended = known.deleted_at if known else None
    return [entry for entry in entries if ended is None or entry.created_at > ended]


def outlived(known: KnowledgeBase | None, rev: int) -> bool:
    """Was the robot deleted at this revision or a later one?"""
    return known is not None and known.deleted_rev > 0 and known.deleted_rev >= rev


def newest(entries: Sequence[SharedEntry]) -> list[SharedEntry]:
    """Of several entries with one id, the last."""
    return list({(entry.collection, entry.id): entry for entry in entries}.values())


def searchable(collections: Sequence[str]) -> list[str]:
    """Each of them once. Raises Permanent when they are too many."""
    names = list(dict.fromkeys(collections))
    if len(names) > MAX_COLLECTIONS:
        raise Permanent(f"expected at most {MAX_COLLECTIONS} collections in one question, got {len(names)}: name fewer")
    return names


def ranked(query: str, nearest: Sequence[Found], *, limit: int, min_score: float = 0) -> list[Found]:
    """The best of those that are nearest in meaning, by meaning and words together; their score is of both."""
    wanted = _words(query)
    scored = [one.model_copy(update={"score": _score(one, wanted)}) for one in nearest]
    good = [one for one in scored if one.score >= min_score or not min_score]
    return sorted(good, key=lambda one: -one.score)[:limit]


def _score(one: RecalledEntry | SharedMatch, wanted: frozenset[str]) -> float:
    text = one.entry.content if isinstance(one, RecalledEntry) else f"{one.entry.title} {one.entry.content}"
    return VECTOR_WEIGHT * one.score + KEYWORD_WEIGHT * len(wanted & _words(text)) / (len(wanted) or 1)


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.casefold()))


def fitting(found: Sequence[Found]) -> list[Found]:
    """The first of them, as many as one reply holds."""
    kept: list[Found] = []
    size = 0
    for one in found:
        size += len(one.model_dump_json().encode())
        if size > REPLY_LIMIT:
            break
        kept.append(one)
    return kept
