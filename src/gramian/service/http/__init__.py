"""HTTP in front of a space. Needs the extra ``serve``."""

try:
    import fastapi  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as error:
    raise ImportError("the service needs fastapi and uvicorn: pip install 'gramian[serve]'.") from error

from gramian.service.http.app import create_app, serve

__all__ = ["create_app", "serve"]
