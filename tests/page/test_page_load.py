def test_load(opened, small):
    reader = opened(small)
    assert reader.get("document.documentElement.dataset.state") == "ready"
