"""The check of compatibility against the baseline of the last release, and moving the baseline."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rota_contracts.tooling import compat
from rota_contracts.tooling.baseline import BASELINE, Baseline, Retired, baseline_text, read_baseline, shape
from rota_contracts.tooling.compat import findings, main, roll_out
from rota_contracts.tooling.schemas import schemas

ROOT = Path(__file__).parents[2]
FACT, REQUEST, REPLY = "execution.started.v1.json", "rpc/memory.recall.request.json", "rpc/memory.recall.answer.json"
SHAPES = {name: shape(schema) for name, schema in schemas().items()}
OLD = {"type": "object", "properties": {"gone": {"type": "string"}}}
GONE = "thing.gone.v1.json"

Check = Callable[..., tuple[int, str]]


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    """Writes a baseline, runs the command on it, and returns its exit code and its output."""

    def run(changed: dict[str, Any], *options: str, retired: Sequence[Retired] = ()) -> tuple[int, str]:
        baseline = Baseline(version="1.0.0", retired=tuple(retired), schemas=SHAPES | changed)
        (tmp_path / "baseline.json").write_text(baseline_text(baseline), encoding="utf-8")
        code = main(["--baseline", str(tmp_path / "baseline.json"), *options])
        return code, capsys.readouterr().out

    return run


def with_property(name: str, **of_schema: Any) -> dict[str, Any]:
    """The schema of today, in a release in which it had one property more."""
    schema = SHAPES[name]
    return schema | {"properties": schema["properties"] | {"gone": {"type": "string"}}} | of_schema


def test_the_messages_of_the_tree_are_compatible_with_the_last_release() -> None:
    baseline = read_baseline(ROOT / BASELINE)
    assert [str(each) for each in findings(baseline.schemas, schemas(), baseline.retired) if each.breaking] == []
    assert len(baseline.schemas) > 100


def test_the_baseline_is_in_its_canonical_form() -> None:
    assert (ROOT / BASELINE).read_text(encoding="utf-8") == baseline_text(read_baseline(ROOT / BASELINE))


def test_the_check_needs_no_git(tmp_path: Path) -> None:
    """In a folder with the baseline and the project file alone, and with no program on the PATH."""
    (tmp_path / "contracts").mkdir()
    for name in (BASELINE, "contracts/pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "rota_contracts.tooling.compat"]
    done = subprocess.run(command, cwd=tmp_path, env={"PATH": ""}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"compatible with {read_baseline(ROOT / BASELINE).version}: " in done.stdout


def test_a_breaking_change_of_a_fact_is_named_with_field_and_roll_out(check: Check) -> None:
    code, printed = check({FACT: with_property(FACT)})
    assert code == 1
    assert printed.splitlines()[0] == (
        f'breaking: {FACT} $.gone: property removed: was "string", is absent (roll-out: scheduler before executor)'
    )
    assert "publish a v2 on a new subject: roll out its\nreaders, then its publishers" in printed


def test_a_breaking_change_of_a_question_is_named_with_field_and_roll_out(check: Check) -> None:
    code, printed = check({name: with_property(name) for name in (REQUEST, REPLY)})
    assert code == 1
    assert [line.partition("roll-out: ")[2] for line in printed.splitlines()[:2]] == [
        "executor and validator before memory)",
        "memory before executor and validator)",
    ]


def test_a_change_for_the_readers_first_passes_with_a_notice(check: Check) -> None:
    required = [name for name in SHAPES[FACT]["properties"] if name not in SHAPES[FACT]["required"]][:1]
    code, printed = check({FACT: SHAPES[FACT] | {"required": [*SHAPES[FACT]["required"], *required]}})
    assert code == 0
    assert printed.splitlines() == [
        f'readers first: {FACT} $.{required[0]}: property made optional: was "required", is "optional"'
        " (roll-out: scheduler before executor)",
        f"compatible with 1.0.0: {len(SHAPES)} schemas compared",
    ]


def test_every_schema_has_a_roll_out() -> None:
    assert [name for name in SHAPES if " before " not in roll_out(name)] == []
    assert roll_out("delivery.attempted.v1.json") == "programs outside before delivery-center"


def test_a_retired_schema_needs_an_entry_with_a_reason(check: Check) -> None:
    code, printed = check({GONE: OLD})
    assert code == 1
    assert f"breaking: {GONE} $: schema removed without an entry in `retired`" in printed
    code, printed = check({GONE: OLD}, retired=[Retired(name=GONE, reason="merged", version="1.1.0")])
    assert (code, "breaking" in printed) == (0, False)
    with pytest.raises(ValueError, match="reason"):
        Retired(name=GONE, reason="", version="1.1.0")


def test_the_name_of_a_retired_schema_is_not_used_again(check: Check) -> None:
    code, printed = check({}, retired=[Retired(name=FACT, reason="merged", version="0.9.0")])
    assert code == 1
    assert f"breaking: {FACT} $: name of a retired schema used again" in printed


def test_a_release_moves_the_baseline_and_keeps_what_was_retired(check: Check, tmp_path: Path) -> None:
    retired = Retired(name=GONE, reason="merged", version="1.1.0")
    code, printed = check({GONE: OLD}, "--write-baseline", "1.1.0", retired=[retired])
    assert (code, f"wrote {tmp_path / 'baseline.json'}" in printed) == (0, True)
    written = read_baseline(tmp_path / "baseline.json")
    assert written == Baseline(version="1.1.0", retired=(retired,), schemas=SHAPES)


def test_a_breaking_change_does_not_move_the_baseline(check: Check, tmp_path: Path) -> None:
    assert check({FACT: with_property(FACT)}, "--write-baseline", "1.1.0")[0] == 1
    assert read_baseline(tmp_path / "baseline.json").version == "1.0.0"


def test_the_baseline_keeps_all_that_the_check_compares() -> None:
    assert findings(SHAPES, schemas()) == []
    assert findings(schemas(), SHAPES) == []
    named = {"properties": {"title": {"type": "string", "description": "a name"}}, "title": "Book"}
    assert shape(named) == {"properties": {"title": {"type": "string"}}}


def test_the_help_explains_how_to_move_the_baseline_and_to_retire_a_message() -> None:
    text = compat.__doc__ or ""
    assert "At a release, `--write-baseline VERSION` moves the baseline" in text
    assert "To withdraw a message, add" in text


@pytest.mark.parametrize("content", [None, "{}"], ids=["missing", "not a baseline"])
def test_a_baseline_that_can_not_be_read_is_a_mistake(
    content: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "baseline.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SystemExit) as ended:
        main(["--baseline", str(path)])
    assert ended.value.code == 2
    assert "expected the baseline of the last release" in capsys.readouterr().err
