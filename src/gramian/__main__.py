"""Run ``python -m gramian``: the command line."""

import sys

from gramian.cli import main

sys.exit(main())
