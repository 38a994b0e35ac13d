"""Formulas as MathML, which browsers show by themselves: no script, and nothing from another host.

In Markdown they are between $ or $$, as code hosts show them, too.
"""

from __future__ import annotations

import html
import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

_logger = logging.getLogger(__name__)
_MATHML = "http://www.w3.org/1998/Math/MathML"
_ENTITY = re.compile(r"&(?!lt;|gt;|amp;)\w+;")
_ACCENTS = "\u02d9", "\u02c9"  # those of \dot and \bar
_APPLIED = "\u2061"  # what MathML has between a function and its argument
_NARROW = {"lspace": "0", "rspace": "0"}
_THIN = "0.17em"


def mathml(formula: str, *, block: bool) -> str:
    """A formula in LaTeX as MathML, by docutils, with some details as in LaTeX."""
    text = tex2mathml(formula, as_block=block).replace(f' xmlns="{_MATHML}"', "")
    tree = ET.fromstring(_ENTITY.sub(lambda found: html.unescape(found[0]), text))
    for node in [*tree.iter()]:
        node.tail = None
        node.text = None if len(node) else node.text
        if node.tag == "mo" and node.text in ("|", "'"):  # not between two numbers, as + is
            node.text = node.text.replace("'", "\u2032")
            node.attrib |= _NARROW
        elif node.tag == "mo" and node.text in ("\u27e8", "\u27e9"):  # angles, as high as ( and )
            node.attrib |= {"stretchy": "false"}
        elif node.tag == "munderover" and node[2].text in _ACCENTS:
            # The index of a letter with an accent is beside it, not below.
            letter, index, accent = node
            node.tag, node[:] = "msub", [ET.Element("mover", accent="true"), index]
            node[0].extend([letter, accent])
        for applied, argument in pairwise(list(node)):
            if applied.text == _APPLIED and argument.text != "(":
                applied.attrib |= {"lspace": "0", "rspace": _THIN}
        for i in range(len(node) - 1, 1, -1):
            before = node[i - 2]
            if node[i].text == _APPLIED and (before.tag != "mo" or before.text in (")", "|")):
                node.insert(i - 1, ET.Element("mspace", width=_THIN))
    tree.set("xmlns", _MATHML)
    return ET.tostring(tree, encoding="unicode")


def _formula(node: nodes.Element, *, block: bool) -> str:
    """A formula as MathML; one that cannot be read is a warning, which ends `make docs`."""
    try:
        return mathml(node.astext(), block=block)
    except (MathError, ET.ParseError) as error:
        _logger.warning("formula %s: %s", node.astext(), error, location=node)
        return ""


def _inline(writer: Any, node: nodes.math) -> None:
    text = _formula(node, block=False)
    after = node.get("after", "")
    writer.body.append(f'<span class="formula">{text}{after}</span>' if after else text)
    raise nodes.SkipNode


def _display(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="formula">{_formula(node, block=True)}</div>\n')
    raise nodes.SkipNode


def _together(app: Any, tree: nodes.document, name: str) -> None:
    """A line must not begin with the full stop or the comma after a formula."""
    for formula in tree.findall(nodes.math):
        place = formula.parent.index(formula) + 1
        text = formula.parent[place] if place < len(formula.parent) else None
        if isinstance(text, nodes.Text) and (found := re.match(r"[.,;:)?]+", text)):
            formula["after"] = found[0]
            formula.parent[place] = nodes.Text(text[found.end() :])


def setup(app: Any) -> dict[str, Any]:
    """For Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    app.connect("doctree-resolved", _together)
    return {"parallel_read_safe": True, "version": "1"}
