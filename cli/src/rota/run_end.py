"""The end of a run that a command waited for: what came of it, and whether its result was delivered."""

from dataclasses import dataclass

from rota.client import Api, Json
from rota.errors import CliError
from rota.output import say, say_json
from rota.report_delivery import target_lines, undelivered
from rota.waiting import until_delivered, until_finished
from rota_contracts.messages.delivery import DeliveryReply
from rota_contracts.messages.execution import ExecStatus, Execution


@dataclass(frozen=True)
class RunEnd:
    """The run, and its delivery if there is one, as the API returns them."""

    run: Json
    delivery: Json | None

    def show(self, *, json: bool) -> None:
        """Print both. CliError if the run didn't complete, or a target of its delivery isn't reached."""
        run = Execution.model_validate(self.run)
        read = None if self.delivery is None else DeliveryReply.model_validate(self.delivery)
        if json:
            say_json(self.run | {"delivery_attempts": self.delivery})
        else:
            for line in _lines(run, read):
                say(line)
        if run.status is not ExecStatus.COMPLETED:
            raise CliError(f"the run {run.status.value}: {run.error or 'no reason given'}")
        if missed := undelivered(run.delivery, read):
            raise CliError("the run completed, its delivery didn't", details=missed, hint=_hint(run, read))


async def wait_for_end(api: Api, started: Json, *, timeout: float) -> RunEnd:
    """`started` and the errors are those of `until_finished`."""
    run = await until_finished(api, started, timeout=timeout)
    return RunEnd(run, await until_delivered(api, run["execution_id"]))


def _lines(run: Execution, read: DeliveryReply | None) -> list[str]:
    said = run.content.summary if run.content else run.error or run.skipped or ""
    notes = [f"note: {note}" for note in run.notes]
    return [f"{run.status.value}: {said}", *notes, *target_lines(run.delivery, read)]


def _hint(run: Execution, read: DeliveryReply | None) -> str:
    show = f"`rota executions show {run.execution_id}` shows each attempt"
    if read is None or read.request_id is None:
        return show
    if not read.settled:
        return f"{show}, `rota deliveries retry {read.request_id}` makes the next one now"
    return f"{show}; once the reason is mended, `rota deliveries replay {read.request_id}` sends it again"
