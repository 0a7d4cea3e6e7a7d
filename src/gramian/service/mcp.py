"""A memory as a server of the Model Context Protocol: a few tools over standard input and output, or over HTTP.

The protocol is the package ``mcp``'s. What is asked for is compared with the schema of the tool, and whatever goes
wrong is an answer of one sentence that the model can read; a fault of ours is logged with its traceback as well.
"""

import json
import logging
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gramian
from gramian.service.errors import Denied, SpaceError
from gramian.service.memory import Memory

PATH = "/mcp"
"""Where the protocol is spoken over HTTP."""
MOST_ASKED = 50
"""Items of a list at most, so that a model is not flooded."""
INSTRUCTIONS = (
    "A memory that learns what is of use. Search before you answer from what was said or found earlier. Texts in a "
    "list may be cut: read what you need by its id and the query_id of the list, which also counts as a use. When an "
    "item helped, say so with useful; when it looked right and was not, with not_useful. Remember facts that will be "
    "needed again, one to an item; forget what is no longer true."
)
logger = logging.getLogger(__name__)

TEXT = {"type": "string", "minLength": 1}
NUMBER = {"type": "integer"}
VECTOR = {"type": "array", "items": {"type": "number"}, "minItems": 1}


@dataclass(frozen=True)
class Tool:
    """What a model may call: a method of :class:`Memory`, with what it says of itself, and who may."""

    name: str
    role: str
    about: str
    arguments: dict[str, dict[str, Any]]
    needed: tuple[str, ...] = ()
    hints: dict[str, bool] = field(default_factory=dict)

    @property
    def schema(self) -> dict[str, Any]:
        """The schema of its arguments."""
        return {
            "type": "object",
            "properties": self.arguments,
            "required": list(self.needed),
            "additionalProperties": False,
        }


