"""Live scenes: a run as a page in a frame, in which the reader drags time, and changes β.

    ```{scene} run
    A caption.
    ```

shows the variable `run` of the Python blocks before it on the page, which are executed for it. So
the picture is that of the code. `:view:` is what a link of the explorer has after #. Where pages
can compute the model, the reader can change β, n and the seed, too.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive, directives

_PYTHON = re.compile(r"^```python\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
FOLDER = "_scenes"
"""Where the pages of the scenes are on the site."""

_known: dict[str, dict[str, Any]] = {}


def namespace(code: str) -> dict[str, Any]:
    """The variables after a piece of code, which is executed once."""
    if code not in _known:
        values: dict[str, Any] = {"__name__": "__main__"}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, "<page>", "exec"), values)
        _known[code] = values
    return _known[code]


class frame(nodes.General, nodes.Element):  # noqa: N801 (docutils names nodes so)
    """The frame of a scene."""


class Scene(Directive):
    """The directive."""

    required_arguments = 1
    has_content = True
    option_spec = {"view": directives.unchanged}  # noqa: RUF012 (docutils asks for it)

    def run(self) -> list[nodes.Node]:
        """Make the page of the scene, and its frame."""
        env = self.state.document.settings.env
        source = Path(env.doc2path(env.docname)).read_text(encoding="utf-8")
        before = "".join(source.splitlines(keepends=True)[: self.lineno - 1])
        code = "".join(_PYTHON.findall(before))
        run = namespace(code)[self.arguments[0]]
        text = _page(run, self.options.get("view", ""))
        name = hashlib.sha256(text.encode()).hexdigest()[:16] + ".html"
        folder = Path(env.app.outdir) / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        caption = " ".join(self.content)
        place = frame(src=f"{FOLDER}/{name}", title=caption)
        figure = nodes.figure("", place, classes=["scene"])
        words, messages = self.state.inline_text(caption, self.lineno)
        figure += nodes.caption(caption, "", *words)
        return [figure, *messages]


def _page(run: Any, view: str) -> str:
    """The page of a run, with controls if it can compute."""
    from parkade.base.errors import InputError

    try:
        return str(run.show(view=view, embed=True, live=True).text)
    except InputError:
        return str(run.show(view=view, embed=True).text)


def _visit(writer: Any, node: frame) -> None:
    root = "../" * writer.builder.current_docname.count("/")
    writer.body.append(
        writer.starttag(
            node,
            "iframe",
            "",
            src=root + node["src"],
            title=node["title"],
            loading="lazy",
        )
        + "</iframe>"
    )


def setup(app: Any) -> dict[str, Any]:
    """For Sphinx."""
    app.add_node(frame, html=(_visit, lambda writer, node: None))
    app.add_directive("scene", Scene)
    return {"parallel_read_safe": False, "version": "1"}
