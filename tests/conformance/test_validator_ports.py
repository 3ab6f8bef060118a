"""The validator's ports: the fakes and the real adapters keep the same promises."""

import asyncio
import json
import platform
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rota_common.testing.patience import PATIENCE_S
from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import Assertion, CheckRules, Conversation
from validator.adapters import script_process
from validator.adapters.in_memory import InMemoryPatterns, ScriptedScripts, in_memory
from validator.adapters.pattern_process import PatternProcess
from validator.adapters.script_process import ScriptProcess
from validator.check_output import CheckOutput
from validator.kinds import Faulty, Result, Unusable
from validator.ports import Patterns, Scripts
from validator.registry import Kinds


@pytest.fixture(params=["memory", "process"])
async def patterns(request: pytest.FixtureRequest) -> AsyncIterator[Patterns]:
    if request.param == "memory":
        yield InMemoryPatterns()
    else:
        process = PatternProcess()
        yield process
        await process.close()


@pytest.fixture
async def impatient() -> AsyncIterator[PatternProcess]:
    process = PatternProcess(seconds=0.2)
    yield process
    await process.close()


PATTERNS = [
    ("^# [A-Z]", "# Report", True),
    ("^a", "b\na", False),
    ("(?m)^a", "b\na", True),
    ("ö+", "Möön\u2028", True),
    ("", "", True),
]


async def test_a_pattern_is_searched_anywhere(patterns: Patterns) -> None:  # VA-06
    assert [case for case in PATTERNS if await patterns.search(*case[:2]) is not case[2]] == []


async def test_a_malformed_pattern_is_faulty(patterns: Patterns) -> None:
    with pytest.raises(Faulty, match="no regular expression: missing \\)"):
        await patterns.search("(unclosed", "text")


async def test_a_search_after_a_malformed_pattern_works(patterns: Patterns) -> None:
    with pytest.raises(Unusable):
        await patterns.search("*", "text")
    assert await patterns.search("text", "a long text" * 100_000)


async def test_searches_at_once_get_their_own_answers(patterns: Patterns) -> None:
    found = await asyncio.gather(*(patterns.search(f"^{number}$", "7") for number in range(20)))
    assert [number for number, hit in enumerate(found) if hit] == [7]


async def test_a_pattern_that_runs_for_ever_is_ended_and_the_next_one_works(impatient: PatternProcess) -> None:
    ticks = 0

    async def ticking() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    clock = asyncio.create_task(ticking())
    with pytest.raises(Unusable, match=r"longer than 0\.2 s"):
        await impatient.search("(a+)+$", "a" * 40 + "!")
    clock.cancel()
    assert ticks >= 5  # meanwhile the rest of the service went on
    assert await impatient.search("a+", "aa")


async def test_a_cancelled_search_leaves_no_answer_for_the_next(impatient: PatternProcess) -> None:
    await impatient.search("a", "a")
    search = asyncio.create_task(impatient.search("(a+)+$", "a" * 40 + "!"))
    await asyncio.sleep(0)
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    assert await impatient.search("b", "b")


async def test_a_slow_pattern_does_not_delay_another(impatient: PatternProcess) -> None:
    slow = asyncio.create_task(impatient.search("(a+)+$", "a" * 40 + "!"))
    await asyncio.sleep(0)
    assert await impatient.search("b", "b")
    assert not slow.done()
    with pytest.raises(Unusable):
        await slow


MANY = 500
"""Patterns, each in a process of its own: without a bound half a minute or more."""


def check_with(patterns: PatternProcess, *, seconds: float) -> CheckOutput:
    given = in_memory()
    return CheckOutput(outputs=given.outputs, patterns=patterns, scripts=given.scripts, kinds=Kinds(), seconds=seconds)


def hostile() -> CheckRules:
    endless = [Assertion(type="regex", value="(a+)+$", negate=bool(number % 2)) for number in range(MANY)]
    return CheckRules(
        rules=[Assertion(type="equals", value=1), *endless],
        output=Text(inline="a" * 40 + "!"),
        conversation=Conversation(max_turns=2),
    )


async def test_patterns_that_run_for_ever_are_bounded_per_question() -> None:
    patterns = PatternProcess(seconds=0.05)
    issues = (await check_with(patterns, seconds=3)(hostile())).verdict.issues
    await patterns.close()
    assert len(issues) == MANY + 1
    assert "it took longer than 0.05 s on this output; write a simpler one" in issues[1]
    assert issues[-1].endswith("the rules before it and this one took more than 3 s together")


