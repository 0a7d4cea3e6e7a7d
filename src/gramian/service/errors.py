"""What a space refuses, and why: each kind with the HTTP status that says the same."""

import sqlite3


class SpaceError(ValueError):
    """A change or question that a space does not accept; nothing has changed."""

    status = 422


class Unknown(SpaceError):
    """A collection, item, event or version that is not there."""

    status = 404


class Conflict(SpaceError):
    """Something that is there already, or was done already."""

    status = 409


class Denied(SpaceError):
    """A change that this person may not make."""

    status = 403


class StorageFull(SpaceError):
    """The disk did not take the change; it may be sent again when there is room."""

    status = 507


class Closed(SpaceError):
    """The space is closing and takes no more changes."""

    status = 503


def refused(error: BaseException | None) -> bool:
    """Whether an error means for sure that a change did not happen, so that its files are nobody's.

    A disk or database that failed, or a writer that ended, may have taken it; the next opening knows.
    """
    return error is not None and not isinstance(error, StorageFull | Closed | sqlite3.Error)


def refused_by_disk(error: BaseException) -> bool:
    """Whether an error means that the disk is full or does not write."""
    if isinstance(error, sqlite3.Error):
        name = getattr(error, "sqlite_errorname", "") or ""
        return name.startswith(("SQLITE_FULL", "SQLITE_IOERR"))
    return isinstance(error, OSError) and not isinstance(error, FileNotFoundError | ConnectionError)
