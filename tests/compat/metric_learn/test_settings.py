"""Settings that cannot be what they should."""

import inspect

import numpy as np
import pytest
from scipy import sparse

from gramian.compat import metric_learn


@pytest.mark.parametrize("name", ["ITML", "MMC_Supervised", "SDML_Supervised", "SCML", "LMNN", "RCA"])
def test_a_table_for_a_setting_is_refused_in_one_sentence(name):
    cls = getattr(metric_learn, name)
    settings = inspect.signature(cls).parameters.values()
    old = {given.name for given in settings if given.default == "deprecated"}
    for setting in {given.name for given in settings} - {"preprocessor", "random_state"} - old:
        with pytest.raises(ValueError, match=f"{name}: {setting} must be "):
            cls(**{setting: sparse.csr_array(np.eye(3))}).fit(np.zeros((4, 2)), [0, 0, 1, 1])
