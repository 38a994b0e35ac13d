"""How long proofs of the life of the clusters take, and how sharp they are.

python benchmarks/certify.py            prints two tables in Markdown (about six minutes)
python benchmarks/certify.py 20 16      for this n and β, seed 1
"""

from __future__ import annotations

import sys
import time

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


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(int(sys.argv[1]), float(sys.argv[2]))
    else:
        main(20, 16.0)
        main(200, 64.0)
