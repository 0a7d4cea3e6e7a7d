"""Labels of all kinds."""

from hypothesis import strategies as st

label_lists = st.lists(st.integers(-1, 4), min_size=2, max_size=40)
