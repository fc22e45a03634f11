"""Run the notebooks of examples/notebooks and keep their outputs: python docs/write_notebooks.py [NAME ...]

The site shows the stored outputs (docs/site/notebooks.py), so that building it runs nothing. The tests run the
notebooks as well, and leave the files as they are.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from PIL import Image

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "notebooks"
SETUP = "%matplotlib inline\n%config InlineBackend.print_figure_kwargs = {'dpi': 80, 'bbox_inches': 'tight'}"


def execute(path: Path, folder: Path) -> Any:
    """The notebook with the outputs of all its cells, run in ``folder``; an error of a cell is an error here."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    setup = nbformat.v4.new_code_cell(SETUP)  # type: ignore[no-untyped-call]
    notebook.cells.insert(0, setup)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    del notebook.cells[0]
    return notebook


def _tidy(notebook: Any) -> None:
    """Leave out what differs from run to run, and make pictures small."""
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type != "code":
            continue
        cell.execution_count = None
        cell.outputs = [output for output in cell.outputs if output.output_type != "stream" or output.name == "stdout"]
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = None
            if "image/png" in output.get("data", {}):
                image = Image.open(io.BytesIO(base64.b64decode(output.data["image/png"]))).convert("RGB")
                small = io.BytesIO()
                image.quantize(64).save(small, "PNG", optimize=True)
                output.data = {"image/png": base64.b64encode(small.getvalue()).decode()}
                output.metadata = {}
    notebook.metadata.language_info = {"name": "python"}


def main() -> None:
    """Run all notebooks, or those named."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        if sys.argv[1:] and path.stem not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            notebook = execute(path, Path(folder))
        _tidy(notebook)
        nbformat.write(notebook, path)  # type: ignore[no-untyped-call]
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
