"""Tables as they are: words, dates, decimal commas and gaps as numbers that a learner can take.

>>> import gramian as gm
>>> rows = [["red", "2024-01-31", "1,5"], ["blue", "2024-02-01", "2,5"], ["red", "2024-02-03", "3,5"]]
>>> encoder = gm.tables.TableEncoder().fit(rows)
>>> encoder.transform(rows)[:, 2].tolist()
[1.5, 2.5, 3.5]
"""

from gramian.tables.cells import Column
from gramian.tables.encoder import TableEncoder
from gramian.tables.files import TableError, read_columns
from gramian.tables.reading import Table, read

__all__ = ["Column", "Table", "TableEncoder", "TableError", "read", "read_columns"]