TOOLS = (
    Tool(
        "search",
        "viewer",
        "Find what is most like a text, a vector, or an item that is there. Answers with query_id and results (id, "
        "text, whether the text is whole, meta), the most similar first.",
        {
            "text": {**TEXT, "description": "What to look for, in words."},
            "vector": {**VECTOR, "description": "In place of text: a vector of the memory's own encoder."},
            "id": {**NUMBER, "description": "In place of text: the id of an item; it is not in its own answer."},
            "k": {"type": "integer", "minimum": 1, "maximum": MOST_ASKED, "default": 10, "description": "How many."},
            "where": {
                "type": "object",
                "description": "Only items whose meta has these values, or one of a list of values.",
            },
        },
        hints={"destructiveHint": False, "openWorldHint": False},
    ),
    Tool(
        "read",
        "viewer",
        "The whole text and meta of an item. With the query_id of the list that showed it, this counts as a use of it.",
        {
            "id": {**NUMBER, "description": "The item."},
            "query_id": {**TEXT, "description": "The query_id of the search that showed it."},
        },
        ("id",),
        {"destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
    ),
    Tool(
        "remember",
        "admin",
        "Keep a text for later. The same text again stays one item; with the id of an item it takes its place.",
        {
            "text": {**TEXT, "description": "One fact, in words that will be understood alone."},
            "meta": {"type": "object", "description": "Fields to filter by later, such as project, kind or date."},
            "id": {**NUMBER, "description": "The item to replace; the next free number when absent."},
            "vector": {**VECTOR, "description": "The vector of the text, where the memory has no encoder."},
        },
        ("text",),
        {"destructiveHint": False, "openWorldHint": False},
    ),
    Tool(
        "useful",
        "teacher",
        "Say that an item of a search helped, or, with not_useful, that it looked right and did not. Searches get "
        "better by it.",
        {
            "query_id": {**TEXT, "description": "The query_id of the search."},
            "item_id": {**NUMBER, "description": "The item."},
            "not_useful": {"type": "boolean", "default": False, "description": "True when it was of no use."},
        },
        ("query_id", "item_id"),
        {"destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
    ),
    Tool(
        "forget",
        "admin",
        "Remove an item for good.",
        {"id": {**NUMBER, "description": "The item."}},
        ("id",),
        {"destructiveHint": True, "openWorldHint": False},
    ),
)


def call(memory: Memory, name: str, arguments: dict[str, Any], who: Any = None, user: str | None = None) -> Any:
    """Do what a tool is for; ``who`` is an identity of ``gramian.service.http``, without which all is allowed."""
    tool = next((tool for tool in TOOLS if tool.name == name), None)
    if tool is None:
        raise SpaceError(f"mcp: no tool {name!r:.40}; there are {', '.join(tool.name for tool in TOOLS)}.")
    check(tool, arguments)
    teaches = who is None or who.may("teacher")
    if not (who is None or who.may(tool.role)) or (name == "read" and "query_id" in arguments and not teaches):
        raise Denied(f"mcp: {name} needs the role {'teacher' if name == 'read' else tool.role}, got {who.role}.")
    more: dict[str, Any] = {"keep": teaches} if name == "search" else {}
    return getattr(memory, name)(**arguments, **more, user=user)


def check(tool: Tool, arguments: dict[str, Any]) -> None:
    """Raise one sentence unless the arguments are as the schema says."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(tool.schema).iter_errors(arguments))
    if error is not None:
        place = ".".join(map(str, error.absolute_path)) or "arguments"
        raise SpaceError(f"{tool.name}: {place}: {error.message if len(error.message) < 200 else error.validator}.")


def make_server(memory: Memory) -> Any:
    """What answers a client of the protocol."""
    import anyio.to_thread
    from mcp import types
    from mcp.server.lowlevel import Server

    listed = [
        types.Tool(
            name=tool.name,
            description=tool.about,
            input_schema=tool.schema,
            annotations=types.ToolAnnotations.model_validate(tool.hints),
        )
        for tool in TOOLS
    ]

    async def list_tools(context: Any, params: Any) -> Any:
        return types.ListToolsResult(tools=listed)

    async def call_tool(context: Any, params: Any) -> Any:
        work = partial(answered, memory, params.name, params.arguments or {}, *asking(context))
        told, refused = await anyio.to_thread.run_sync(work)
        text = told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)
        content = [types.TextContent(type="text", text=text)]
        return types.CallToolResult(
            content=content, structured_content=None if isinstance(told, str) else told, is_error=refused
        )

    return Server(
        "gramian",
        version=gramian.__version__,
        title="gramian: a memory that learns what is of use",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def asking(context: Any) -> tuple[Any, str | None]:
    """Who asks: an identity over HTTP, and the name of a person or of the program at the other end."""
    if context.request is not None:
        who = context.request.scope.get("state", {}).get("who")
        return who, who.name if who is not None else None
    with suppress(AttributeError):
        return None, context.session.client_params.client_info.name
    return None, None


def answered(memory: Memory, name: str, arguments: dict[str, Any], who: Any, user: str | None) -> tuple[Any, bool]:
    """The answer of a tool, or a sentence on why there is none."""
    try:
        return call(memory, name, arguments, who, user), False
    except (SpaceError, ValueError, TypeError) as error:
        return " ".join(str(error).split()), True
    except Exception as error:
        logger.exception("mcp: %s failed", name)
        return f"mcp: unexpected {type(error).__name__} in {name}; the log of the server has more.", True


def over_stdio(memory: Memory) -> None:
    """Answer a client that started this process, until it closes our input or asks us to stop."""
    import anyio
    from mcp.server.stdio import stdio_server

    server = make_server(memory)

    async def leave() -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for number in signals:
                memory.space.close()
                os._exit(128 + number)  # the thread that waits for input cannot be woken

    async def speak() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leave)
            async with stdio_server() as (source, sink):
                await server.run(source, sink, server.create_initialization_options())
            tasks.cancel_scope.cancel()

    anyio.run(speak)


def over_http(memory: Memory, host: str, port: int, ready: Callable[[str], None], **more: Any) -> None:
    """Answer clients at ``/mcp``, and people at the page and the API of the space beside it, until asked to stop."""
    from gramian.service import http

    http.serve(memory.space, host, port, ready=ready, **endpoint(memory), **more)


def endpoint(memory: Memory) -> dict[str, Any]:
    """The route of the protocol and what must run while it is there, as ``create_app`` takes them.

    Each request stands alone, so that clients outlive a restart of the server; Host, Origin, tokens and sizes are
    looked at by the guard of the application, as for every other route.
    """
    from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
    from starlette.routing import Route

    manager = StreamableHTTPSessionManager(make_server(memory), json_response=True, stateless=True)
    return {"beside": [Route(PATH, StreamableHTTPASGIApp(manager))], "lifespan": lambda app: manager.run()}
