"""DBOS: workflows of this process, their steps kept in SQLite. `python -m bench.peers.dbos_driver FILE`"""

import asyncio
import sys
from time import time
from uuid import uuid4

from dbos import DBOS, SetWorkflowID

from bench.peers.work import STEPS, Load, deliver, drive, report, step


@DBOS.step()
async def one_step(number: int, before: str) -> str:
    return step(number, before)


@DBOS.step()
async def delivery(name: str, result: str) -> str:
    return await deliver(name, result)


@DBOS.workflow()
async def run(name: str) -> str:
    result = name
    for number in range(STEPS):
        result = await one_step(number, result)
    sent: str = await delivery(name, result)
    return sent


async def once() -> tuple[str, float]:
    name, began = uuid4().hex, time()
    with SetWorkflowID(name):
        handle = await DBOS.start_workflow_async(run, name)
    await handle.get_result()
    return name, began


async def main(file: str) -> None:
    DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{file}", "log_level": "ERROR"})
    DBOS.launch()
    report(await drive(once, Load.given()))
    DBOS.destroy()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
