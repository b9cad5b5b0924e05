"""Run two commands that need a grading model, against a loopback server in its place.

With arguments, it runs that attest-otel command instead: `loopback_judge.py check examples/runs/refund.json`.

    python examples/loopback_judge.py
"""

from __future__ import annotations

import subprocess
import sys

from judge_offline import RUN, server, use

COMMAND_LINE = "from attest_otel.cli import main; main()"
COMMANDS = (
    ["tools", str(RUN), "--check-answer"],
    ["check", str(RUN), "--checks", "faithfulness", "--format", "json"],
)


def main() -> int:
    """Run the commands and return the worst exit code."""
    given = sys.argv[1:]
    with server() as model:
        use(model.base_url)
        codes = []
        for arguments in [given] if given else COMMANDS:
            print(f"$ attest-otel {' '.join(arguments)}", flush=True)
            codes.append(subprocess.run([sys.executable, "-c", COMMAND_LINE, *arguments], check=False).returncode)
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
