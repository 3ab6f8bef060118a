"""Small files, small functions, names that say something."""

import ast
import io
import re
import tokenize

from tests.architecture.sources import Function, all_sources, functions, installed

MODULE_LINES = 300
FUNCTION_LINES = 40
COMPOSITION = re.compile(r"_?build|over$")
"""What puts parts together, one after the other: `build(…)`, `build_handlers(…)`, `UseCases.over(…)`."""
CODED = re.compile(r"(noqa: [A-Z]+\d+(, ?[A-Z]+\d+)*|type: ignore\[[\w, -]+\])(?P<reason>\s+# \S)?")
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "base", "misc"}


def test_a_module_is_read_in_one_go() -> None:
    # A test module is a list of sentences: its length does no harm.
    found = [f"{source.name}: {lines}" for source in installed() if (lines := source.text.count("\n")) > MODULE_LINES]
    assert not found, f"more than {MODULE_LINES} lines do several things: split by what they do\n" + "\n".join(found)


def is_table(function: Function) -> bool:
    """Nothing but simple statements, one after the other: no branch, no loop, nothing nested."""
    return not any(hasattr(statement, "body") for statement in function.body)


def test_a_function_is_seen_at_once() -> None:
    found = [
        f"{source.name}:{node.lineno}: {node.name} has {lines}"
        for source in all_sources()
        for node in functions(source)
        if not COMPOSITION.match(node.name) and not is_table(node)
        if (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES
    ]
    assert not found, f"more than {FUNCTION_LINES} lines: give its parts names of their own\n" + "\n".join(found)


def test_a_module_is_named_after_what_it_is_for() -> None:
    found = [source.name for source in all_sources() if source.stem in EMPTY_NAMES]
    assert not found, "such a name says nothing, so everything ends up there\n" + "\n".join(found)


def test_a_module_says_what_it_is_for() -> None:
    found = [source.name for source in installed() if source.text.strip() and not ast.get_docstring(source.tree)]
    assert not found, "a sentence at the top on what the module is for\n" + "\n".join(found)


def _explained(comment: tokenize.TokenInfo, lines: list[str]) -> bool:
    """Has a code, and a reason behind it or within the two lines above."""
    line = comment.start[0]
    coded = CODED.search(comment.string)
    above = any(text.strip().startswith("#") for text in lines[max(0, line - 3) : line - 1])
    return bool(coded and (above or coded["reason"]))


def test_a_suppression_names_what_it_suppresses_and_why() -> None:
    found = [
        f"{source.name}:{token.start[0]}: {token.string}"
        for source in all_sources()
        if "noqa" in source.text or "type: ignore" in source.text or "type:ignore" in source.text
        for token in tokenize.generate_tokens(io.StringIO(source.text).readline)
        if token.type == tokenize.COMMENT and re.match(r"#\s*(noqa|type:\s*ignore)", token.string)
        if not _explained(token, source.text.splitlines())
    ]
    assert not found, (
        "a suppression without a code hides other faults too, one without a reason stays for ever: "
        "`# type: ignore[code]  # reason`, or the reason on the line above\n" + "\n".join(found)
    )