async def test_patterns_that_run_for_ever_delay_no_other_question(impatient: PatternProcess) -> None:
    check = check_with(impatient, seconds=PATIENCE_S)
    harmless = CheckRules(rules=[Assertion(type="regex", value="^a")], output=Text(inline="a"))
    endless = asyncio.create_task(check(hostile()))
    answers = await asyncio.gather(*(check(harmless) for _ in range(5)))
    assert all(answer.verdict.passed for answer in answers)
    assert not endless.done()
    endless.cancel()
    await asyncio.gather(endless, return_exceptions=True)


CONFINED = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")
confined = pytest.mark.skipif(not CONFINED, reason="the kernel's help is for Linux on x86-64 and ARM")

READ = "import json, sys\ngiven = json.load(sys.stdin)\n"
FILES = {
    "yes": "print('true')",
    "no": "print('false')",
    "many.dots": READ
    + "print(json.dumps({'passed': len(given['json']) == given['value'], 'message': given['output']}))",
    "breaks": "1 / 0",
}
FUNCTIONS = {
    "yes": lambda given: Result(True),
    "no": lambda given: Result(False, "it says no"),
    "many.dots": lambda given: Result(len(given["json"]) == given["value"], given["output"]),
    "breaks": lambda given: Result(1 // 0 == 1),
}


def process(folder: Path, *, seconds: float = 5, **files: str) -> ScriptProcess:
    for name, source in files.items():
        (folder / f"{name}.py").write_text(source)
    return ScriptProcess(str(folder), seconds=seconds)


@pytest.fixture(params=["memory", "process"])
def scripts(request: pytest.FixtureRequest, tmp_path: Path) -> Scripts:
    return ScriptedScripts(FUNCTIONS) if request.param == "memory" else process(tmp_path, **FILES)


RESULTS: list[tuple[str, Any, Result]] = [
    # VA-08
    ("yes", {}, Result(True)),
    ("no", {}, Result(False, "it says no")),
    ("many.dots", {"output": "[ö, 😀]", "json": [1, 2], "value": 2}, Result(True, "[ö, 😀]")),
    ("many.dots", {"output": "x", "json": [], "value": 2}, Result(False, "x")),
]


async def test_a_script_returns_its_result(scripts: Scripts) -> None:  # VA-08
    found = [await scripts.run(name, json.dumps(given)) for name, given, _ in RESULTS]
    assert found == [result for *_, result in RESULTS]


async def test_a_missing_script_is_faulty(scripts: Scripts) -> None:
    with pytest.raises(Faulty, match=r"there is no never\.py.*: add it"):
        await scripts.run("never", "{}")


async def test_a_script_that_fails_is_unusable_with_its_error(scripts: Scripts) -> None:
    with pytest.raises(Unusable, match="the script failed: ZeroDivisionError: "):
        await scripts.run("breaks", "{}")


async def test_a_name_leads_to_no_other_folder(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    process(tmp_path, yes="print('true')")
    scripts = ScriptProcess(str(tmp_path / "folder"))
    for name in ("../yes", "a/yes", "/yes", "..\\yes", "yes\n", "", "y\0s", "ja ja", "é", "x" * 101):
        with pytest.raises(Faulty, match="isn't a script's name"):
            pytest.fail(f"{name!r} ran: {await scripts.run(name, '{}')}")


@pytest.mark.parametrize(("folder", "said"), [("", "set ROTA_SCRIPTS_DIR"), ("never", "ROTA_SCRIPTS_DIR isn't there")])
async def test_without_a_folder_the_error_names_the_setting(tmp_path: Path, folder: str, said: str) -> None:
    with pytest.raises(Faulty, match=said):
        await ScriptProcess(folder and str(tmp_path / folder)).run("yes", "{}")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("(", "failed: SyntaxError"),
        ("print('true'); raise SystemExit(3)", "failed: it ended with code 3"),
        ("print('true'); raise SystemExit('no luck')", "failed: no luck"),
        ("", "expected the script to print true, false or "),
        ("print('True')", 'it printed "True'),
        ("print('null')", "expected the script to print"),
        ("print('1')", "expected the script to print"),
        ("print('{}')", "expected the script to print"),
        ("print('{\"passed\": 1}')", "expected the script to print"),
        ("print('true'); print('true')", "expected the script to print"),
        ("import sys; sys.stdout.buffer.write(b'\\xff')", "expected the script to print"),
        ("while True: print('x' * 100_000)", "printed more than 64 KB"),
        ("import sys\nwhile True: sys.stderr.write('x' * 100_000)", "printed more than 64 KB"),
        ("parts = []\nwhile True: parts.append('x' * 1_000_000)", "needs more than 128 MB of memory"),
        ("def f(): f()\nf()", "failed: RecursionError"),
        ("import requests", "failed: ModuleNotFoundError"),
        ("import validator", "failed: ModuleNotFoundError"),
    ],
)
async def test_a_script_without_a_result_fails_with_the_reason(tmp_path: Path, source: str, said: str) -> None:
    with pytest.raises(Unusable, match=said) as failed:
        await process(tmp_path, script=source).run("script", "{}")
    assert len(str(failed.value)) < 1000


