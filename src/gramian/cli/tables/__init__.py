"""Tables that commands read: words, dates, decimal commas and gaps as numbers that a learner can take."""

from gramian.cli.tables.files import TableError, load_numpy, read_columns
from gramian.cli.tables.reading import Table, as_learned, plain_data, read, read_again

__all__ = ["Table", "TableError", "as_learned", "load_numpy", "plain_data", "read", "read_again", "read_columns"]
