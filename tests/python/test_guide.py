"""All code of docs/python.md runs and prints what it says."""

from __future__ import annotations

import doctest
import re
from importlib.util import find_spec
from pathlib import Path

import homaes
import pytest
from conftest import python

GUIDE = Path(__file__).parents[2] / "docs" / "python.md"


def test_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = GUIDE.read_text()
    if find_spec("ray") is None:
        text = re.sub(r"^### On a Ray cluster$.*?^## ", "## ", text, count=1, flags=re.M | re.S)
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) > 8 and all(block.startswith(">>> ") for block in blocks)
    # "..." stands for the rest of a message
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    test = parser.get_doctest("\n".join(blocks), {}, GUIDE.name, str(GUIDE), 0)
    assert len(test.examples) > 40
    report: list[str] = []
    runner.run(test, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


def test_the_package() -> None:
    found = doctest.testmod(homaes)
    assert found.attempted > 3 and found.failed == 0


EXAMPLES = GUIDE.parents[1] / "python" / "examples"


def test_meter_readings() -> None:
    run = python(EXAMPLES / "meters.py", text=True)
    assert run.returncode == 0, run.stderr
    assert [line.split(":")[0] for line in run.stdout.splitlines()] == ["kind E", "kind G", "kind W"]


def test_the_example() -> None:
    example = EXAMPLES / "folder.py"
    run = python(example, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("20 files, ") and "in 2 batches" in run.stdout
    # it accepts toys alone
    paper = next(card.name for card in homaes.sets() if card.purpose == "paper")
    run = python(example, "--set", paper, text=True)
    assert run.returncode == 1 and "InsecureParametersError" in run.stderr


def test_the_notebook_saves_no_key() -> None:
    nbclient = pytest.importorskip("nbclient", reason="the package nbmake is not installed")
    import nbformat

    book = nbformat.read(GUIDE.parents[1] / "notebooks" / "first_file.ipynb", as_version=4)
    count = len(book.cells)
    book.cells.append(nbformat.v4.new_code_cell("print(aes_key.hex())"))
    nbclient.NotebookClient(book, timeout=120).execute()
    key = book.cells.pop().outputs[0].text.strip()
    assert len(key) == 32 and len(book.cells) == count
    assert key not in nbformat.writes(book)
