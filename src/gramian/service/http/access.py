"""Who may do what: tokens, roles, and the cookie of the page."""

import hashlib
import hmac
import json
import math
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from gramian.service.errors import SpaceError, Unknown
from gramian.service.space import Space
from gramian.service.writer import Draft

ROLES = ("viewer", "teacher", "admin")
COOKIE = "gramian_session"
SESSION_SECONDS = 12 * 3600
GIVEN = "given-"
"""How the numbers of tokens begin that the space does not keep."""
_SCRYPT = {"n": 2**14, "r": 8, "p": 1, "maxmem": 64 << 20}


@dataclass(frozen=True)
class Identity:
    """The holder of a token, perhaps by a session that ends; without a token, whoever sits at this machine."""

    role: str
    name: str | None = None
    token: str | None = field(default=None, compare=False, repr=False)
    session: str | None = field(default=None, compare=False, repr=False)
    end: float = field(default=math.inf, compare=False, repr=False)

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

    Attributes
    ----------
    listeners : list of functions
        Called when a session was ended; the end of a token is an event of the space.
    """

    def __init__(self, space: Space, given: Iterable[str] = ()) -> None:
        self.space = space
        self._given = {
            _digest(secret): Identity(role, f"{role} of the command line", _given_number(secret))
            for role, secret in map(_split, given)
        }
        self.listeners: list[Callable[[], None]] = []
        self._known: dict[str, Identity] = {}
        self._lock = threading.Lock()
        with space.store.reading() as db:
            over = db.execute("SELECT key FROM space WHERE key LIKE 'over %'").fetchall()
        self._over = {row["key"].removeprefix("over ") for row in over}
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
                "INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, NULL)", (number, name, role, salt, hashed, draft.time)
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
            self._known = {digest: who for digest, who in self._known.items() if who.token != number}
        return answer

    def check(self, token: str) -> Identity | None:
        """The holder of a token, None for a wrong one; slow the first time, on purpose."""
        digest = _digest(token)
        if digest in self._given:
            return self._given[digest]
        with self._lock:
            if digest in self._known:
                return self._known[digest]
        number, _, secret = token.removeprefix("gm_").partition("_")
        row = self._token(number)
        if row is None or not hmac.compare_digest(row["hash"], _hash(secret, row["salt"])):
            return None
        with self._lock:  # which revoking takes once the token is gone: one that went meanwhile is not kept
            if self._token(number) is None:
                return None
            self._known[digest] = Identity(row["role"], row["name"], number)
            return self._known[digest]

    def _token(self, number: str) -> sqlite3.Row | None:
        with self.space.store.reading() as db:
            return db.execute("SELECT * FROM tokens WHERE id = ?", (number,)).fetchone()

    def session(self, who: Identity) -> str:
        """The value of a cookie that stands for a token, signed and with an end."""
        content = [who.token, int(time.time()) + SESSION_SECONDS, secrets.token_hex(8)]
        text = json.dumps(content).encode().hex()
        return f"{text}.{self._sign(text)}"

    def resume(self, cookie: str) -> Identity | None:
        """The holder of a cookie, None when it is wrong, over or ended, or its token gone."""
        text, _, signature = cookie.partition(".")
        if not hmac.compare_digest(signature.encode(), self._sign(text).encode()):
            return None
        number, end, *rest = json.loads(bytes.fromhex(text))
        if not rest:  # of an earlier version, without a name by which it could be ended
            return None
        holder = self._holder(number)
        who = holder and replace(holder, session=rest[0], end=end)
        return who if who is not None and self.stands(who) else None

    def _holder(self, number: str) -> Identity | None:
        for who in self._given.values():
            if who.token == number:
                return who
        row = self._token(number)
        return Identity(row["role"], row["name"], number) if row else None

    def log_out(self, cookie: str) -> None:
        """End the session of a cookie, here and after a restart."""
        who = self.resume(cookie)
        if who is None:
            return
        self._over.add(who.session)

        def change(draft: Draft) -> None:
            over = "DELETE FROM space WHERE key LIKE 'over %' AND CAST(value AS REAL) < ?"
            draft.db.execute(over, (time.time(),))
            draft.db.execute("INSERT OR IGNORE INTO space VALUES (?, ?, NULL)", (f"over {who.session}", str(who.end)))

        try:
            self.space.transact(change)
        finally:
            for listener in list(self.listeners):
                listener()

    def stands(self, who: Identity) -> bool:
        """Whether an identity is still good: its token is there, and its session neither over nor ended."""
        if who.token is None:
            return True
        if who.end < time.time() or who.session in self._over:
            return False
        return who.token.startswith(GIVEN) or self._token(who.token) is not None

    def _sign(self, text: str) -> str:
        return hmac.new(self._key, text.encode(), "sha256").hexdigest()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _hash(secret: str, salt: bytes) -> bytes:
    return hashlib.scrypt(secret.encode(), salt=salt, **_SCRYPT)


def _given_number(secret: str) -> str:
    return f"{GIVEN}{_digest(secret)[:16]}"


def _split(given: str) -> tuple[str, str]:
    """Role and secret; a secret alone is an admin's, but neither an empty one nor the name of a role."""
    role, colon, secret = given.partition(":")
    if not colon and given.lower() not in ROLES:
        role, secret = "admin", given
    if role not in ROLES:
        roles = ", ".join(ROLES)
        raise SpaceError(f"Space: a token must be ROLE:SECRET with a role of {roles}, got the role {role!r}.")
    if not secret.strip() or secret != secret.strip():
        raise SpaceError(
            f"Space: a token must be ROLE:SECRET, got the role {role!r} with an empty secret or with blanks around it; "
            "is a variable of the shell unset?"
        )
    return role, secret