@pytest.mark.parametrize(
    "source", ["while True: pass", "import time; time.sleep(60)", "import os; os.close(1)\nwhile True: pass"]
)
async def test_a_script_that_never_ends_is_ended(tmp_path: Path, source: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(Unusable, match=r"took longer than 0\.3 s"):
            await process(tmp_path, seconds=0.3, script=source).run("script", "{}")


async def test_a_script_need_not_read_a_large_output(tmp_path: Path) -> None:
    given = json.dumps({"output": "x" * 5_000_000})
    assert await process(tmp_path, script="print('true')").run("script", given) == Result(True)
    read = READ + "print(json.dumps(len(given['output']) == 5_000_000))"
    assert await process(tmp_path, script=read).run("script", given) == Result(True)


async def test_a_script_has_an_empty_environment_and_an_empty_folder(tmp_path: Path) -> None:
    source = (
        "import json, os, sys\n"
        "seen = [sorted(os.environ), os.getcwd(), sys.argv, [p for p in sys.path if 'site-packages' in p]]\n"
        "print(json.dumps({'passed': True, 'message': json.dumps(seen)}))"
    )
    result = await process(tmp_path, script=source).run("script", "{}")
    environment, folder, arguments, packages = json.loads(result.message)
    assert (set(environment) <= {"LC_CTYPE"}, arguments, packages) == (True, [str(tmp_path / "script.py")], [])
    assert Path(folder).name.startswith("rota-script-")
    assert Path(folder).name not in left_behind()


@confined
@pytest.mark.parametrize(
    "source",
    [
        "import os; os.fork()",
        "import subprocess; subprocess.run(['true'])",
        "import os, sys; os.execv(sys.executable, [sys.executable])",
        "import threading; threading.Thread(target=print).start()",
        "import socket; socket.socket()",
        "import urllib.request; urllib.request.urlopen('http://127.0.0.1:1')",
        "import os; os.kill(os.getppid(), 9)",
        "import os; open(f'/proc/{os.getppid()}/environ').read()",
        "open('/etc/passwd').read()",
        "open('new.txt', 'w').write('x')",
        "open('empty.txt', 'w')",
        "import os; os.unlink(__file__)",
        "import os; os.chmod(__file__, 0o777)",
        "import os; os.truncate(__file__, 0)",
        "import os; os.mkdir('folder')",
        "import resource, os; resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (1, 1))",
    ],
)
async def test_a_script_can_only_compute(tmp_path: Path, source: str) -> None:
    refused = "PermissionError|Operation not permitted|can't start new thread"
    with pytest.raises(Unusable, match=refused):
        await process(tmp_path, script=source).run("script", "{}")
    assert (tmp_path / "script.py").read_text() == source


async def test_a_script_can_import_the_standard_library(tmp_path: Path) -> None:
    modules = (
        "csv, datetime, decimal, difflib, hashlib, html.parser, math, random, re, statistics, unicodedata, zoneinfo"
    )
    assert await process(tmp_path, script=f"import {modules}\nprint('true')").run("script", "{}") == Result(True)


@confined
async def test_a_cancelled_script_is_ended(tmp_path: Path) -> None:
    source = "import time; print('started', flush=True); time.sleep(60)"
    running = asyncio.create_task(process(tmp_path, seconds=60, script=source).run("script", "{}"))
    while not children(tmp_path / "script.py"):
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await gone(tmp_path / "script.py")


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
async def test_processes_started_by_an_unconfined_script_end_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = tmp_path / "worker.py"
    lines = script_process.WORKER.read_text().splitlines(keepends=True)
    worker.write_text("".join(line for line in lines if not line.startswith(("    confine()", "    limit("))))
    monkeypatch.setattr(script_process, "WORKER", worker)
    source = "import os, time\nif os.fork() == 0: time.sleep(60)\nprint('true')"
    with pytest.raises(Unusable, match="took longer than"):
        await process(tmp_path, seconds=0.5, script=source).run("script", "{}")
    await gone(tmp_path / "script.py")


async def gone(script: Path) -> None:
    """A process that was killed takes a moment to end."""
    async with asyncio.timeout(PATIENCE_S):
        while children(script):
            await asyncio.sleep(0.01)


def left_behind() -> list[str]:
    return [path.name for path in Path(tempfile.gettempdir()).iterdir()]


def children(script: Path) -> list[str]:
    """The processes that run this script."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(script) in entry.read_text():
                found.append(entry.parent.name)
        except OSError:  # it has ended meanwhile
            continue
    return found
