"""A small MCP server over standard input and output, with nothing but the standard library."""

from __future__ import annotations

import json
import sys
from typing import Any

ADD = {
    "name": "add",
    "inputSchema": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
    "outputSchema": {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]},
    "annotations": {"readOnlyHint": True},
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request, or nothing if the method is not known."""
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "sums", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [ADD]}
    if method == "tools/call":
        total = {"total": params["arguments"]["a"] + params["arguments"]["b"]}
        return {"content": [{"type": "text", "text": json.dumps(total)}], "structuredContent": total}
    return {} if method == "ping" else None


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = answer(request["method"], request.get("params", {}))
    error = {"error": {"code": -32601, "message": "method not found"}}
    response = {"jsonrpc": "2.0", "id": request["id"], **({"result": result} if result is not None else error)}
    print(json.dumps(response), flush=True)
