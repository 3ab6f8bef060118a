"""What the memory listens to, and which use case each message goes to."""

from dataclasses import dataclass

from memory.domain import Owner
from memory.follow_robots import FollowRobots
from memory.forget import ForgetEntries
from memory.recall import RecallEntries
from memory.remember import RememberEntries
from memory.search_shared import SearchSharedEntries
from memory.share import ShareEntries
from memory.unshare import UnshareEntries
from rota_common.bus.router import Router
from rota_contracts.catalog import (
    FORGET,
    RECALL,
    REMEMBER,
    ROBOT_CHANGED,
    ROBOT_DELETED,
    SEARCH_SHARED,
    SHARE,
    UNSHARE,
)
from rota_contracts.envelope import Event
from rota_contracts.messages.memory import (
    Forget,
    ForgetReply,
    Recall,
    RecallReply,
    Remember,
    RememberReply,
    SearchShared,
    SearchSharedReply,
    Share,
    ShareReply,
    Unshare,
)
from rota_contracts.messages.robot_facts import RobotChangedV1, RobotDeletedV1


@dataclass(frozen=True)
class UseCases:
    """What the memory does."""

    remember: RememberEntries
    recall: RecallEntries
    forget: ForgetEntries
    follow: FollowRobots
    share: ShareEntries
    unshare: UnshareEntries
    search_shared: SearchSharedEntries


def build_handlers(uses: UseCases) -> Router:
    router = Router()
    _robots(router, uses)
    _teams(router, uses)

    @router.consume(ROBOT_CHANGED)
    async def on_robot_changed(event: Event[RobotChangedV1]) -> None:
        await uses.follow.changed(Owner(event.data.team_id, event.data.member_id), rev=event.data.rev, at=event.time)

    @router.consume(ROBOT_DELETED)
    async def on_robot_deleted(event: Event[RobotDeletedV1]) -> None:
        await uses.follow.deleted(Owner(event.data.team_id, event.data.member_id), rev=event.data.rev, at=event.time)

    return router


def _robots(router: Router, uses: UseCases) -> None:
    """Questions about what a robot knows."""

    @router.answer(REMEMBER)
    async def on_remember(question: Remember) -> RememberReply:
        return await uses.remember(question)

    @router.answer(RECALL)
    async def on_recall(question: Recall) -> RecallReply:
        return await uses.recall(question)

    @router.answer(FORGET)
    async def on_forget(question: Forget) -> ForgetReply:
        return await uses.forget(question)


def _teams(router: Router, uses: UseCases) -> None:
    """Questions about what a team shares."""

    @router.answer(SHARE)
    async def on_share(question: Share) -> ShareReply:
        return await uses.share(question)

    @router.answer(UNSHARE)
    async def on_unshare(question: Unshare) -> ForgetReply:
        return await uses.unshare(question)

    @router.answer(SEARCH_SHARED)
    async def on_search_shared(question: SearchShared) -> SearchSharedReply:
        return await uses.search_shared(question)
