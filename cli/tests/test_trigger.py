"""`rota trigger`: files that go with a message, and the end that --wait reports."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from cli.tests.harness import TEAM, Command
from cli.tests.test_report import BARE, at

from rota import waiting
from rota_contracts.messages.media import MEDIUM_BYTES

MAIL = {"delivery_id": "x", "type": "email", "target": "ana@acme.example"}
REFUSED = MAIL | {"success": False, "error": "no mail server"}
CONTENT = {"summary": "Done.", "body": {"inline": "# Done"}}
RUN = BARE | {"status": "completed", "content": CONTENT, "finished_at": at(9)}


def delivery(result: dict[str, Any], *, settled: bool = True, next_at: str | None = None) -> dict[str, Any]:
    attempts = [{"at": at(8), "ok": result["success"], "latency_ms": 1}]
    target = {"result": result | {"final": settled}, "attempts": attempts, "next_attempt_at": next_at}
    return {"request_id": "d1", "settled": settled, "targets": [target]}


class Gateway:
    """Takes files and a trigger, and returns the states of the run's delivery one after the other."""

    def __init__(self, *deliveries: dict[str, Any], run: dict[str, Any] = RUN) -> None:
        self.deliveries, self.run = list(deliveries), run
        self.uploads, self.triggers = list[httpx.Request](), list[Any]()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        match request.url.path.removeprefix(TEAM):
            case "/attachments":
                self.uploads.append(request)
                name = request.url.params["name"]
                return httpx.Response(201, json={"file_id": f"id-of-{name}", "name": name})
            case "/robots/ann/trigger":
                self.triggers.append(json.loads(request.content))
                return httpx.Response(202, json={"execution_id": "e1", "trigger_id": "t1", "message": "queued"})
            case "/executions/e1":
                return httpx.Response(200, json=self.run)
            case "/executions/e1/delivery" if self.deliveries:
                return httpx.Response(200, json=self.deliveries.pop(0))
        return httpx.Response(404, json={})


def test_files_are_uploaded_and_go_with_the_message(connect: Any, command: Command, tmp_path: Path) -> None:  # TG-08
    connect(gateway := Gateway())
    (tmp_path / "plan").write_text("let a = 1")
    (tmp_path / "cat.png").write_bytes(b"\x89PNG")
    code, _, err = command("trigger", "ann", "-m", "Look", "--attach", "plan", "--attach", "cat.png")
    assert (code, err) == (0, "")
    assert [each.headers["content-type"] for each in gateway.uploads] == ["text/plain", "image/png"]
    ((message,),) = [each["messages"] for each in gateway.triggers]
    files = [{"file_id": f"id-of-{name}", "filename": name} for name in ("plan", "cat.png")]
    assert message["content"] == [{"type": "text", "text": "Look"}, *({"type": "file", "file": one} for one in files)]


def test_files_that_a_model_cant_be_shown_are_refused_before_any_is_uploaded(
    connect: Any, command: Command, tmp_path: Path
) -> None:
    connect(gateway := Gateway())
    (tmp_path / "good.txt").write_text("good")
    large, half = (b"x" * MEDIUM_BYTES + b"x", b"y" * (MEDIUM_BYTES - 1))
    contents = {"empty": b"", "a.zip": b"PK\xff", "large": large, "1": half, "2": half, "3": half}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    cases = {
        ("none",): "can't open none: No such file",
        ("empty",): "expected files of 1 byte to 5 MiB: empty has 0 bytes",
        ("large",): "large has 5,242,881 bytes",
        ("1", "2", "3"): "expected at most 10 MiB of files with a message",
        (
            "a.zip",
        ): "expected a text, a picture (png, jpeg, gif, webp), sound (mp3, wav) or a PDF: a.zip is application/",
        tuple("x" * 11): "expected at most 10 files with a message, not 11",
    }
    wrong = []
    for names, expected in cases.items():
        options = [word for name in ("good.txt", *names)[:11] for word in ("--attach", name)]
        code, _, err = command("trigger", "ann", "-m", "Look", *options)
        if (code, expected in err) != (1, True):
            wrong.append((names, err))
    assert (wrong, gateway.uploads, gateway.triggers) == ([], [], [])


def test_a_run_whose_result_is_delivered_ends_the_waiting_with_0(
    connect: Any, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "POLL_S", 0)
    under_way = delivery(REFUSED | {"error": "under way"}, settled=False, next_at=at(9))
    connect(Gateway(under_way, delivery(MAIL | {"success": True}), run=RUN | {"notes": ["a file is left out"]}))
    code, out, _ = command("trigger", "ann", "-m", "Look", "--wait")
    assert code == 0
    assert out.splitlines()[1:] == [
        "completed: Done.",
        "note: a file is left out",
        "✓ email ana@acme.example, attempts 1",
    ]


@pytest.mark.parametrize(
    ("found", "said", "hint"),
    [
        (delivery(REFUSED), "no mail server", "rota deliveries replay d1"),
        (
            delivery(REFUSED, settled=False, next_at="2100-01-01T00:00:00Z"),
            "no mail server (will be retried)",
            "rota deliveries retry d1",
        ),
    ],
)
def test_a_delivery_that_failed_or_is_tried_again_ends_the_waiting_with_1(
    connect: Any, command: Command, found: dict[str, Any], said: str, hint: str
) -> None:
    connect(Gateway(found))
    code, out, err = command("trigger", "ann", "-m", "Look", "--wait")
    assert (code, "completed: Done." in out, "✗ email ana@acme.example" in out) == (1, True, True)
    assert f"  email ana@acme.example: {said}\n" in err
    assert hint in err
    connect(Gateway(found))
    code, out, _ = command("trigger", "ann", "-m", "Look", "--wait", "--json")
    assert (code, json.loads(out)["delivery_attempts"]) == (1, found)


def test_without_the_delivery_center_the_first_attempts_count(connect: Any, command: Command) -> None:
    first = {"request_id": "d1", "content": CONTENT, "results": [REFUSED], "success": False, "error": "email: no"}
    connect(Gateway(run=RUN | {"delivery": first}))
    code, _, err = command("trigger", "ann", "-m", "Look", "--wait")
    assert (code, "email ana@acme.example: no mail server" in err) == (1, True)
