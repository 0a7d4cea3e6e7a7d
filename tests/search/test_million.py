"""A million items: batches, removal, files, identical answers (slow)."""

import numpy as np
import pytest

import gramian as gm


@pytest.mark.slow
def test_a_million_items_are_added_removed_saved_and_mapped(tmp_path):
    rng = np.random.default_rng(0)
    centers = 2 * rng.normal(size=(1000, 32))
    X = (centers[rng.integers(1000, size=1_000_000)] + rng.normal(size=(1_000_000, 32))).astype(np.float32)
    index = gm.HashIndex(gm.Mahalanobis.from_matrix(np.diag(np.linspace(0.5, 2, 32))), random_state=0)
    for start in range(0, len(X), 100_000):
        index.add(X[start : start + 100_000])
    gone = rng.choice(len(X), 10_000, replace=False)
    index.remove(gone)
    Q = X[rng.choice(gone, 50)]
    before = index.query(Q, k=10)
    assert not np.isin(before[0], gone).any()
    index.save(tmp_path / "million.gram")
    for mmap in (False, True):
        loaded = gm.load(tmp_path / "million.gram", mmap=mmap)
        after = loaded.query(Q, k=10)
        assert np.array_equal(before[0], after[0]) and np.array_equal(before[1], after[1])
        assert len(loaded) == 990_000
    true = gm.ExactIndex(index.metric).add(np.delete(X, gone, axis=0), ids=np.delete(np.arange(len(X)), gone))
    assert gm.search.evaluation.recall_at_k(before[0], true.query(Q, k=10)[0]) >= 0.98
    whole = (tmp_path / "million.gram").read_bytes()
    (tmp_path / "cut.gram").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="not a readable gramian file"):
        gm.load(tmp_path / "cut.gram", mmap=True)
