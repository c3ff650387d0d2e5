"""Plans that run while a model writes them: `planwright ask`, with a provider that writes at the speed of a model."""

import json
import subprocess
import time

from ways import Plan, compact
from ways.provider import Provider, Round


class Ask(Plan):
    """Planwright's command that streams."""

    FLAGS = {"whole": "--no-stream", "streamed": "--stream"}
    # Of the tools only those start early that the user's own configuration lists; the server itself is not trusted.
    CONFIG = '[tools]\nno_ask = ["*"]\nread_only = {}\n' + Plan.FLOW

    def __init__(self, program, dialect):
        super().__init__(program, dialect)
        self.provider = Provider()
        self.homes = {}

    def close(self):
        self.provider.close()
        super().close()

    def texts(self, task):
        """What the model writes in each round: JSON without spaces, or lines."""
        scripts = self.scripts(task)
        return [compact(json.loads(script)) for script in scripts] if self.dialect == "native" else scripts

    def ready(self, server):
        """Makes a folder with the settings of a user, and a store as one that has runs."""
        if server.name not in self.homes:
            tools = [f"{server.name}.{tool}" for tool in server.read_only]
            self.homes[server.name] = self.home(server, self.CONFIG.format(json.dumps(tools)), trusted=False)
            self.command(*self.homes[server.name], "runs")

    def stream(self, server, rounds, mode):
        """The rounds of a task, each a question of its own, whose plan is written token by token."""
        done = []
        for pieces in rounds:
            done.append(self.round(server, pieces, mode))
            if done[-1].error:
                break
        return done

    def round(self, server, pieces, mode):
        home, environment = self.homes[server.name]
        self.provider.script(pieces)
        process = subprocess.Popen(
            [
                self.program, "ask", "Do the task.", "--servers", "mcp.json", "--format", "events", "--tries", "1",
                "--replan", "0", "--plan-dialect", "json" if self.dialect == "native" else "lines",
                "--model", "openai-compatible:script", "--model-base-url", self.provider.url, self.FLAGS[mode],
            ],
            cwd=home, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        end, answer = None, {}
        for line in process.stdout:
            message = json.loads(line)
            if message.get("event") == "run_ended":
                end = time.monotonic()
            elif message["schema"].startswith("planwright.answer/"):
                answer = message
        error = process.stderr.read()
        process.wait()
        writing = self.provider.writing
        if writing is None:
            raise SystemExit(f"the model was not asked: {error}")
        run = answer.get("run") or {}
        if run.get("status") == "succeeded":
            return Round(writing, end, None, compact(run["output"]))
        return Round(writing, end or time.monotonic(), error or compact(answer))
