"""Compiled code on disk is that of the function and the types it is asked for, whoever writes at the same time."""

import shutil

import numpy as np
import pytest

from gramian._jit import compiler, selection

KEYS = [(("array(float64, 1d, C)",), "cpu", "code"), (("array(float32, 1d, C)",), "cpu", "code")]


@pytest.fixture
def files(tmp_path):
    return [compiler.CompiledFiles(str(tmp_path), "loops.f-1.py311", stamp) for stamp in (1.0, 1.0, 2.0)]


def test_processes_that_compile_at_once_do_not_mix_their_code(files, monkeypatch):
    one, two, _ = files
    save = compiler.CompiledFiles._save_data

    def between(self, name, data):
        """Another process writes the code of other types just then."""
        monkeypatch.setattr(compiler.CompiledFiles, "_save_data", save)
        two.save(KEYS[1], "of single numbers")
        save(self, name, data)

    monkeypatch.setattr(compiler.CompiledFiles, "_save_data", between)
    one.save(KEYS[0], "of double numbers")
    assert [files[0].load(key) for key in KEYS] == ["of double numbers", "of single numbers"]


def test_other_sources_other_cpus_and_damaged_files_are_compiled_anew(files, tmp_path):
    one, _, later = files
    one.save(KEYS[0], "code")
    assert later.load(KEYS[0]) is None and one.load((KEYS[0][0], "other cpu", "code")) is None
    own, other = (tmp_path / one._name(key) for key in KEYS)
    shutil.copy(own, other)
    assert one.load(KEYS[1]) is None
    own.write_bytes(b"\0" * 99)
    assert one.load(KEYS[0]) is None


def test_a_disk_that_takes_nothing_costs_time_alone(files, tmp_path):
    shutil.rmtree(tmp_path)
    files[0].save(KEYS[0], "code")
    assert files[0].load(KEYS[0]) is None


def test_the_loops_keep_their_code_so():
    loop = selection.insert
    assert isinstance(loop._cache._cache_file, compiler.CompiledFiles)
    values, ids = np.array([1.0, 3.0]), np.array([0, 1])
    loop(values, ids, 2.0, 7)
    assert ids.tolist() == [0, 7] and loop._cache.load_overload(loop.signatures[0], loop.targetctx) is not None
