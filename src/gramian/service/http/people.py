"""Routes of tokens and the page's session."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from gramian.service.http import bodies
from gramian.service.http.access import COOKIE, SESSION_SECONDS
from gramian.service.http.parts import USUAL, Admin, JsonRoute, TheAccess, TheSpace, Viewer, answer
from gramian.service.http.problems import documented, problem

router = APIRouter(prefix="/v1", route_class=JsonRoute, tags=["people"], responses=USUAL)


@router.post("/tokens", responses=documented(507))
def create_token(access: TheAccess, who: Admin, body: bodies.NewToken) -> Response:
    """Make a token; its secret is in this answer and nowhere else."""
    return answer(access.create(body.role, body.name), headers={"Cache-Control": "no-store"})


@router.get("/tokens")
def list_tokens(access: TheAccess, who: Admin) -> Response:
    """Tokens without their secrets."""
    return answer({"tokens": access.tokens()})


@router.delete("/tokens/{id}", responses=documented(507))
def revoke_token(access: TheAccess, who: Admin, id: Annotated[str, Path(max_length=64)]) -> Response:
    """Take a token back."""
    return answer(access.revoke(id))


@router.post("/login")
async def login(request: Request, access: TheAccess, body: bodies.Login) -> Response:
    """Trade a token for a cookie that scripts cannot read."""
    found = await run_in_threadpool(access.check, body.token)
    if found is None:
        return problem(401, "Request: the token is wrong.", {"WWW-Authenticate": "Bearer"})
    response = answer({"role": found.role, "name": found.name})
    secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, access.session(found), SESSION_SECONDS, httponly=True, samesite="strict", secure=secure)
    return response


@router.post("/logout", responses=documented(507))
def logout(request: Request, access: TheAccess, who: Viewer) -> Response:
    """End the session of the cookie, and forget it."""
    access.log_out(request.cookies.get(COOKIE, ""))
    response = answer({})
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


@router.get("/me")
def me(access: TheAccess, space: TheSpace, who: Viewer) -> Response:
    """Who asks, and whether a token is needed here."""
    return answer({"role": who.role, "name": who.name, "token_needed": access.required, "seq": space.seq})
