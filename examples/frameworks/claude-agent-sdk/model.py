"""An API of messages in which a script plays the model: it answers each request with the next of some blocks of content."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Iterator


@contextmanager
def scripted_model(blocks: list[dict[str, Any]]) -> Iterator[str]:
    """Serve the API at the address that it yields. Requests without tools are about other things than the answer."""
    script = iter(blocks)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            block = next(script) if request.get("tools") else {"type": "text", "text": "-"}
            is_call = block["type"] == "tool_use"
            start = {**block, "input": {}} if is_call else {**block, "text": ""}
            delta = (
                {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
                if is_call
                else {"type": "text_delta", "text": block["text"]}
            )
            usage = {"input_tokens": 1, "output_tokens": 1}
            message = {"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"], "content": []}
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for event in (
                {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}},
                {"type": "content_block_start", "index": 0, "content_block": start},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": "tool_use" if is_call else "end_turn"}, "usage": usage},
                {"type": "message_stop"},
            ):
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
