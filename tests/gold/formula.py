"""Numbers that a script and a test both compute from names and positions, and what is kept of large arrays.

A gold file then holds answers only.  A large array is kept as its norm, its products with PROJECTIONS sign vectors and
SAMPLES of its elements.  tests/support/digest.c is the other side of this.
"""
import numpy as np

PROJECTIONS, SAMPLES = 4, 24


def words(name, n):
    """n 64-bit words: splitmix64 from the FNV-1a hash of the name."""
    h = 14695981039346656037
    for byte in name.encode():
        h = (h ^ byte) * 1099511628211 % 2**64
    x = np.uint64(h) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def values(name, n):
    """Multiples of 1/64 in [-1, 1): the same numbers in every type, bf16 too."""
    return ((words(name, n) >> np.uint64(57)).astype(np.float64) - 64) / 64


def digest(name, g):
    g = g.reshape(-1)
    signs = [np.where(words(f"{name} {k}", g.size) >> np.uint64(63), -1.0, 1.0) for k in range(PROJECTIONS)]
    at = words(name + " samples", SAMPLES) % np.uint64(g.size)
    return np.array([np.sqrt((g * g).sum()), *(g @ s for s in signs), *g[at.astype(np.int64)]], dtype=np.float32)
