"""YAML with the scalars of YAML 1.2's core schema: `on`, `no`, `09:00` and `2026-03-01` are texts."""

import re
from collections.abc import Iterator
from typing import Any

import yaml

_TAG = "tag:yaml.org,2002:"


class CoreLoader(yaml.SafeLoader):
    """PyYAML's own resolvers are those of YAML 1.1, to which `on` is true and 09:30 the number 570."""

    yaml_implicit_resolvers: dict[str, Any] = {}


for _name, _form, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
    ("merge", r"<<", ["<"]),
):
    CoreLoader.add_implicit_resolver(f"{_TAG}{_name}", re.compile(f"(?:{_form})$"), _first)


def _whole_number(loader: CoreLoader, node: yaml.ScalarNode) -> int:
    """Leading zeros are decimal; `0o17` is octal."""
    text = str(loader.construct_scalar(node))
    return int(text, 0) if text[:2] in ("0o", "0x") else int(text)


CoreLoader.add_constructor(f"{_TAG}int", _whole_number)


def load_all(text: str) -> Iterator[Any]:
    """The documents of a YAML text. Raises yaml.YAMLError."""
    return yaml.load_all(text, Loader=CoreLoader)
