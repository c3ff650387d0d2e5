"""A provider with a scripted model, which speaks OpenAI's protocol for chats and writes at the speed of a model."""

import dataclasses
import http.server
import json
import threading
import time

# The speed in docs/performance.md, so that both can be compared. A slower model leaves more time to hide calls in, a faster one less.
TOKENS_PER_SECOND = 60
# What the model writes once the plan has run. No figure counts it, so it is written at once.
SUMMARY = "Done."


class Writing:
    """An answer that is being written: the texts of its tokens, one each sixtieth of a second."""

    def __init__(self, pieces, begin=None):
        self.pieces = pieces
        self.begin = time.monotonic() if begin is None else begin

    def due(self, number):
        """The time at which this many tokens, at least one, are written. The first token is there at once."""
        return self.begin + (number - 1) / TOKENS_PER_SECOND

    @property
    def end(self):
        return self.due(len(self.pieces))

    def written(self, moment):
        """The number of tokens that are written at a moment of the clock of the tool server."""
        return max(0, min(len(self.pieces), int((moment - self.begin) * TOKENS_PER_SECOND) + 1))

    def wait(self, number):
        """The seconds until this token is due. One that is late does not delay those after it."""
        return max(0, self.due(number) - time.monotonic())

    def __iter__(self):
        """The texts, each at its time."""
        for number, piece in enumerate(self.pieces, 1):
            time.sleep(self.wait(number))
            if piece:
                yield piece


@dataclasses.dataclass
class Round:
    """A round whose text was written token by token, and the time of the end of its run."""

    writing: Writing
    end: float
    error: str | None = None
    output: str = ""


class Provider:
    """The server. The first request after `script` gets the script's text, all others get `SUMMARY`."""

    def __init__(self):
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            # A small packet must not wait for the acknowledgement of the one before.
            disable_nagle_algorithm = True

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                answer = provider.answer()
                if request.get("stream"):
                    self.begin("text/event-stream")
                    for piece in answer:
                        self.event({"delta": {"content": piece}})
                    self.event({"delta": {}, "finish_reason": "stop"})
                    self.wfile.write(b"data: [DONE]\n\n")
                else:
                    message = {"role": "assistant", "content": "".join(answer)}
                    self.begin("application/json")
                    self.write({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

            def begin(self, kind):
                self.send_response(200)
                self.send_header("content-type", kind)
                self.end_headers()

            def event(self, choice):
                self.wfile.write(b"data: ")
                self.write({"choices": [{"index": 0, **choice}]})
                self.wfile.write(b"\n\n")

            def write(self, value):
                self.wfile.write(json.dumps({"id": "1", "model": "script", **value}).encode())

            def log_message(self, *arguments):
                pass

        self.lock = threading.Lock()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.script([])
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def script(self, pieces):
        """Sets the text of the next answer. `writing` is that answer once it has begun, `requests` counts all of them."""
        self.pieces, self.writing, self.requests = pieces, None, 0

    def answer(self):
        with self.lock:
            self.requests += 1
            if self.requests > 1:
                return [SUMMARY]
            self.writing = Writing(self.pieces)
            return self.writing

    def close(self):
        self.server.shutdown()
        self.server.server_close()
