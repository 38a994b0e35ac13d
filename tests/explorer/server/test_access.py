"""Requests from this machine's own page are answered, all others refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from support.explorer import RUN, SMALL, refused

from parkade.explorer.server.access import HEADERS


@pytest.mark.parametrize("path", ["/", "/static/main.js", "/api/schema", "/nowhere", RUN])
def test_every_answer_is_guarded(client, path):
    headers = client.get(path).headers
    assert {name: headers[name] for name in HEADERS} == HEADERS
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert "http" not in policy


OWN = ["127.0.0.1:8765", "localhost:1", "localhost", "LOCALHOST:80", "[::1]:8765"]
OTHER = [
    "evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil:80",
    "evil@localhost", "127.0.0.2", "0.0.0.0:8765", "localhost:80:80", "", "localhost:x",
]  # fmt: skip
OTHER_ORIGINS = [
    "http://evil.example", "null", "https://127.0.0.1:8765", "http://127.0.0.1:9999",
    "http://localhost:8765", "",
]  # fmt: skip


@pytest.mark.parametrize(
    ("headers", "status", "sentence"),
    [
        *(({"host": host}, 200, "") for host in OWN),
        ({"origin": "http://127.0.0.1:8765", "sec-fetch-site": "same-origin"}, 200, ""),
        *(({"host": host}, 421, "this server answers to 127.0.0.1") for host in OTHER),
        *(({"origin": origin}, 403, "from other sites are refused") for origin in OTHER_ORIGINS),
    ],
)
def test_who_is_answered(client, headers, status, sentence):
    """Whoever names this machine and comes from its own page."""
    for response in (
        client.get("/api/presets", headers=headers),
        client.post(RUN, SMALL, headers=headers),
    ):
        assert response.status_code == status
        assert status == 200 or refused(response, status, sentence)


def test_a_link_from_elsewhere_opens_the_page_only(client):
    headers = {"sec-fetch-site": "cross-site"}
    assert client.get("/?n=20", headers=headers).status_code == 200
    assert refused(client.get("/api/presets", headers=headers), 403, "open the page itself")
    assert refused(client.post(RUN, SMALL, headers=headers), 403, "open the page itself")


@given(st.dictionaries(
    st.sampled_from(["host", "origin", "content-type", "content-length", "sec-fetch-site", "x"]),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20),
))  # fmt: skip
@hypothesis_settings(max_examples=60)
def test_whatever_the_headers_say(client, headers):
    response = client.post(RUN, {"n": 0}, headers=headers)
    assert 400 <= response.status_code < 500
    assert response.json()["error"]
