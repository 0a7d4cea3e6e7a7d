"""Random orders that are made where they are used."""

from typing import Any

import numpy as np

from gramian._device.array import held

MIX = 0x45D9F3B
"""Odd factor of the hash; times 32 bits it stays below 2⁶³."""


def permutation(n: int, rng: np.random.RandomState, beside: Any) -> Any:
    """A random order of range(n), where ``beside`` is: on a device one seed crosses, not the order.

    There it is the order of hashes of the numbers: two rounds of shifts and products of 32 bits, each of which is
    one to one.
    """
    if not held(beside):
        return rng.permutation(n)
    keys = np.arange(n, like=beside) + int(rng.randint(1 << 31))
    for _ in range(2):
        keys = np.bitwise_xor(keys, np.right_shift(keys, 16)) * MIX % (1 << 32)
    return np.argsort(np.bitwise_xor(keys, np.right_shift(keys, 16)))
