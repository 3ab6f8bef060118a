"""The child process of `pattern_process`: runs regular expressions, and ends itself when one takes too long.

Run as a script. A line in: `[pattern, text]` as JSON. A line out: whether it is found, or the pattern's error.
"""

import json
import re
import signal
import sys


def answer(pattern: str, text: str) -> bool | str:
    try:
        return re.search(pattern, text) is not None
    except (re.error, RecursionError, OverflowError) as error:
        return f"it is no regular expression: {error}"


def main() -> None:
    seconds = float(sys.argv[1])
    for line in sys.stdin:
        # Processor time, so a busy machine doesn't count. The signal has no handler: matching can't be interrupted.
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        found = answer(*json.loads(line))
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
