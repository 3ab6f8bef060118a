"""The executor's use cases."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Self
from uuid import uuid4

from executor.abort_calls import AbortCalls
from executor.agents.connectors import Connectors
from executor.agents.prompt_files import Agents
from executor.agents.skill_files import Skills, beside
from executor.agents.team_ceilings import TeamCeilings
from executor.agents.team_view import TeamViews
from executor.call_agents import CallAgents, LeaseSettings
from executor.call_with_tools import CallWithTools
from executor.check_connector import CheckConnector
from executor.domain.spans.record import Content
from executor.ports import Adapters
from executor.publish import EventPublisher
from executor.read_person_files import ReadPersonFiles
from executor.reads.check_definition import CheckDefinition
from executor.reads.count_runs_by_revision import CountRunsByRevision
from executor.reads.decide_permission import DecidePermission
from executor.reads.judge_definitions import JudgeDefinitions
from executor.reads.list_models import ListModels
from executor.reads.read_executions import ReadExecutions
from executor.reads.read_quarantine import ReadQuarantine
from executor.reads.read_steps import ReadSteps
from executor.reads.read_trace import AnswerTrace, ExportRuns, ReadSpans
from executor.reads.replay import Replay
from executor.robot_hooks import HooksOfRobots
from executor.runs.announce_decisions import AnnounceDecisions
from executor.runs.decide_approvals import Approvals
from executor.runs.decide_quarantined_result import DecideQuarantinedResult
from executor.runs.follow_robot_status import FollowRobotStatus
from executor.runs.heartbeat import Heartbeat
from executor.runs.remove_runs import RemoveRuns
from executor.runs.signals import SendSignal, TakeResult
from executor.runs.start_execution import StartExecution
from executor.runs.stop_runs import RemoveTeam, StopRuns
from executor.runs.sweeper import Sweeper
from executor.runs.worker import RunWorker, Timeouts
from executor.settings import Settings
from executor.spending.continue_below_ceilings import ContinueBelowCeilings
from executor.spending.measure_ceilings import MeasureCeilings
from executor.spending.metered_model import Meter
from executor.spending.observe_calls import ObserveCalls
from executor.spending.read_spending import ReadSpending
from executor.steps.call_runner import CallRunner, Toolset
from executor.steps.circuit_breakers import CircuitBreakers
from executor.steps.compact_conversation import CompactConversation
from executor.steps.describe_media import DescribeMedia
from executor.steps.gather_situation import GatherSituation
from executor.steps.hook_chain import HookChain
from executor.steps.hooked_prompts import HookedPrompts
from executor.steps.hooked_steps import HookedSteps
from executor.steps.merge_goals import MergeGoals
from executor.steps.models import Models
from executor.steps.notify_hooks import NotifyHooks
from executor.steps.own_hooks import HookMeans
from executor.steps.questions import Questions
from executor.steps.redacted_calls import RedactedProcesses, RedactedTools
from executor.steps.search_first import SearchFirst
from executor.steps.show_media import ShowMedia
from executor.steps.step_runner import StepRunner
from executor.steps.team_keys import TeamKeys
from executor.steps.turn_hooks import HooksOfTurns
from executor.steps.used_agents import reply_of
from executor.tools.files import FileTools
from executor.tools.registry import Registry
from executor.tools.robot_tools import RobotTools
from executor.tools.searches import SearchTools
from executor.tools.web import WebTools
from rota_common.runtime.service import Service
from rota_common.spans.export_spans import ExportSpans
from rota_contracts.catalog import ANSWER_PIECE
from rota_contracts.messages.hook import HookPoint


@dataclass(frozen=True, kw_only=True)
class UseCases:
    worker: RunWorker
    notify_hooks: NotifyHooks
    start: StartExecution
    send: SendSignal
    follow_status: FollowRobotStatus
    take_result: TakeResult
    approvals: Approvals
    stop_runs: StopRuns
    remove_team: RemoveTeam
    sweep: Sweeper
    remove: RemoveRuns
    heartbeat: Heartbeat
    call_agents: CallAgents
    abort_calls: AbortCalls
    read: ReadExecutions
    permission: DecidePermission
    quarantine: ReadQuarantine
    decide_quarantined: DecideQuarantinedResult
    replay: Replay
    steps: ReadSteps
    trace: AnswerTrace
    export_runs: ExportRuns
    export_spans: ExportSpans
    spend: ReadSpending
    count_runs: CountRunsByRevision
    check_definitions: JudgeDefinitions
    check_robot: CheckDefinition
    list_models: ListModels
    check_connector: CheckConnector
    continue_below_ceilings: ContinueBelowCeilings
    measure_ceilings: MeasureCeilings

    @classmethod
    def over(
        cls, adapters: Adapters, settings: Settings, service: Service, *, environ: Mapping[str, str] | None = None
    ) -> Self:
        """`environ` holds the variables behind `$ENV.` references, in place of the process's own."""
        owner, clock = f"{service.name}-{uuid4().hex[:8]}", service.runtime.clock
        environ = os.environ if environ is None else environ
        runs, publish = adapters.runs, service.publish
        views = TeamViews(
            agents=Agents(settings.agents_dir, environ=environ),
            connectors=Connectors(settings.connector, environ=environ, folder=settings.connectors_dir),
            skills=Skills(settings.skills_dir or beside(settings.agents_dir)),
            definitions=adapters.definitions,
        )
        views.agents.check_means(views.connectors.ids, adapters.servers)
        views.agents.check_skills(views.skills)
        observe = ObserveCalls(publish=publish, clock=clock)
        meter = Meter(
            budget=adapters.budget,
            prices=adapters.prices,
            ceilings=TeamCeilings(settings.ceilings_file),
            find_robot=adapters.robots.known,
            observe=observe,
        )
        models = Models(
            views=views,
            real=TeamKeys(model=adapters.model, secrets=adapters.secrets),
            rehearsal=adapters.rehearsal,
            meter=meter,
            breakers=CircuitBreakers(clock=clock),
        )
        chain = HookChain(platform=adapters.hooks, processes=adapters.processes)
        notify_hooks = NotifyHooks(blobs=adapters.blobs)
        read_spans = ReadSpans(runs=runs, blobs=adapters.blobs)
        export_spans = ExportSpans(service=service.name, receiver=adapters.spans, random=service.runtime.random)
        content = Content(settings.trace_content)
        export_runs = ExportRuns(runs=runs, read=read_spans, export=export_spans, content=content)
        publisher = EventPublisher(
            publish=publish,
            blobs=adapters.blobs,
            clock=clock,
            verbose=content is Content.VERBOSE,
            on_end=export_runs.finished,
        )
        built_in = _built_in(adapters, settings, service)
        tools = RedactedTools(RobotTools(mcp=adapters.tools, registry=built_in), adapters.known_secrets)
        processes = RedactedProcesses(adapters.processes, adapters.known_secrets)
        recording = RobotTools(mcp=adapters.recording_tools, registry=built_in, recorded=True)
        own_hooks = HookMeans(processes=processes, calls=adapters.calls, models=models)
        call_agents = CallAgents(
            calls=adapters.calls,
            runs=runs,
            models=models,
            clock=clock,
            lease=LeaseSettings(owner, settings.lease),
            find_robot=adapters.robots.known,
            observe_piece=partial(publish.observe, ANSWER_PIECE),
            known_secrets=adapters.known_secrets,
            hooks=own_hooks,
            with_tools=CallWithTools(
                calls=adapters.calls,
                tools=tools,
                recording=recording,
                clock=clock,
                owner=owner,
                known_secrets=adapters.known_secrets,
            ),
            robot_hooks=HooksOfRobots(chain=chain, notify=notify_hooks, calls=adapters.calls, models=models),
            of_person=ReadPersonFiles(ask=service.ask, calls=adapters.calls),
        )
        calls = CallRunner(
            blobs=adapters.blobs,
            views=views,
            real=Toolset(tools, processes),
            recording=Toolset(recording, adapters.recording_processes),
            known_secrets=adapters.known_secrets,
            ask_agent=call_agents,
        )
        run_step = StepRunner(
            models=models,
            blobs=adapters.blobs,
            questions=Questions(service.ask),
            merge_goals=MergeGoals(runs=runs, ask=service.ask, publisher=publisher, clock=clock),
            gather_situation=GatherSituation(runs=runs, blobs=adapters.blobs, ask=service.ask),
            show_media=ShowMedia(files=adapters.files, web=adapters.pictures),
            describe_media=DescribeMedia(
                calls=calls, replies=adapters.calls, ask_agent=call_agents, chain=chain, notify=notify_hooks
            ),
            compact=CompactConversation(models=models, blobs=adapters.blobs),
            publish_piece=publisher.answer_piece,
            known_secrets=adapters.known_secrets,
            calls=calls,
            hooks=HookedPrompts(chain=chain, models=models, blobs=adapters.blobs),
            own_hooks=HooksOfTurns(means=own_hooks, ask_agent=partial(reply_of, call_agents)),
        )
        search_first = SearchFirst(
            run_step=HookedSteps(run_step=run_step, chain=chain, notify=notify_hooks),
            views=views,
            ask=service.ask,
            ask_agent=call_agents,
            calls=calls,
            chain=chain,
            blobs=adapters.blobs,
        )
        announce = AnnounceDecisions(publish=publish, blobs=adapters.blobs, known_secrets=adapters.known_secrets)
        worker = RunWorker(
            runs=runs,
            run_step=search_first,
            publisher=publisher,
            owner=owner,
            timeouts=Timeouts(settings.lease, settings.answer_patience),
            clock=clock,
            random=service.runtime.random,
            hooked=lambda run: bool(chain.hooks(run, HookPoint.BEFORE_TOOL_CALL)),
            announce=announce,
        )
        send = SendSignal(runs=runs, worker=worker, publisher=publisher, clock=clock)
        stop_runs = StopRuns(runs=runs, worker=worker, send=send, clock=clock)
        robots = adapters.robots
        status = FollowRobotStatus(runs=runs, robots=robots, send=send, clock=clock)
        return cls(
            worker=worker,
            notify_hooks=notify_hooks,
            start=StartExecution(
                runs=runs, worker=worker, robots=robots, status=status, publish=publish, clock=clock, views=views
            ),
            send=send,
            follow_status=status,
            take_result=TakeResult(runs=runs, blobs=adapters.blobs, send=send, clock=clock),
            approvals=Approvals(runs=runs, send=send, clock=clock),
            stop_runs=stop_runs,
            remove_team=RemoveTeam(stop=stop_runs, blobs=adapters.blobs, documents=adapters.team_documents),
            sweep=Sweeper(
                runs=runs, worker=worker, send=send, clock=clock, lease=settings.lease, outages=service.outages
            ),
            remove=RemoveRuns(runs=runs, blobs=adapters.blobs, clock=clock, keep=timedelta(days=settings.keep_days)),
            heartbeat=Heartbeat(
                publish=publish, clock=clock, executor_id=owner, capacity=settings.capacity, views=views
            ),
            call_agents=call_agents,
            abort_calls=AbortCalls(calls=adapters.calls),
            read=ReadExecutions(runs=runs),
            permission=DecidePermission(runs=runs, clock=clock),
            quarantine=ReadQuarantine(runs=runs, blobs=adapters.blobs),
            decide_quarantined=DecideQuarantinedResult(
                runs=runs, announce=announce, clock=clock, patience=timedelta(seconds=settings.answer_patience)
            ),
            replay=Replay(runs=runs, blobs=adapters.blobs),
            steps=ReadSteps(runs=runs, blobs=adapters.blobs),
            trace=AnswerTrace(runs=runs, read=read_spans),
            export_runs=export_runs,
            export_spans=export_spans,
            spend=ReadSpending(runs=runs),
            count_runs=CountRunsByRevision(runs=runs),
            check_definitions=JudgeDefinitions(views=views, servers=adapters.servers or {}, clock=clock),
            check_robot=CheckDefinition(views=views, tools=tools),
            list_models=ListModels(views=views),
            check_connector=CheckConnector(models=models),
            continue_below_ceilings=ContinueBelowCeilings(runs=runs, meter=meter, send=send, clock=clock),
            measure_ceilings=MeasureCeilings(meter=meter, teams=lambda: observe.teams),
        )


def _built_in(adapters: Adapters, settings: Settings, service: Service) -> Registry:
    files = FileTools(ask=service.ask, files=adapters.files)
    searches = SearchTools(ask=service.ask)
    used = {**WebTools(pages=adapters.pages).used(), **searches.used()}
    return Registry({**files.works(), **searches.works()}, used)
