"""Pages of the site made from examples/notebooks: text, code and the stored outputs of each notebook."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

FOLDER = "examples/notebooks"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The files of the site with a page ``notebooks/NAME.md`` for each notebook, and its pictures."""
    for path in sorted((Path(config.config_file_path).parent / FOLDER).glob("*.ipynb")):
        page, pictures = make_page(json.loads(path.read_text(encoding="utf-8")), path.stem)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page))
        for name, data in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=data))
    return files


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Rebuild while serving when a notebook changes."""
    config.watch = [*config.watch, str(Path(config.config_file_path).parent / FOLDER)]
    return config


def make_page(notebook: dict[str, Any], name: str) -> tuple[str, dict[str, bytes]]:
    """A notebook as Markdown, and its pictures by file name."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook["cells"]:
        source = "".join(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                picture = f"{name}-{len(pictures) + 1}.png"
                pictures[picture] = base64.b64decode("".join(data["image/png"]))
                parts.append(f"![Output of the code above]({picture})")
            elif text := "".join(output.get("text", data.get("text/plain", ""))).strip():
                parts.append(f"```text\n{text}\n```")
    source = f"*This page is `{FOLDER}/{name}.ipynb`; the tests run it.*"
    parts.insert(1, source)
    return "\n\n".join(parts) + "\n", pictures
