"""Forms drawn at random."""

import numpy as np

from gramian.online.base import Form


def random_form(rng, d=4):
    return Form(rng.standard_normal((2, d)), np.array([1.0, -1.0]))
