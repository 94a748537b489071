"""Pages of the book from notebooks: text, code, and what `make python` left of their outputs (python/target/notebooks)."""

import base64
import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "python" / "notebooks"
EXECUTED = ROOT / "python" / "target" / "notebooks"
TODO = "*Not executed here: `make python` before `make book` puts tables and figures onto this page.*"


def write_notebooks(folder):
    """A page per notebook, and a file per figure. Returns how many notebooks have outputs."""
    folder.mkdir(parents=True)
    drawn = 0
    for kept in sorted(KEPT.glob("*.ipynb")):
        executed = EXECUTED / kept.name
        notebook = json.loads(kept.read_text(encoding="utf-8"))
        # Outputs of what the notebook was before would mislead.
        if executed.exists() and sources(fresh := json.loads(executed.read_text(encoding="utf-8"))) == sources(notebook):
            notebook, drawn = fresh, drawn + 1
        (folder / f"{kept.stem}.md").write_text(page(notebook, folder, kept.stem), encoding="utf-8")
    return drawn


def sources(notebook):
    return ["".join(cell["source"]) for cell in notebook["cells"]]


def page(notebook, folder, name):
    parts, has_outputs = [], False
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            if part := shown(output, folder, f"{name}-{len(parts)}"):
                parts.append(part)
                has_outputs = True
    return "\n\n".join(parts if has_outputs else [parts[0], TODO, *parts[1:]]) + "\n"


def shown(output, folder, name):
    """The richest form of an output that a page can show; nothing for what is only about the process."""
    data = output.get("data", {})
    if "image/png" in data:
        (folder / f"{name}.png").write_bytes(base64.b64decode("".join(data["image/png"])))
        return f"![]({name}.png)"
    if "text/html" in data:
        # A blank line would end the block of HTML.
        html = re.sub(r"<style.*?</style>", "", "".join(data["text/html"]), flags=re.S)
        return re.sub(r"\n\s*(?=\n)", "", html.strip())
    text = "".join(data.get("text/plain", output.get("text", "")))
    return f"```text\n{text.rstrip()}\n```" if text.strip() and output.get("name") != "stderr" else ""
