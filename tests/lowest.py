"""Try what depends on other packages, at the lowest versions that parkade allows: `make lowest`.

A script and no tests of pytest, since the environment has nothing but parkade and its extras.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path

import numpy as np
from support import trained as tiny
from support import trained_files as written

import parkade as pk


def a_compiled_run(folder: Path) -> None:
    x0 = pk.sphere.uniform(12, 2, seed=1)
    for method in ("explicit", "implicit"):
        run = pk.simulate(pk.Attention(2, 9.0), x0, 50.0, method=method)
        assert np.abs(np.linalg.norm(run.final, axis=1) - 1).max() < 1e-12
    other = pk.simulate(pk.Attention(2, 9.0), x0, 50.0, method="explicit")
    assert pk.sphere.distance(run.final, other.final).max() < 1e-4
    assert len(run.merge_tree().events) == len(pk.theory.forecast(x0, 9.0, t_end=50.0).events)
    run.save(folder / "run.npz")
    assert np.array_equal(pk.load(folder / "run.npz").final, run.final)


def commands(folder: Path) -> None:
    for arguments in (
        ["--help"],
        ["simulate", "--help"],
        ["simulate", "--n", "12", "--t-end", "5", "--plot", str(folder / "run.png")],
    ):
        command = [sys.executable, "-m", "parkade", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert (folder / "run.png").stat().st_size > 1000


def a_sweep(folder: Path) -> None:
    results = pk.ensemble(d=2, n=5, beta=[1.0, 9.0], t_end=5.0, runs=2, store=folder / "sweep")
    assert pk.load_ensemble(folder / "sweep").equals(results)
    assert list((folder / "sweep").glob("**/*.nc"))


def a_cluster(folder: Path) -> None:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(1, processes=False, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        there = pk.ensemble(d=2, n=5, t_end=5.0, runs=2, executor=client.get_executor())
    assert there.equals(pk.ensemble(d=2, n=5, t_end=5.0, runs=2))


def the_explorer(folder: Path) -> None:
    import uvicorn

    from parkade.explorer.server.app import create_app

    ready = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            ready.set()

    server = Server(uvicorn.Config(create_app(), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    assert ready.wait(60)
    port = server.servers[0].sockets[0].getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    assert b"<html" in urllib.request.urlopen(f"{url}/", timeout=60).read()
    settings = json.dumps({"n": 12, "T": 5}).encode()
    asked = urllib.request.Request(f"{url}/api/run", settings, {"Content-Type": "application/json"})
    lines = urllib.request.urlopen(asked, timeout=60).read().splitlines()
    assert "scene" in json.loads(lines[-1])
    server.should_exit = True
    thread.join()


def trained_models(folder: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    config, tensors = tiny.llama(np.random.default_rng(7))
    plain = written.write_folder(folder / "model", config, tensors, "zip")
    inner = Tokenizer(models.WordLevel({"[UNK]": 0, "the": 1, "cat": 2}, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    inner.save(str(plain / "tokenizer.json"))
    model = pk.trained.load(plain)
    assert model.encode("the cat sat") == [1, 2, 0]
    other = pk.trained.load(written.write_gguf(folder / "model.gguf", config, tensors))
    assert np.allclose(model.read([1, 2, 0]).logits, other.read([1, 2, 0]).logits, atol=1e-4)


def a_proof(folder: Path) -> None:
    from parkade.proof.certificate import checked, read

    certificate = pk.certify(pk.sphere.uniform(5, 2, seed=1), beta=12.0)
    certificate.save(folder / "proof.json")
    assert checked(read(folder / "proof.json")).merges == certificate.merges != ()


def main() -> None:
    """Try one after the other."""
    parts = a_compiled_run, commands, a_sweep, a_cluster, the_explorer, trained_models, a_proof
    for each in parts:
        with tempfile.TemporaryDirectory() as folder:
            each(Path(folder))
        print(f"{each.__name__.replace('_', ' ')}: works", flush=True)


if __name__ == "__main__":
    main()
