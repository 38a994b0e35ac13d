"""How long proofs of the life of the clusters take, and how sharp they are.

python benchmarks/certify.py            prints two tables in Markdown (about six minutes)
python benchmarks/certify.py 20 16      for this n and β, seed 1
python benchmarks/certify.py spheres    20 starts on S², a line for each (some 20 minutes)
"""

from __future__ import annotations

import sys
import time

import numpy as np

import parkade as pk
from parkade.proof.certificate import checked


def main(n: int, beta: float) -> None:
    """Prove the life of n tokens, check the proof, and simulate the same."""
    x0 = pk.sphere.uniform(n, 2, seed=1)
    begun = time.perf_counter()
    certificate = pk.certify(x0, beta)
    proved = time.perf_counter() - begun
    begun = time.perf_counter()
    checked(certificate.data)
    seconds = time.perf_counter() - begun
    print(f"n = {n}, β = {beta:g}: proved to t = {certificate.until:.3g} in {proved:.1f} s,")
    print(f"checked in {seconds:.1f} s; {len(certificate.plateaus)} plateaus\n")
    run = pk.simulate(pk.Attention(2, beta), x0, 1e60, tol=1e-9)
    times = {one.absorbed: one.time for one in run.merge_tree(radius=certificate.radius).events}
    print("| cluster | joins | not before | by | simulated, tol 1e-9 |")
    print("|---:|---:|---:|---:|---:|")
    for merge in certificate.merges:
        bounds = f"{merge.earliest:.8g} | {merge.latest:.8g}"
        print(f"| {merge.absorbed} | {merge.into} | {bounds} | {times[merge.absorbed]:.8g} |")
    print()


STARTS = [
    *((12, beta, seed) for seed in range(3) for beta in (16.0, 32.0, 64.0)),
    *((16, beta, seed) for beta in (24.0, 48.0) for seed in (3, 4)),
    *((20, beta, seed) for beta, seed in ((16.0, 0), (32.0, 0), (64.0, 0), (32.0, 2))),
    *((n, beta, 5) for n, beta in ((30, 16.0), (30, 64.0), (40, 32.0))),
]
"""Starts on S²: n, β and the seed."""


def spheres() -> None:
    """Prove the lives of tokens on S², and compare them with precise runs."""
    print(
        "| n | β | seed | proved to | merges | inside | widest, median of ln T | seconds of CPU |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for n, beta, seed in STARTS:
        x0 = pk.sphere.uniform(n, 3, seed=seed)
        begun = time.process_time()
        certificate = pk.certify(x0, beta)
        seconds = time.process_time() - begun
        run = pk.simulate(pk.Attention(3, beta), x0, 1e60, tol=1e-10)
        tree = run.merge_tree(radius=certificate.radius)
        times = {one.absorbed: one.time for one in tree.events}
        merges = certificate.merges
        inside = sum(one.earliest <= times[one.absorbed] <= one.latest for one in merges)
        widths = [np.log(one.latest / one.earliest) for one in merges] or [np.nan]
        print(
            f"| {n} | {beta:g} | {seed} | {certificate.until:.3g} | {len(merges)} | {inside} "
            f"| {max(widths):.1e}, {np.median(widths):.1e} | {seconds:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:] == ["spheres"]:
        spheres()
    elif len(sys.argv) > 1:
        main(int(sys.argv[1]), float(sys.argv[2]))
    else:
        main(20, 16.0)
        main(200, 64.0)
