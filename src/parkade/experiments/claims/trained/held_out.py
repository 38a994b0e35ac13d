"""Names, sentences and code that claims on meaning are tested on: written before they were run.

None of them was read when the claims were found.
"""

from __future__ import annotations

FEMALE = (
    "Nina", "Clara", "Sophie", "Ruby", "Lola", "Eva", "Nora", "Hannah", "Julia", "Laura",
    "Maria", "Sarah", "Susie", "Betty", "Polly", "Maya", "Ellie", "Lena", "Tina", "Rosie",
)  # fmt: skip
MALE = (
    "Adam", "Henry", "Luke", "Oliver", "Charlie", "Harry", "Danny", "Bobby", "Jake", "Ethan",
    "Noah", "Andrew", "Paul", "Steve", "Simon", "Oscar", "Felix", "Robert", "Jimmy", "Eric",
)  # fmt: skip

SENTENCES = (
    "{name} woke up early and looked out of the window. It was snowing, and",
    "There was once a little baker called {name}. Every morning {name} made bread. One morning",
    "Mom called {name} to dinner. But {name} did not come, because",
    "At school, {name} drew a big green dragon. The teacher smiled. Then",
    "{name} and the cat sat by the river. The cat fell in, so",
    'The farmer gave {name} a small brown egg. "Thank you," said {name}. That night',
)
"""Each goes on with "she" or "he"."""

CODE = (
    "function area(w, h) {\n{i}const size = w * h;\n{i}log(size);\n{i}check(size > 0);",
    "while (i < n) {\n{i}sum += v[i];\n{i}count[i] = sum;\n{i}i = i + 1;",
    "class Lamp:\n{i}power = 40\n{i}colour = None\n{i}on = False",
    "server:\n{i}host: example.org\n{i}port: 8080\n{i}workers: 4",
    "fn main() {\n{i}let a = 3;\n{i}let b = a + 4;\n{i}print(b);",
)
"""`{i}` is the indentation; the next line has it, too."""

INDENTATIONS = tuple(range(2, 15))
"""Blanks at the beginning of a line of code."""
