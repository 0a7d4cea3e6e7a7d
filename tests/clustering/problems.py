"""Data of several clusterings, and what they cost by enumeration."""

from itertools import product

import numpy as np
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from gramian.clustering.parts import State


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    k = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    n, d = draw(st.integers(4, 12)), draw(st.integers(1, 4))
    weights = np.concatenate([rng.dirichlet(np.ones(size)) for size in k])
    state = State(rng.normal(size=(sum(k), d)), weights, rng.uniform(0.5, 2))
    return rng.normal(size=(n, d)), state, k, rng


def enumerated(Z, state, k):
    """Log-probability (n, Π k) of each combination, from scipy's densities."""
    stacks, weights = np.split(state.C, np.cumsum(k)[:-1]), np.split(state.weights, np.cumsum(k)[:-1])
    columns = []
    for combo in product(*map(range, k)):
        mean = sum(C[i] for C, i in zip(stacks, combo))
        prior = sum(np.log(max(w[i], 1e-300)) for w, i in zip(weights, combo))
        columns.append(prior + np.atleast_1d(multivariate_normal(mean, state.variance).logpdf(Z)))
    return np.column_stack(columns), np.array(list(product(*map(range, k))))
