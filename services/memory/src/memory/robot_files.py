"""The files of robots and of people: written, read, listed and deleted."""

from dataclasses import dataclass

from memory.domain import Owner, outlived, revision
from memory.ports import KnowledgeBases, Robots, Workspaces
from memory.workspace import File, Refused, missing, require, writing
from rota_common.clock import Clock
from rota_contracts.envelope import Event
from rota_contracts.messages.robot_facts import RobotDeletedV1
from rota_contracts.messages.workspace import (
    DeleteFile,
    FileList,
    FileRefusal,
    FileReply,
    ListFiles,
    ReadFile,
    WriteFile,
)


@dataclass(frozen=True, kw_only=True)
class RobotFiles:
    workspaces: Workspaces
    bases: KnowledgeBases
    robots: Robots
    clock: Clock

    async def write(self, request: WriteFile) -> FileReply:
        """Write a file of a robot that is there, or of a person."""
        owner = _owner(request)
        if owner.agent:
            return await self._write(request, rev=0)
        robot = await self.robots.find(owner.team, owner.member)
        rev = revision(robot)
        if robot is None or rev is None:
            return _no_robot(owner)
        reply = await self._write(request, rev=rev)
        # The robot may have been deleted since it was read. Its end is noted before its files are removed: either the
        # note is there now and they are removed here, or the removal is still to come and finds them.
        if outlived(await self.bases.find(owner), rev):
            await self.workspaces.clear(owner, up_to_rev=rev)
            return _no_robot(owner)
        return reply

    async def _write(self, request: WriteFile, *, rev: int) -> FileReply:
        decide = writing(request, rev=rev, now=self.clock())
        try:
            return FileReply(file=(await self.workspaces.write(_owner(request), request.path, decide)).info())
        except Refused as error:
            return _refused(error)

    async def read(self, request: ReadFile) -> FileReply:
        file = await self.workspaces.find(_owner(request), request.path)
        if file is None:
            return _refused(missing(request.path))
        return FileReply(file=file.info(), content=file.content)

    async def list(self, request: ListFiles) -> FileList:
        """The owner's files by path."""
        files = await self.workspaces.list(_owner(request))
        folder = request.folder.strip("/")
        return FileList(files=[one for one in files if not folder or one.path.startswith(f"{folder}/")])

    async def delete(self, request: DeleteFile) -> FileReply:
        """Delete a file; the reply has what it was."""

        def allow(file: File) -> None:
            require(file, request.path, request.etag)

        try:
            gone = await self.workspaces.remove(_owner(request), request.path, allow)
        except Refused as error:
            return _refused(error)
        return FileReply(file=gone.info()) if gone else _refused(missing(request.path))

    async def remove_all(self, event: Event[RobotDeletedV1]) -> None:
        """A deleted robot's files go with it; those of a robot made anew since stay."""
        owner = Owner(event.data.team_id, event.data.member_id)
        await self.workspaces.clear(owner, up_to_rev=event.data.rev)


def _owner(request: WriteFile | ReadFile | ListFiles | DeleteFile) -> Owner:
    return Owner(request.team_id, request.member_id, request.agent_id)


def _refused(error: Refused) -> FileReply:
    return FileReply(refused=error.why, reason=str(error))


def _no_robot(owner: Owner) -> FileReply:
    return FileReply(refused=FileRefusal.NO_ROBOT, reason=f"team {owner.team} has no robot {owner.member}")
