"""The built-in tools for files: of the robot's workspace, and attachments."""

import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from executor.domain.conversation import made_files
from executor.file_ports import Files
from executor.tool_ports import NotBegun, ToolFailed
from executor.tools.registry import Call, Work
from rota_common.bus.rpc import Ask
from rota_common.errors import Permanent, Transient
from rota_contracts.catalog import LIST_FILES, READ_FILE, WRITE_FILE, Question
from rota_contracts.ids import derived_id
from rota_contracts.messages.workspace import FILE_LIMIT, FileReply, ListFiles, ReadFile, WriteFile, WriteMode
from rota_contracts.model import Part
from rota_contracts.robots.resources import BuiltInTool

Q = TypeVar("Q", bound=Part)
A = TypeVar("A", bound=Part)


@dataclass(frozen=True, kw_only=True)
class FileTools:
    ask: Ask
    files: Files

    def works(self) -> Mapping[BuiltInTool, Work]:
        return {
            BuiltInTool.READ_FILE: self.read,
            BuiltInTool.WRITE_FILE: self.write,
            BuiltInTool.LIST_FILES: self.list,
            BuiltInTool.ATTACH: self.attach,
        }

    async def read(self, call: Call) -> str:
        return await self._content(call, call.arguments.text("path"))

    async def write(self, call: Call) -> str:
        """Written once however often the call is repeated."""
        path, content = call.arguments.text("path"), call.arguments.text("content")
        mode = WriteMode(call.arguments.text("mode", WriteMode.REPLACE.value))
        write_id = derived_id("write", call.step_id)
        wanted = _request(WriteFile, call, path=path, content=content, mode=mode, write_id=write_id)
        reply = _done(await answered(self.ask, WRITE_FILE, wanted))
        return f"{wanted.path}: written, {reply.file.size if reply.file else 0} bytes"

    async def list(self, call: Call) -> str:
        folder = call.arguments.text("folder").strip("./")
        found = (await answered(self.ask, LIST_FILES, _request(ListFiles, call, folder=folder))).files
        lines = [f"{one.path} ({one.size} bytes, changed {one.updated_at:%Y-%m-%d %H:%M} UTC)" for one in found]
        return "\n".join(lines) or (f"there are no files below {folder}" if folder else "there are no files yet")

    async def attach(self, call: Call) -> str:
        """A file of the team's, named by the call's step: a repeated call attaches the same."""
        path, text = call.arguments.text("path"), call.arguments.text("text")
        if bool(path) == bool(text):
            raise ToolFailed("attach: expected either path, one of your files, or text and a name")
        content = (await self._content(call, path) if path else text).encode(errors="replace")
        if len(content) > FILE_LIMIT:
            raise ToolFailed(f"attach: expected at most {FILE_LIMIT} bytes, got {len(content)}")
        name = file_name(call.arguments.text("name") or path.rpartition("/")[2])
        kind = mimetypes.guess_type(name)[0] or "text/plain"
        file_id = made_files.file_id(call.step_id, 1)
        try:
            stored = await self.files.keep(call.robot.team_id, file_id, name, kind, content)
        except Transient as error:
            raise NotBegun(str(error), after=error.after) from error
        except Permanent as error:
            raise ToolFailed(f"attach: {name} can't be kept: {error}") from error
        return made_files.line(name, f"{kind}, {len(content)} bytes", stored.file)

    async def _content(self, call: Call, path: str) -> str:
        return _done(await answered(self.ask, READ_FILE, _request(ReadFile, call, path=path))).content or ""


def file_name(given: str) -> str:
    """A name that the answer of a tool can hold."""
    return re.sub(r"[^\w.-]", "_", given)[:100].lstrip(".") or "attachment.txt"


async def answered(ask: Ask, question: Question[Q, A], request: Q) -> A:
    """The answer of another service. Raises NotBegun while there is none: these calls may be repeated."""
    try:
        return await ask(question, request)
    except Transient as error:
        raise NotBegun(f"the {question.answered_by} doesn't answer now", after=error.after) from error
    except Permanent as error:
        raise ToolFailed(str(error)) from error


def _request(kind: type[Q], call: Call, **fields: Any) -> Q:
    try:
        return kind.model_validate({"team_id": call.robot.team_id, "member_id": call.robot.member_id, **fields})
    except ValidationError as error:
        raise ToolFailed("; ".join(each["msg"].removeprefix("Value error, ") for each in error.errors())) from error


def _done(reply: FileReply) -> FileReply:
    if reply.refused is not None:
        raise ToolFailed(reply.reason)
    return reply
