"""One agent or robot of a team as the protocol sees it: its messages and its tasks, over the gateway's use cases."""

from collections.abc import AsyncGenerator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace

from fastapi import Request

from rota_contracts.messages.approval import Approval, ListApprovals
from rota_contracts.messages.control import ControlAction
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.provider import AgentCard
from rota_contracts.messages.run_history import PendingQuestion
from rota_contracts.messages.trigger import InterventionAction, Message, TriggerType
from rota_contracts.robots.robot import Robot
from trigger_gateway.a2a.errors import Refusal
from trigger_gateway.a2a.shapes import (
    ROLE_USER,
    GivenMessage,
    NamedTask,
    SendMessage,
    Shape,
    agent_message,
    data_part,
    text_part,
)
from trigger_gateway.a2a.streams import CHANNELS, Stream, heard_of, of_answer, of_task, opening
from trigger_gateway.a2a.tasks import is_over, task_of, trigger_of
from trigger_gateway.agents.call_team_agent import AgentCall
from trigger_gateway.agents.stream_answer import stream_answer
from trigger_gateway.http.auditing import Recording
from trigger_gateway.http.dependencies import jetstream_of
from trigger_gateway.http.stream import AWAY
from trigger_gateway.problems import Conflict, NotFound
from trigger_gateway.runs.follow_execution import MOST_WAIT_S, FoundRun
from trigger_gateway.runs.interventions import Intervention
from trigger_gateway.runs.request_run import RunRequest
from trigger_gateway.teams.authenticate import Caller
from trigger_gateway.use_cases import UseCases

STOP = "stop_execution"
"""The route under whose name a cancelled task is recorded."""


