"""The built-in tool that reads pages of the web."""

from collections import Counter
from dataclasses import dataclass, field

from executor.domain.used_tools import FETCH, FETCH_TOOL
from executor.file_ports import WebPages
from executor.tool_ports import NotBegun, ToolFailed
from executor.tools.registry import Call, Used
from rota_common.errors import Permanent, Transient

CHARACTERS = 50_000
"""Of a page's text; the rest is cut off."""

AT_ONCE = 4
"""Pages that a team's runs may read at once in this executor."""

AGAIN_S = 1.0


@dataclass(frozen=True, kw_only=True)
class WebTools:
    pages: WebPages
    _under_way: Counter[str] = field(default_factory=Counter)

    def used(self) -> Used:
        return {FETCH: (FETCH_TOOL, self.fetch)}

    async def fetch(self, call: Call) -> str:
        team = call.robot.team_id
        if self._under_way[team] >= AT_ONCE:
            raise NotBegun(f"team {team} reads {AT_ONCE} pages already", after=AGAIN_S)
        self._under_way[team] += 1
        try:
            page = await self.pages.read(call.arguments.text("url").strip(), limit=CHARACTERS)
        except (Permanent, Transient) as error:
            raise ToolFailed(f"fetch: {error}") from error
        finally:
            self._under_way[team] -= 1
            if not self._under_way[team]:
                del self._under_way[team]
        cut = f"\n[cut off after {len(page.text)} characters]" if page.cut else ""
        return f"source: {page.url}\n\n{page.text}{cut}"
