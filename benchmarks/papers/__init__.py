"""Tables and figures of the source documents: ours | paper | difference."""

BY_LIBRARY = True
"""Parts that a stopped run left behind are of the library that made them: with another they are computed again."""

WANTS_DATA = True
"""Whether a run begins with the data sets that are not there."""
