"""Who may do what: tokens, roles, and the cookie of the page."""

import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gramian.service.draft import Draft
from gramian.service.errors import SpaceError, Unknown
from gramian.service.space import Space

ROLES = ("viewer", "teacher", "admin")
COOKIE = "gramian_session"
SESSION_SECONDS = 12 * 3600
_SCRYPT = {"n": 2**14, "r": 8, "p": 1, "maxmem": 64 << 20}


@dataclass(frozen=True)
class Identity:
    """The holder of a token; without a name, whoever sits at this machine."""

    role: str
    name: str | None = None

    def may(self, role: str) -> bool:
        """Whether the rights of a role are included."""
        return ROLES.index(self.role) >= ROLES.index(role)


class Access:
    """Tokens of a space and of the command line, and sessions made from them.

    Parameters
    ----------
    space : Space
        Keeps tokens, as scrypt hashes.
    given : iterable of "ROLE:SECRET"
        Tokens of the command line, which are not kept.
    """

    def __init__(self, space: Space, given: Iterable[str] = ()) -> None:
        self.space = space
        self._given = {
            _digest(secret): Identity(role, f"{role} of the command line") for role, secret in map(_split, given)
        }
        self._known: dict[str, tuple[str, Identity]] = {}
        self._lock = threading.Lock()
        self._key = bytes.fromhex(space.store.setting("secret") or "")
        self.required = bool(self._given) or bool(self.tokens())

    def tokens(self) -> list[dict[str, Any]]:
        """Tokens without their secrets."""
        with self.space.store.reading() as db:
            rows = db.execute("SELECT id, name, role, time FROM tokens ORDER BY time").fetchall()
        return [dict(row) for row in rows]

    def create(self, role: str, name: str) -> dict[str, Any]:
        """Make a token; its secret is in this answer and nowhere else."""
        number, secret, salt = secrets.token_hex(6), secrets.token_urlsafe(24), secrets.token_bytes(16)
        hashed = _hash(secret, salt)

        def change(draft: Draft) -> dict[str, Any]:
            draft.db.execute(
                "INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?)", (number, name, role, salt, hashed, draft.time)
            )
            return {"seq": draft.event("token", {"id": number, "name": name, "role": role})}

        seq = self.space.transact(change)["seq"]
        token = f"gm_{number}_{secret}"
        return {"id": number, "token": token, "secret": token, "role": role, "name": name, "seq": seq}

    def revoke(self, number: str) -> dict[str, Any]:
        """Take a token back."""

        def change(draft: Draft) -> dict[str, Any]:
            if draft.db.execute("DELETE FROM tokens WHERE id = ?", (number,)).rowcount == 0:
                raise Unknown(f"Space: no token {number!r:.40}.")
            return {"seq": draft.event("revoke", {"id": number})}

        answer = self.space.transact(change)
        with self._lock:
            self._known = {digest: value for digest, value in self._known.items() if value[0] != number}
        return answer

    def check(self, token: str) -> tuple[str, Identity] | None:
        """The holder of a token and a short name of it, None for a wrong one; slow the first time, on purpose."""
        digest = _digest(token)
        if digest in self._given:
            return f"given-{digest[:16]}", self._given[digest]
        with self._lock:
            if digest in self._known:
                return self._known[digest]
        number, _, secret = token.removeprefix("gm_").partition("_")
        with self.space.store.reading() as db:
            row = db.execute("SELECT * FROM tokens WHERE id = ?", (number,)).fetchone()
        if row is None or not hmac.compare_digest(row["hash"], _hash(secret, row["salt"])):
            return None
        found = (number, Identity(row["role"], row["name"]))
        with self._lock:
            self._known[digest] = found
        return found

    def session(self, number: str) -> str:
        """The value of a cookie that stands for a token, signed and with an end."""
        text = json.dumps([number, int(time.time()) + SESSION_SECONDS]).encode().hex()
        return f"{text}.{self._sign(text)}"

    def resume(self, cookie: str) -> Identity | None:
        """The holder of a cookie, None when it is wrong, over, or its token gone."""
        text, _, signature = cookie.partition(".")
        if not hmac.compare_digest(signature.encode(), self._sign(text).encode()):
            return None
        number, end = json.loads(bytes.fromhex(text))
        if end < time.time():
            return None
        for digest, identity in self._given.items():
            if number == f"given-{digest[:16]}":
                return identity
        with self.space.store.reading() as db:
            row = db.execute("SELECT name, role FROM tokens WHERE id = ?", (number,)).fetchone()
        return Identity(row["role"], row["name"]) if row else None

    def _sign(self, text: str) -> str:
        return hmac.new(self._key, text.encode(), "sha256").hexdigest()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _hash(secret: str, salt: bytes) -> bytes:
    return hashlib.scrypt(secret.encode(), salt=salt, **_SCRYPT)


def _split(given: str) -> tuple[str, str]:
    role, colon, secret = given.partition(":")
    if not colon:
        return "admin", given
    if role not in ROLES or not secret:
        raise SpaceError(
            f"Space: --token must be ROLE:SECRET with a role of {', '.join(ROLES)}, got the role {role!r}."
        )
    return role, secret
