"""Every notebook runs, on a small subset of its runs unless all are kept. What comes out is in target/notebooks."""

import json
import os
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))
#: Executed notebooks, with figures.
OUT = Path(__file__).resolve().parents[1] / "target" / "notebooks"


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs_and_draws(file: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    monkeypatch.setitem(os.environ, "HAWSER", command)
    notebook = nbformat.read(file, as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(file.parent)}}).execute()
    OUT.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, OUT / file.name)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    shown = [kind for output in outputs for kind in output.get("data", ())]
    assert "text/html" in shown, "no table"
    assert "image/png" in shown, "no figure"


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_is_kept_without_outputs(file: Path) -> None:
    cells = [cell for cell in json.loads(file.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert cells and all(not cell["outputs"] and cell["execution_count"] is None for cell in cells)


def test_every_published_system_has_one() -> None:
    lists = {file.stem for file in (Path(__file__).resolve().parents[2] / "lab" / "reproductions").glob("*.toml")}
    assert {file.stem for file in NOTEBOOKS} == lists - {"default", "seam"}