@dataclass(frozen=True, kw_only=True)
class Party:
    """Methods raise Refusal, Problem, Transient or an outage."""

    use: UseCases
    team: str
    caller: Caller
    it: AgentCard | Robot
    request: Request

    async def send(self, given: SendMessage) -> Shape:
        """The agent's answer, or the robot's task: a new one, or the one that the message names. Unless the client
        wants the task at once, it is awaited until it is over, waits or is paused, for at most MOST_WAIT_S."""
        words = _words(given)
        if not isinstance(self.it, Robot):
            return {"message": await self._asked(self.it, given.message, words)}
        wait = not given.configuration.return_immediately
        with self.use.streams.held(self.team) if wait else nullcontext():
            if given.message.task_id:
                run, asked = await self._said(self.it, given.message, words)
                return {"task": await self._task(await self._followed(run.execution_id, wait=wait, answered=asked))}
            return {"task": await self._begun(self.it, given.message, words, wait=wait)}

    async def stream(self, given: SendMessage) -> Stream:
        """The same as `send`, as it goes on."""
        words = _words(given)
        jetstream_of(self.use)  # before the response begins: afterwards its status can't change
        if not isinstance(self.it, Robot):
            with opening(self.use.calls, self.team):
                call = await self._call(self.it, given.message, words)
                question = await self.use.call_agent.prepare(self.team, call, streamed=True)
            answer = stream_answer(self.use.live, self.use.call_agent, question)
            return Stream(self.use.calls, of_answer(question, answer))
        with opening(self.use.streams, self.team):
            if given.message.task_id:
                run, asked = await self._said(self.it, given.message, words)
                task = await self._task(_without(await self._own(run.execution_id), asked))
            else:
                asked, task = None, await self._begun(self.it, given.message, words, wait=False)
        return Stream(self.use.streams, of_task(task, self._tasks(str(task["id"]), answered=asked)))

    async def subscribe(self, given: NamedTask) -> Stream:
        """A task as it goes on."""
        jetstream_of(self.use)
        with opening(self.use.streams, self.team):
            run = await self._own(given.id)
            if is_over(run):
                raise Refusal("UNSUPPORTED_OPERATION", f"task {given.id} is over: expected GetTask")
            task = await self._task(run)
        return Stream(self.use.streams, of_task(task, self._tasks(given.id)))

    async def _tasks(self, task_id: str, *, answered: PendingQuestion | None = None) -> AsyncGenerator[Shape]:
        """The task after each event of its run, and with each heartbeat, while the caller's key is there."""
        async with self.use.live.listen(CHANNELS, team=self.team) as heard:
            while True:
                with suppress(NotFound):  # its trigger is stored, and the scheduler hasn't read it yet
                    yield await self._task(_without(await self._own(task_id), answered))
                await heard_of(heard, task_id, within=self.use.heartbeat)
                if not await self._may_go_on():
                    return

    async def _may_go_on(self) -> bool:
        """While the store is away it is unknown, and the stream goes on."""
        try:
            return await self.use.authenticate.still(self.caller)
        except AWAY:
            return True

    async def get(self, given: NamedTask) -> Shape:
        return await self._task(await self._own(given.id))

    async def cancel(self, given: NamedTask) -> Shape:
        run = await self._own(given.id)
        if is_over(run):
            raise Refusal("TASK_NOT_CANCELABLE", f"task {given.id} is over already")
        self.request.state.given = {"id": given.id}
        try:
            async with Recording(self.request, STOP) as recording:
                await self.use.control.one(self.team, given.id, ControlAction.STOP, "cancelled over A2A")
                recording.succeeded({"execution_id": given.id})
        except Conflict as error:
            raise Refusal("TASK_NOT_CANCELABLE", error.message) from error
        return task_of(_cancelled(await self._own(given.id)))

    async def _asked(self, agent: AgentCard, message: GivenMessage, words: Message) -> Shape:
        question, reply = await self.use.offered.ask(self.team, await self._call(agent, message, words))
        parts = [text_part(reply.content)]
        if (response := reply.whole_response()) is not None:
            parts.append(data_part(response))
        return agent_message(question.call_id, parts, context_id=question.chat_id or "")

    async def _call(self, agent: AgentCard, message: GivenMessage, words: Message) -> AgentCall:
        """In the name of the key's person, if it has one."""
        if message.task_id:
            raise _no_task(message.task_id)
        user = await self.use.people.person_of(self.team, self.caller)
        return AgentCall(agent.id, [words], chat_id=message.context_id or None, key=message.message_id, user=user)

    async def _begun(self, robot: Robot, message: GivenMessage, words: Message, *, wait: bool) -> Shape:
        """A message with the same id again is the same task."""
        context = message.context_id or None
        if context is not None:
            await self._check_context(context)
        wanted = RunRequest(TriggerType.HUMAN, [words], key=message.message_id, follows=context)
        answer = await self.use.request_run(self.team, robot.member_id, wanted, role=self.caller.role)
        try:
            run = await self._followed(answer.execution_id, wait=wait)
        except NotFound:  # its trigger is stored, and the scheduler hasn't read it yet
            run = FoundRun(answer.execution_id)
        task = await self._task(run)
        return {**task, "contextId": context or task["contextId"]}

    async def _said(
        self, robot: Robot, message: GivenMessage, words: Message
    ) -> tuple[FoundRun, PendingQuestion | None]:
        """The answer to the task's question, which is returned, too; without one, an instruction for its next step."""
        run = await self._own(message.task_id)
        if is_over(run):
            text = f"task {run.execution_id} is over: a message with its contextId, and no taskId, goes on from it"
            raise Refusal("UNSUPPORTED_OPERATION", text)
        if run.execution is None:
            text = f"task {run.execution_id} has not begun: send it again once it is working"
            raise Refusal("UNSUPPORTED_OPERATION", text)
        asked = run.execution.question
        if asked is None and (waiting := await self._approvals(run)):
            ids = ", ".join(each.approval_id for each in waiting)
            text = f"task {run.execution_id} waits for the approval {ids}: an admin decides by POST …/approvals/…"
            raise Refusal("UNSUPPORTED_OPERATION", text)
        wanted = Intervention(
            action=InterventionAction.INSTRUCT,
            messages=[words],
            execution_id=run.execution_id,
            key=message.message_id,
        )
        await self.use.intervene_robot(self.team, robot.member_id, wanted, role=self.caller.role)
        return run, asked

    async def _followed(self, execution_id: str, *, wait: bool, answered: PendingQuestion | None = None) -> FoundRun:
        """`answered`: the question that the run may still show, because it reads the answer at its next step."""

        def until(run: FoundRun) -> bool:
            return _without(run, answered).rests

        follow = self.use.offered.follow
        run = await follow(self.team, execution_id, within=MOST_WAIT_S if wait else 0, until=until)
        return _without(run, answered)

    async def _task(self, run: FoundRun) -> Shape:
        return task_of(run, await self._approvals(run))

    async def _approvals(self, run: FoundRun) -> list[Approval]:
        """Its calls that wait for one, the first ten."""
        if run.execution is None or run.execution.status is not ExecStatus.WAITING or run.execution.question:
            return []
        asked = ListApprovals(team_id=self.team, execution_id=run.execution_id, limit=10)
        return (await self.use.approvals.page(asked)).approvals

    async def _own(self, task_id: str) -> FoundRun:
        """Raise NotFound for the task of another team, and of another robot."""
        if not isinstance(self.it, Robot):
            raise _no_task(task_id)
        run = await self.use.offered.follow.find(self.team, task_id)
        trigger = trigger_of(run)
        if trigger and trigger.member_id != self.it.member_id:
            raise _no_task(task_id)
        return run

    async def _check_context(self, context: str) -> None:
        try:
            await self._own(context)
        except NotFound as error:
            text = f"expected no contextId, or that of one of its tasks, not {context}"
            raise Refusal("INVALID_PARAMS", text) from error


def _words(given: SendMessage) -> Message:
    """Its parts as one message of a person."""
    if given.configuration.task_push_notification_config is not None:
        text = "expected no taskPushNotificationConfig: ask for the task instead (GetTask)"
        raise Refusal("PUSH_NOTIFICATION_NOT_SUPPORTED", text)
    message = given.message
    if message.role != ROLE_USER:
        raise Refusal("INVALID_PARAMS", f"message.role: expected {ROLE_USER}, not {message.role[:50]}")
    words = [part.words for part in message.parts]
    if None in words:
        text = "expected parts with text or data: a file is attached by POST …/attachments, and named in the text"
        raise Refusal("CONTENT_TYPE_NOT_SUPPORTED", text)
    return Message(content="\n\n".join(filter(None, words)))


def _without(run: FoundRun, answered: PendingQuestion | None) -> FoundRun:
    if answered is None or run.execution is None or run.execution.question != answered:
        return run
    status = ExecStatus.RUNNING if run.execution.status is ExecStatus.WAITING else run.execution.status
    return replace(run, execution=run.execution.model_copy(update={"question": None, "status": status}))


def _cancelled(run: FoundRun) -> FoundRun:
    """As it is once its executor has read the stop, which is stored: nothing more of it is delivered."""
    if run.execution is None or run.execution.status.over:
        return run
    return replace(run, execution=run.execution.model_copy(update={"status": ExecStatus.CANCELLED}))


def _no_task(task_id: str) -> Refusal:
    return Refusal("TASK_NOT_FOUND", f"there is no task {task_id} here")
