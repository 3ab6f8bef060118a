"""The readable text of HTML and PDF: a program of its own, because a hostile page may take any time and memory.

It reads the content from its standard input and writes the text to its standard output, or why there is none to its
standard error. Its parsers are imported in it alone.
"""

import asyncio
import contextlib
import io
import resource
import sys
from asyncio.subprocess import PIPE

from rota_common.errors import Permanent

SECONDS, MEMORY = 10, 768 * 1024 * 1024
"""Of the processor, and bytes of address space."""

PATIENCE_S = 20.0
PROBLEM = 200


class Unreadable(Exception):
    """The content has no text that can be read."""


async def readable(content: bytes, kind: str, *, charset: str = "", limit: int) -> str:
    """The text of a page (`kind` html or pdf), at most `limit` characters. Raises Permanent."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-m", __name__, kind, charset, str(limit)), stdin=PIPE, stdout=PIPE, stderr=PIPE, env={}
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            made, problem = await process.communicate(content)
    except TimeoutError as error:
        raise Permanent(f"it took more than {PATIENCE_S:g} s to read the {kind}") from error
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode:
        last = problem.decode(errors="replace").strip().splitlines()[-1:] or ["it takes too much time or memory"]
        raise Permanent(f"the {kind} can't be read: {last[0][:PROBLEM]}")
    return made.decode(errors="replace")


def text_of_html(content: bytes, charset: str) -> str:
    import lxml.html
    from inscriptis.html_engine import Inscriptis
    from lxml.etree import LxmlError

    try:
        known, encoding = _known(content, charset)
        tree = lxml.html.document_fromstring(known, parser=lxml.html.HTMLParser(encoding=encoding))
        return str(Inscriptis(tree).get_text())
    except LxmlError as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from error


def text_of_pdf(content: bytes, limit: int) -> str:
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    parts, size = list[str](), 0
    try:
        for page in PdfReader(io.BytesIO(content)).pages:
            parts.append(page.extract_text())
            size += len(parts[-1])
            if size > limit:
                break
    except PyPdfError as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from error
    return "\n\n".join(parts)


def _known(content: bytes, charset: str) -> tuple[bytes, str | None]:
    """In UTF-8, if its server says what it is in, or it is; else as it is, for what the page itself says."""
    try:
        text = content.decode(charset, errors="replace") if charset else content.decode()
    except (UnicodeDecodeError, LookupError):
        return content, None
    return text.encode(), "utf-8"


def main(kind: str, charset: str, limit: str) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    content = sys.stdin.buffer.read()
    try:
        text = text_of_pdf(content, int(limit)) if kind == "pdf" else text_of_html(content, charset)
        if not text.strip():
            raise Unreadable("it holds no text; a page may be made by a script, and a PDF of pictures")
    except Exception as error:  # whatever a parser raises is the content's fault
        sys.exit(" ".join(str(error).split()) or type(error).__name__)
    sys.stdout.buffer.write(text[: int(limit)].strip().encode(errors="replace"))


if __name__ == "__main__":
    main(*sys.argv[1:])
