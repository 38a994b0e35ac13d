"""What the page says reads as people write it: numbers, plurals, and of what moment it speaks."""

from __future__ import annotations

SENTENCES = [
    ("V=1,1,1", "predicted", "V is the identity: every token ends at x₁(0) (Theorem 4.1)."),
    ("V=2", "predicted", "V is 2 times the identity: every token"),
    ("d=2&V=1,-1;1,1", "predicted", "the leading pair 1 ± i: the configuration keeps turning"),
    ("d=2&V=1,-1;1,1", "predicted", "in its plane with period 6.28 (observed)"),
    ("d=2&V=1,-2;2,1", "predicted", "the leading pair 1 ± 2i"),
    ("c=6&frozen=strong", "seen", "rad of the frozen token at t = 10⁶⁰"),
    ("c=1&frozen=strong", "seen", "frozen tokens at t = 10⁶⁰"),
]


def test_theory(turned):
    reader = turned("n=8&T=1e60")
    for link, name, sentence in SENTENCES:
        reader.open(f"n=8&T=1e60&{link}")
        assert sentence in reader.text(name)


def test_large_numbers(turned):
    """Nowhere as a computer prints them, also in what is refused."""
    reader = turned("n=4&d=2&T=1e60")
    reader.type("T", "2e60")
    reader.forgive("the server responded with a status of 422")
    assert reader.text("T-error") == "T must be a number from 0.001 to 10⁶⁰, got 2·10⁶⁰"
    assert "e+" not in reader.page.locator("body").inner_text()


def test_what_is_seen_at_the_end_says_so(turned, small):
    """It stands beside a picture that may be of another moment."""
    reader = turned(f"{small}&t=0")
    line = reader.page.locator("#theory p", has=reader.on("seen"))
    assert line.inner_text().split("\n")[0].startswith("at the end")
    assert "at t = 100" in line.inner_text()
    assert reader.text("t") == "0"
