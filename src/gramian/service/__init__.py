"""A space that learns from clicks, over HTTP or from Python: see ``gramian serve``."""

from gramian.service.client import Client
from gramian.service.memory import Memory
from gramian.service.notebook import show
from gramian.service.space import Space

__all__ = ["Client", "Memory", "Space", "show"]
