"""Random directions as a function of a counter: no entry is ever stored."""

import math

import numpy as np

from gramian._jit.compiler import njit


@njit()
def mix(x):
    """One 64-bit word scrambled into another (the finalizer of SplitMix64, a bijection)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit()
def gaussians(seed, features, n_bits):
    """Standard normal r[f, b] for given features: a function of (seed, feature, bit) alone (Box–Muller)."""
    out = np.empty((len(features), n_bits))
    step = np.uint64(0x9E3779B97F4A7C15)
    unit = 2.0**-53
    for i in range(len(features)):
        key = mix(mix(np.uint64(seed) + step) ^ (np.uint64(features[i]) * step + step))
        for b in range(0, n_bits, 2):
            word = mix(key + np.uint64(b + 1) * step)
            second = mix(key + np.uint64(b + 2) * step)
            radius = math.sqrt(-2.0 * math.log((np.float64(word >> np.uint64(11)) + 0.5) * unit))
            angle = 2.0 * math.pi * np.float64(second >> np.uint64(11)) * unit
            out[i, b] = radius * math.cos(angle)
            if b + 1 < n_bits:
                out[i, b + 1] = radius * math.sin(angle)
    return out
