"""The built-in tools as models see them: names, descriptions, arguments."""

from collections.abc import Mapping
from typing import Any

from executor.domain.conversation.chat import BUILT_IN, Tool
from rota_contracts.messages.workspace import FILE_LIMIT, LEVELS, PATH_LIMIT
from rota_contracts.robots.resources import BuiltInTool

PATH = {
    "type": "string",
    "description": f"a path inside your files, like memory/2026-11-23.md; at most {PATH_LIMIT} characters, "
    f"{LEVELS} levels",
}
QUERY = {"type": "string", "description": "a few words"}


def _object(*required: str, **properties: Mapping[str, Any]) -> dict[str, Any]:
    shown = {"type": "object", "properties": properties, "additionalProperties": False}
    return shown | ({"required": list(required)} if required else {})


def _tool(
    name: BuiltInTool,
    description: str,
    parameters: dict[str, Any],
    *,
    read_only: bool = True,
    repeatable: bool = False,
) -> Tool:
    return Tool(
        name=name.value,
        server=BUILT_IN,
        tool=name.value,
        description=description,
        parameters=parameters,
        idempotent=True,
        read_only=read_only,
        repeatable=repeatable,
    )


TOOLS: Mapping[BuiltInTool, Tool] = {
    BuiltInTool(tool.tool): tool
    for tool in (
        _tool(
            BuiltInTool.READ_FILE,
            "Read one of your files. They stay from run to run.",
            _object("path", path=PATH),
            repeatable=True,
        ),
        _tool(
            BuiltInTool.WRITE_FILE,
            f"Write one of your files, which later runs can read: text, at most {FILE_LIMIT} bytes.",
            _object(
                "path",
                "content",
                path=PATH,
                content={"type": "string", "description": "the text"},
                mode={
                    "type": "string",
                    "enum": ["replace", "append"],
                    "description": "append: to the end of the file; default replace",
                },
            ),
            read_only=False,
        ),
        _tool(
            BuiltInTool.LIST_FILES,
            "List your files: path, size and when each was changed.",
            _object(folder={"type": "string", "description": "only the files below this folder; default all"}),
            repeatable=True,
        ),
        _tool(
            BuiltInTool.SKILL_SEARCH,
            "Find skills, which are instructions for kinds of work: the best match in full, the others by name.",
            _object(
                "query",
                query={"type": "string", "description": "the name of a skill, or a few words"},
                file={"type": "string", "description": "one of its files, in place of its text"},
            ),
            repeatable=True,
        ),
        _tool(
            BuiltInTool.MCP_TOOL_SEARCH,
            "Find more tools by words of their names and descriptions. What it finds can be called from then on.",
            _object("query", query=QUERY),
        ),
        _tool(
            BuiltInTool.MEMORY_SEARCH,
            "Search what earlier runs have learnt, and the team's shared knowledge, by meaning.",
            _object(
                "query",
                query=QUERY,
                limit={"type": "integer", "minimum": 1, "maximum": 20, "description": "results; default 5"},
            ),
        ),
        _tool(
            BuiltInTool.ATTACH,
            "Attach a file to your result: one of your files by path, or a text under a name.",
            _object(
                path=PATH,
                text={"type": "string", "description": "the content, in place of a path"},
                name={"type": "string", "description": "the file's name for those who receive it, like report.md"},
            ),
            read_only=False,
        ),
    )
}
