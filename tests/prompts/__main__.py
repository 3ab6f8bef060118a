"""`python -m tests.prompts`: every section of the prompts, and every line of a form, is taken out once; printed is the
test that fails without it. It ends with 1 if none fails. The snapshots don't count: they can be written anew.
"""

import contextlib
import io
import os
import sys
from multiprocessing import get_context

import pytest

from tests.prompts.mutants import mutants

TESTS = (
    "services/executor/tests/test_prompt_sections.py",
    "services/executor/tests/test_prompts.py",
    "services/executor/tests/test_prompt_words.py",
    "services/executor/tests/test_search_prompts.py",
    "services/executor/tests/test_own_result.py",
    "services/executor/tests/test_context_files.py",
    "services/executor/tests/test_text_tools.py",
    "services/validator/tests/test_prompts.py",
    "services/learner/tests/test_prompts.py",
)
OPTIONS = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header")


class FirstFailure:
    """A plugin that keeps the name of the first test that fails."""

    def __init__(self) -> None:
        self.name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.name:
            self.name = f"{report.nodeid} (can't be collected)"


def failing_test(number: int | None) -> str:
    """The first test that fails with the mutant of this number; empty if none does."""
    if number is not None:
        [*mutants()][number].apply()
    seen = FirstFailure()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = pytest.main([*OPTIONS, *TESTS], plugins=[seen])
    return seen.name or ("" if code == 0 else f"pytest ends with {code}")


def main() -> int:
    survived = []
    if broken := failing_test(None):  # here, so that what it imports is there for every process that is forked
        print(f"fails without a mutant: {broken}")
        return 1
    with get_context("fork").Pool(min(2, os.cpu_count() or 1), maxtasksperchild=1) as pool:
        made = [*mutants()]
        for mutant, found in zip(made, pool.imap(failing_test, range(len(made))), strict=True):
            print(f"{mutant.name}\n    {found or 'SURVIVES'}", flush=True)
            survived += [] if found else [mutant.name]
    print(f"{len(made)} mutants, {len(survived)} survive")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
