"""The examples and the guide: each program prints what its last lines, which begin with an arrow, say."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples/python").glob("*.py"))
GUIDE = ROOT / "docs/guide/python.md"
README = ROOT / "crates/python/README.md"


def blocks(page: pathlib.Path) -> list[str]:
    """Return the programs of a page. An indented line does not end a block."""
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def programs() -> list[tuple[str, str]]:
    """Return all programs with their names."""
    found = [(path.name, path.read_text(encoding="utf-8")) for path in EXAMPLES]
    for page in (GUIDE, README):
        found += [(f"{page.name} {number}", block) for number, block in enumerate(blocks(page), 1)]
    return found


PROGRAMS = programs()


def test_there_are_programs() -> None:
    assert len(EXAMPLES) >= 4 and len(PROGRAMS) >= len(EXAMPLES) + 6


@pytest.mark.parametrize(("name", "program"), PROGRAMS, ids=[name for name, _ in PROGRAMS])
def test_a_program_prints_what_it_says(name: str, program: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(program, encoding="utf-8")
    # Servers of the guide are the one of these tests.
    server = {"mcpServers": {"sums": {"command": sys.executable, "args": [str(ROOT / "crates/python/tests/server.py")]}}}
    (tmp_path / "mcp.json").write_text(json.dumps(server))
    ended = subprocess.run([sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    expected = [line.removeprefix("# → ") for line in program.splitlines() if line.startswith("# → ")]
    assert expected, f"{name} does not say what it prints"
    printed = ended.stdout.splitlines()
    assert len(printed) == len(expected), ended.stdout
    for line, pattern in zip(printed, expected, strict=True):
        assert re.fullmatch(re.escape(pattern).replace("…", ".*"), line), line
