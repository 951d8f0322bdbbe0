"""Types that users see: one run of pyright on tests/types.py says what each line says it does."""

import json
import re
import subprocess
import sys
from pathlib import Path

SNIPPETS = Path(__file__).parent / "types.py"


def test_a_type_checker_knows_arrays_and_rejects_mistakes():
    command = [sys.executable, "-m", "pyright", "--outputjson", str(SNIPPETS)]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=SNIPPETS.parents[1]
    )
    said: dict[int, str] = {}
    for each in json.loads(run.stdout)["generalDiagnostics"]:
        revealed = re.search(r'" is "([^"\[]*)', each["message"])
        line = each["range"]["start"]["line"]
        said[line] = revealed[1] if each["severity"] == "information" and revealed else each["rule"]
    lines = SNIPPETS.read_text(encoding="utf-8").splitlines()
    wanted = {
        i: line.rpartition("# ")[2]
        for i, line in enumerate(lines)
        if re.search(r"\)  # \w+$", line)
    }
    assert said == wanted
