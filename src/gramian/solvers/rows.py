"""The constraint matrices A_i of a problem, as rows of vectors; none is ever formed."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import linalg
from gramian._arrays import asarray, namespace
from gramian.constraints.base import Constraints, Terms

PIECE = 1024
"""Constraints that a fused product looks at together: about what a cache holds."""


@dataclass(frozen=True)
class Rows:
    """⟨A_i, M⟩ = Σ_s weight_is · p_isᵀ M q_is for m constraints of t terms each. Arrays may be of any array library.

    Parameters
    ----------
    left : array (m·t, d)
        The rows p, t per constraint.
    weight : array (m, t)
    right : array (m·t, d), optional
        The rows q; None means q = p.
    """

    left: Any
    weight: np.ndarray
    right: np.ndarray | None = None

    def __len__(self) -> int:
        return self.weight.shape[0]

    @property
    def rank(self) -> int:
        """Largest rank that an A_i can have."""
        return self.weight.shape[1] * (1 if self.right is None else 2)

    def linear(self, M: np.ndarray) -> np.ndarray:
        """⟨A_i, M⟩, shape (m,)."""
        return namespace(M).concat([linear_of(piece, M) for piece in pieces_of(self, M)])

    def mapped(self, V: np.ndarray) -> "Rows":
        """The rows of Vᵀ A_i V."""
        return Rows(self.left @ V, self.weight, None if self.right is None else self.right @ V)

    def adjoint(self, lam: np.ndarray) -> np.ndarray:
        """A(λ) = Σ λ_i A_i, (d, d), symmetric; where many multipliers are 0, those constraints are left out."""
        if namespace(lam) is np and len(lam) > PIECE and 2 * np.count_nonzero(lam) < len(lam):
            return self.take(lam != 0).adjoint(lam[lam != 0])
        pieces = pieces_of(self, lam)
        ends = np.cumsum([0, *(len(piece) for piece in pieces)])  # where each piece begins
        total: Any = sum(adjoint_of(piece, lam[i:j]) for piece, i, j in zip(pieces, ends[:-1], ends[1:]))
        return total

    def normal(self, S: np.ndarray) -> np.ndarray:
        """Σ ⟨A_i, S⟩ A_i, (d, d); the vectors are read from memory once."""
        total: Any = sum(adjoint_of(piece, linear_of(piece, S)) for piece in pieces_of(self, S))
        return total

    def moment(self) -> np.ndarray:
        """Σ |weight_is| (p pᵀ + q qᵀ) / 2, (d, d)."""
        xp = namespace(self.weight)
        root = xp.reshape(xp.abs(self.weight) ** 0.5, (-1, 1))  # (m·t, 1)
        sides = [self.left * root] if self.right is None else [self.left * root, self.right * root]
        squares = [side.T @ side for side in sides]
        return sum(squares[1:], start=squares[0]) / len(squares)

    def size(self, prior: np.ndarray | None = None) -> np.ndarray:
        """Σ_s |weight_is| (pᵀM₀p + qᵀM₀q) / 2, shape (m,); with I when no M₀ is given."""
        sides = [self.left] if self.right is None else [self.left, self.right]
        xp = namespace(self.weight)
        norms = [xp.sum((side if prior is None else side @ prior) * side, axis=1) for side in sides]
        mean = sum(norms[1:], start=norms[0]) / len(norms)
        return xp.sum(xp.abs(self.weight) * xp.reshape(mean, self.weight.shape), axis=1)

    def form(self, derivative: Any) -> np.ndarray:
        """About ⟨A_i, ∇²φ*[A_i]⟩, shape (m,), without the products of different terms."""
        xp = namespace(self.weight)
        squares = derivative.form(self.left, self.left if self.right is None else self.right)
        return xp.sum(self.weight**2 * xp.reshape(squares, self.weight.shape), axis=1)

    def positive(self) -> Any:
        """1 for constraints whose A_i is known to be PSD, 0 for others, shape (m,)."""
        xp = namespace(self.weight)
        zero = xp.zeros_like(self.weight[:, 0])
        if self.right is not None:
            return zero
        if self.weight.shape[0] == 1:  # a scatter constraint: PSD as a whole
            return xp.ones_like(zero)
        return xp.astype(xp.all(self.weight > 0, axis=1), zero.dtype)

    def take(self, keep: np.ndarray) -> "Rows":
        """The rows of some of the constraints, chosen by a mask (m,)."""
        xp = namespace(self.weight)
        rows = xp.nonzero(xp.reshape(xp.broadcast_to(keep[:, None], self.weight.shape), (-1,)))[0]  # t rows of each
        right = None if self.right is None else xp.take(self.right, rows, axis=0)
        return Rows(xp.take(self.left, rows, axis=0), xp.take(self.weight, xp.nonzero(keep)[0], axis=0), right)

    def scaled(self, factor: Any) -> "Rows":
        """The rows of factor_i A_i, factor ≥ 0 (m,): the vectors take its root, so that no unit overflows."""
        xp = namespace(self.weight)
        terms = self.weight.shape[1]
        root = xp.repeat(xp.sqrt(factor), terms)[:, None]  # (m·t, 1)
        return Rows(self.left * root, self.weight, None if self.right is None else self.right * root)

    def squares(self) -> tuple[np.ndarray, np.ndarray]:
        """Each A_i as signs[i, 0] u uᵀ + signs[i, 1] w wᵀ with u, w = vectors[i], for ranks of at most two.

        p qᵀ + q pᵀ = ½ (p+q)(p+q)ᵀ − ½ (p−q)(p−q)ᵀ.
        """
        m, t = self.weight.shape
        d = self.left.shape[1]
        vectors = np.zeros((m, 2, d))
        signs = np.zeros((m, 2))
        if self.right is None:
            vectors[:, :t] = self.left.reshape(m, t, d)
            signs[:, :t] = self.weight
        else:
            vectors[:, 0] = (self.left + self.right) / 2
            vectors[:, 1] = (self.left - self.right) / 2
            signs[:, 0] = self.weight[:, 0]
            signs[:, 1] = -self.weight[:, 0]
        return vectors, signs


def linear_of(rows: Rows, M: np.ndarray) -> np.ndarray:
    """⟨A_i, M⟩ of few constraints."""
    xp = namespace(M)
    right = rows.left if rows.right is None else rows.right
    products = xp.reshape(xp.sum((rows.left @ M) * right, axis=1), rows.weight.shape)  # p_isᵀ M q_is, (m, t)
    return xp.sum(rows.weight * products, axis=1)


def adjoint_of(rows: Rows, lam: np.ndarray) -> np.ndarray:
    """Σ λ_i A_i of few constraints."""
    xp = namespace(lam)
    w = xp.reshape(rows.weight * lam[:, None], (-1,))  # (m·t,)
    if rows.right is None:
        return rows.left.T @ (rows.left * w[:, None])
    A = rows.left.T @ (rows.right * w[:, None])
    return (A + A.T) / 2


def pieces_of(rows: Rows, beside: Any) -> list[Rows]:
    """The rows of few constraints at a time, without copies, where a cache pays."""
    if namespace(beside) is not np or len(rows) <= PIECE:
        return [rows]
    terms = rows.weight.shape[1]
    pieces = []
    for start in range(0, len(rows), PIECE):
        terms_of_piece = slice(start * terms, (start + PIECE) * terms)
        right = None if rows.right is None else rows.right[terms_of_piece]
        pieces.append(Rows(rows.left[terms_of_piece], rows.weight[start : start + PIECE], right))
    return pieces


@dataclass(frozen=True)
class Stacked:
    """Rows of several kinds, one kind after the other, with the methods of :class:`~gramian.solvers.Rows`."""

    parts: tuple[Rows, ...]

    def __len__(self) -> int:
        return sum(len(kind) for kind in self.parts)

    @property
    def rank(self) -> int:
        """Largest rank that an A_i can have."""
        return max(kind.rank for kind in self.parts)

    def _split(self, values: Any) -> list[Any]:
        """Values (m,) as one array for each kind."""
        ends = np.cumsum([len(kind) for kind in self.parts])
        return [values[end - len(kind) : end] for end, kind in zip(ends, self.parts)]

    def _joined(self, values: list[Any]) -> Any:
        return namespace(values[0]).concat(values)

    def linear(self, M: np.ndarray) -> np.ndarray:
        """⟨A_i, M⟩, shape (m,)."""
        return self._joined([kind.linear(M) for kind in self.parts])

    def mapped(self, V: np.ndarray) -> "Stacked":
        """The rows of Vᵀ A_i V."""
        return Stacked(tuple(kind.mapped(V) for kind in self.parts))

    def adjoint(self, lam: np.ndarray) -> np.ndarray:
        """A(λ) = Σ λ_i A_i, (d, d), symmetric."""
        total, *rest = (kind.adjoint(piece) for kind, piece in zip(self.parts, self._split(lam)))
        return sum(rest, start=total)

    def normal(self, S: np.ndarray) -> np.ndarray:
        """Σ ⟨A_i, S⟩ A_i, (d, d)."""
        total, *rest = (kind.normal(S) for kind in self.parts)
        return sum(rest, start=total)

    def moment(self) -> np.ndarray:
        """Second moment of all vectors, (d, d)."""
        total, *rest = (kind.moment() for kind in self.parts)
        return sum(rest, start=total)

    def size(self, prior: np.ndarray | None = None) -> np.ndarray:
        """Size of each A_i under M₀, shape (m,)."""
        return self._joined([kind.size(prior) for kind in self.parts])

    def form(self, derivative: Any) -> np.ndarray:
        """About ⟨A_i, ∇²φ*[A_i]⟩, shape (m,)."""
        return self._joined([kind.form(derivative) for kind in self.parts])

    def positive(self) -> Any:
        """1 for constraints whose A_i is known to be PSD, 0 for others, shape (m,)."""
        return self._joined([kind.positive() for kind in self.parts])

    def take(self, keep: np.ndarray) -> "Stacked":
        """The rows of some of the constraints, chosen by a mask (m,)."""
        return Stacked(tuple(kind.take(piece) for kind, piece in zip(self.parts, self._split(keep))))

    def scaled(self, factor: Any) -> "Stacked":
        """The rows of factor_i A_i, factor ≥ 0 (m,)."""
        return Stacked(tuple(kind.scaled(piece) for kind, piece in zip(self.parts, self._split(factor))))

    def squares(self) -> tuple[np.ndarray, np.ndarray]:
        """Each A_i of rank at most two as a sum of two signed squares."""
        vectors, signs = zip(*(kind.squares() for kind in self.parts))
        return np.concatenate(vectors), np.concatenate(signs)


def rows_of(side: Constraints, Z: Any) -> Any:
    """The A_i = Zᵀ C_i Z of constraints on points with coordinates Z (n, d)."""
    parts = tuple(rows_of_terms(Z, terms) for terms in side.blocks(Z.shape[0]))
    return parts[0] if len(parts) == 1 else Stacked(parts)


def rows_of_terms(Z: Any, terms: Terms) -> Any:
    """The rows of one kind of constraint."""
    right = None if terms.symmetric else linalg.product(terms.right, Z)
    return Rows(linalg.product(terms.left, Z), asarray(terms.weight, Z), right)
