"""Arguments of a call in tags: parameters, pairs of key and value, and tags that are the names themselves."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any

from rota_common.json_text import parse_json
from rota_contracts.model import Json

PARAMETER = re.compile(
    r"<(?:[\w-]{1,20}:)?parameter\s+name\s*=\s*[\"']?([\w.-]{1,128})[\"']?[^<>]{0,100}>(.*?)"
    r"(?=</(?:[\w-]{1,20}:)?parameter>|<(?:[\w-]{1,20}:)?parameter\s|</?invoke|\Z)",
    re.DOTALL | re.IGNORECASE,
)
PAIR = re.compile(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)(?:</arg_value>|(?=<arg_key>)|\Z)", re.DOTALL)
NAMED = re.compile(r"<(?:tool_name|name|tool)>\s*([\w.:-]{1,128})\s*</(?:tool_name|name|tool)>", re.IGNORECASE)
GIVEN = re.compile(r"<(arguments|parameters|args|input)>(.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
ELEMENT = re.compile(r"<([A-Za-z_][\w.-]{0,63})>(.*?)(?:</\1>|\Z)", re.DOTALL)
FIRST_LINE = re.compile(r"\s*([A-Za-z_][\w.:-]{0,127})\s*(?=<arg_key>)")

Given = tuple[str, dict[str, Any]]


def parameters(body: str) -> dict[str, Any]:
    """`<parameter name="key">value</parameter>`."""
    return {found[1]: value(found[2]) for found in PARAMETER.finditer(body)}


def arguments_of(body: str) -> Given | None:
    """A name before pairs of key and value, or in a tag of its own before the arguments."""
    if first := FIRST_LINE.match(body):
        return first[1], {found[1].strip(): value(found[2]) for found in PAIR.finditer(body)}
    named = NAMED.search(body)
    if named is None:
        return None
    given = GIVEN.search(body, named.end())
    if given is None:
        return named[1], parameters(body)
    found = _object(given[2])
    return named[1], found if found is not None else parameters(given[2]) or elements(given[2])


def nested(body: str, is_known: Callable[[str], bool]) -> tuple[str, dict[str, Any] | str] | None:
    """`<shell><command>ls</command></shell>`, or JSON in the tag of the tool's name; other text as it is."""
    outer = ELEMENT.match(body.strip())
    if outer is None or not is_known(outer[1]):
        return None
    inner = outer[2].strip()
    if "<" in inner and not inner.startswith("{"):
        return outer[1], elements(inner)
    found = _object(inner)
    return outer[1], found if found is not None else inner


def elements(body: str) -> dict[str, Any]:
    return {found[1]: value(found[2]) for found in ELEMENT.finditer(body)}


def value(text: str) -> Json:
    """A value as text; an object or a list as JSON."""
    text = text.strip("\r\n")
    if text.lstrip()[:1] in ("{", "["):
        try:
            return parse_json(text)
        except ValueError:
            pass
    return unescape(text) if "&" in text else text


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = parse_json(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
