"""Nearest neighbors under a learned metric: exact, hashed, and exported to other libraries."""

from gramian.search.base import Index
from gramian.search.exact import ExactIndex
from gramian.search.hashing import HashIndex
from gramian.search.online_hashing import OnlineHashIndex

__all__ = ["ExactIndex", "HashIndex", "Index", "OnlineHashIndex"]
