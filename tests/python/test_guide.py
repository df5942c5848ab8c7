"""All code of docs/python.md runs and prints what it says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import homaes
import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "python.md"


def test_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = GUIDE.read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) > 8 and all(block.startswith(">>> ") for block in blocks)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    test = parser.get_doctest("\n".join(blocks), {}, GUIDE.name, str(GUIDE), 0)
    assert len(test.examples) > 40
    report: list[str] = []
    runner.run(test, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)




def test_the_package() -> None:
    found = doctest.testmod(homaes)
    assert found.attempted > 3 and found.failed == 0
