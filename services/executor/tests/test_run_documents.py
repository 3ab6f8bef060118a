"""A run as it is written: each write changes what is stored into the run, and takes no more than what is new."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_core import to_jsonable_python
from services.executor.tests.fixtures import a_task, with_tasks
from services.executor.tests.harness import ScriptedModel, StepHarness, calls
from services.executor.tests.random_runs import Chance, a_beginning, happen, next_events

from executor.adapters.mongo_run_documents import change, whole
from executor.adapters.mongo_run_parts import fill, moved, moving, still_apart
from executor.domain.run import Layout, Run


def written(document: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """The document after `$set`, as the database does it."""
    for path, value in fields.items():
        *parents, last = path.split(".")
        place: Any = document
        for name in parents:
            place = place[int(name)] if isinstance(place, list) else place[name]
        if not isinstance(place, list):
            place[last] = value
        elif int(last) == len(place):
            place.append(value)
        else:
            place[int(last)] = value
    return document


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(to_jsonable_python(value)))


@settings(deadline=None, max_examples=settings.default.max_examples // 2, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.integers(0, 40))
def test_what_a_write_changes_makes_the_stored_run_the_new_one(data: st.DataObject, mischief: int) -> None:
    run = a_beginning(data.draw)
    chance, document = Chance(data.draw, mischief), as_json(whole(run))
    while not run.over:
        for event in next_events(run, chance):
            run = happen(run.model_copy(update={"stored": run, "unsaved": []}), event)
            document = written(document, as_json(change(run)["$set"]))
            assert document["run"] == as_json(whole(run)["run"])


@settings(deadline=None, max_examples=settings.default.max_examples // 2, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.integers(0, 40))
def test_a_run_whose_parts_move_at_any_time_is_read_whole(data: st.DataObject, mischief: int) -> None:
    """With each write what is done moves, or it doesn't: the document and the segments are the run at any time."""
    run = a_beginning(data.draw)
    chance, document, segments = Chance(data.draw, mischief), as_json(whole(run)), list[dict[str, Any]]()
    while not run.over:
        for event in next_events(run, chance):
            run = happen(run.model_copy(update={"stored": run, "unsaved": []}), event)
            fields = change(run)["$set"]
            parts = moving(run, fields) if data.draw(st.booleans()) else {}
            apart = moved(still_apart(run.layout.apart, fields), parts)
            document = written(document, as_json(fields | dict.fromkeys(parts)))
            segments.append({"parts": [{"at": at, "value": as_json(value)} for at, value in parts.items()]})
            read = as_json(document)
            assert fill(read, as_json(segments)) == apart
            assert read["run"] == as_json(whole(run)["run"])
            run = run.model_copy(update={"layout": Layout(apart=apart)})


async def test_the_bytes_of_a_round_stay_level() -> None:
    made = StepHarness(ScriptedModel(*[calls(("crm__lookup", {"n": n})) for n in range(20)], "done"))

    async def found(_: Any) -> str:
        return "x" * 5_000

    made.tools._answer = found
    run, sizes = with_tasks(a_task(1)), list[int]()
    while not _answered(run):
        run = await made.step(run.model_copy(update={"stored": run, "unsaved": []}))
        fields = change(run)["$set"]
        sizes.append(len(json.dumps(to_jsonable_python(fields))))
    rounds = [sum(sizes[n : n + 3]) for n in range(0, 60, 3)]
    assert min(rounds[1:]) > 5_000
    assert max(rounds[1:]) < min(rounds[1:]) + 200


def _answered(run: Run) -> bool:
    return bool(run.execution.results) and run.execution.results[0].output is not None
