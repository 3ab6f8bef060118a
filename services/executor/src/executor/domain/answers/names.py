"""Names of tools as models write them: aliases, prefixes and separators."""

import re
from collections.abc import Mapping, Sequence

from executor.domain.conversation.chat import Tool

FAMILIES = (
    ("shell", "bash", "sh", "exec", "command", "cmd", "run_command", "execute_command", "terminal"),
    ("read_file", "file_read", "fileread", "readfile", "cat"),
    ("write_file", "file_write", "filewrite", "writefile", "create_file"),
    ("list_files", "file_list", "filelist", "list_dir", "list_directory", "ls"),
    ("memory_search", "memory_recall", "memoryrecall", "recall", "memrecall"),
    ("memory_get", "memoryget", "memget"),
    ("web_search", "websearch", "search_web"),
    ("fetch", "http_request", "httprequest", "http", "curl", "web_fetch", "webfetch"),
    ("attach", "attachment", "attach_file"),
)
"""Names of one tool; the first is the built-in tool's own."""

PREFIX = re.compile(r"^(?:functions?|tools?|default_api|mcp)[.:/]", re.IGNORECASE)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


ALIASES: Mapping[str, frozenset[str]] = {
    _plain(name): frozenset(map(_plain, family)) for family in FAMILIES for name in family
}


def own_name(name: str, tools: Sequence[Tool]) -> str:
    """The name of the one tool that is meant; `name` as it came if none is, or several are."""
    name = name.strip()
    if any(tool.name == name for tool in tools):
        return name
    bare = PREFIX.sub("", name)
    for means in (_same(bare, tools), _of_server(bare, tools), _alias(bare, tools)):
        if len(means) == 1:
            return means.pop()
    return name


def is_known(name: str, tools: Sequence[Tool]) -> bool:
    known = {tool.name for tool in tools}
    return own_name(name, tools) in known


def _same(name: str, tools: Sequence[Tool]) -> set[str]:
    return {tool.name for tool in tools if _plain(name) in (_plain(tool.name), _plain(f"{tool.server}{tool.tool}"))}


def _of_server(name: str, tools: Sequence[Tool]) -> set[str]:
    """Without the name of its server."""
    return {tool.name for tool in tools if _plain(name) == _plain(tool.tool)}


def _alias(name: str, tools: Sequence[Tool]) -> set[str]:
    family = ALIASES.get(_plain(name), frozenset())
    return {tool.name for tool in tools if {_plain(tool.name), _plain(tool.tool)} & family}
