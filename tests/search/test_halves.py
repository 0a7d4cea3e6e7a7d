"""16-bit floats are read as NumPy reads them, on a processor with instructions for that and on one without."""

import os
import platform
import subprocess
import sys

import numba
import numpy as np
import pytest

from gramian._jit.vectors import half


@numba.njit
def singles(bits, values):
    """All of them in single precision."""
    for i in range(len(bits)):
        values[i] = half(bits[i])


def check():
    """Every finite 16-bit float."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    expected = bits.view(np.float16)
    finite = np.isfinite(expected)
    values = np.empty(finite.sum(), np.float32)
    singles(bits[finite], values)
    np.testing.assert_array_equal(values, expected[finite].astype(np.float32))


def test_this_processor_reads_them_as_numpy_does():
    check()


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="a processor of another family")
def test_the_first_processor_of_its_family_does_too():
    """Where LLVM has no instruction it calls a function that is not there, and the process dies."""
    oldest = {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": ""}
    command = [sys.executable, "-c", "from tests.search.test_halves import check; check()"]
    subprocess.run(
        command, env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **oldest}, check=True
    )
