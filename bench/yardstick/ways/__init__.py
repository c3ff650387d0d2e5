"""The ways to do a task, each behind the same few methods.

A way is given what the model writes, round by round, and returns an `Outcome`: what the model wrote and read, the time, the
error. `kill` runs a task whose client is killed while the call `hold` has had its effect and no answer, and resumes it
as the way's own documentation says. `approval` runs a task one of whose tools needs an approval.
"""

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

STARTING = "is still starting"
HERE = os.path.dirname(os.path.abspath(__file__))


def post(url, path="", body=None, timeout=500):
    request = urllib.request.Request(
        url + path, data=json.dumps(body or {}).encode(), headers={"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=timeout) as response:
        return json.load(response)


@dataclasses.dataclass
class Outcome:
    """The result of a run. `exchanges` has what the model wrote and what it read for each round."""

    seconds: float
    exchanges: list
    error: str | None = None
    output: str = ""


@dataclasses.dataclass
class Killed:
    """The result of a resumed run. `reported` says who learns that a call is in doubt: `person`, `ledger` or `none`."""

    reported: str
    made_before: int
    error: str | None = None


@dataclasses.dataclass
class Waited:
    """A run that waited: the number of calls made when it began to wait, and whether it outlives its process."""

    made_while_waiting: int
    outlives: bool
    error: str | None = None


class Agent:
    """Pydantic AI, with direct calls or with code mode."""

    def __init__(self, mode, together=True):
        self.mode, self.together = mode, together
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "agent.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=open(os.path.join(tempfile.gettempdir(), "yardstick-agent.log"), "a"), text=True,
        )  # fmt: skip

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def scripts(self, task):
        if self.mode == "monty":
            return task.texts("code", "monty")
        rounds = task.direct
        return rounds if self.together else [[call] for calls in rounds for call in calls]

    def begin(self, server, scripts, **options):
        wrapped = server.wrapped if self.mode == "monty" else []
        request = {"mode": self.mode, "url": server.url + "/mcp", "rounds": scripts, "wrapped": wrapped, **options}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self):
        line = self.process.stdout.readline()
        if line.strip():
            self.process.stdout.readline()
            return json.loads(line)
        return None

    def definitions(self, server):
        self.begin(server, [])
        return json.dumps(self.end()["definitions"], ensure_ascii=False)

    def run(self, server, task, scripts):
        self.begin(server, scripts)
        result = self.end()
        if result is None:
            raise SystemExit(f"{task.name}: the agent ended without a result")
        exchanges = [
            ("".join(json.dumps(call, ensure_ascii=False) for call in one["wrote"]), one["read"])
            for one in result["exchanges"]
            if one["wrote"]
        ]
        return Outcome(
            result["seconds"], exchanges, result["error"], "\n".join(text for _, read in exchanges for text in read)
        )

    def kill(self, server, task, hold):
        with tempfile.TemporaryDirectory() as store:
            pid = self.begin(server, self.scripts(task), store=store)
            server.wait_until_held()
            os.kill(pid, signal.SIGKILL)
            server.post("/release")
            self.end()
            made = len(server.post("/log"))
            self.begin(server, self.scripts(task), store=store, resume=True)
            result = self.end()
        return Killed("ledger" if result["ledger"] else "none", made, result["error"])

    def approval(self, server, task, tool):
        self.begin(server, self.scripts(task), approve=[tool], think=1.0)
        result = self.end()
        waited = len(result["waits"][0]) if result["waits"] else -1
        return Waited(waited, self.mode == "direct", result["error"])


class Codemode:
    """Cloudflare's code mode in workerd."""

    def __init__(self, packages, search=False):
        self.packages, self.search = packages, search
        self.folder = tempfile.mkdtemp()
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["node", os.path.join(HERE, "codemode.mjs"), self.folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, start_new_session=True, env={**os.environ, "YARDSTICK_PACKAGES": self.packages},
        )  # fmt: skip
        self.url = self.process.stdout.readline().strip()

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def stop(self):
        # The group of the process has workerd in it, too.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def ask(self, server, action, argument=None, approve=()):
        settings = {"url": server.url + "/mcp", "tools": server.tools, "approve": list(approve)}
        return post(self.url, body={"action": action, "settings": settings, "argument": argument})

    def scripts(self, task):
        scripts = task.texts("code", "js")
        return [looking_up(task), *scripts] if self.search else scripts

    def definitions(self, server):
        """The description with all types, as `createCodeTool` has it, or the runtime's own one, for programs that search."""
        found = self.ask(server, "definition")
        if self.search:
            return json.dumps({"name": "codemode", "description": found["description"]}, ensure_ascii=False)
        types = found["types"].replace("declare const codemode:", "declare const tools:")
        return json.dumps(
            {"name": "codemode", "description": found["description"] + "\n\n" + types}, ensure_ascii=False
        )

    def run(self, server, task, scripts):
        exchanges, seconds = [], 0
        for script in scripts:
            begin = time.perf_counter()
            result = self.ask(server, "execute", script)
            seconds += time.perf_counter() - begin
            wrote = json.dumps({"name": "codemode", "arguments": {"code": script}}, ensure_ascii=False)
            # The package's `toModelOutput` sends all but the calls.
            result.pop("calls", None)
            exchanges.append((wrote, [json.dumps(result, ensure_ascii=False)]))
            if result["status"] != "completed":
                return Outcome(seconds, exchanges, result.get("error", result["status"]))
        return Outcome(seconds, exchanges, None, "\n".join(text for _, read in exchanges for text in read))

    def kill(self, server, task, hold):
        scripts = self.scripts(task)
        place = [0]

        def drive():
            with contextlib.suppress(OSError):
                for place[0], script in enumerate(scripts):
                    self.ask(server, "execute", script)

        thread = threading.Thread(target=drive)
        thread.start()
        server.wait_until_held()
        self.stop()
        server.post("/release")
        thread.join()
        made = len(server.post("/log"))
        self.start()
        run = self.ask(server, "executions")[0]
        # Only a paused run can be resumed: the program is handed over anew.
        assert self.ask(server, "approve", run["id"])["status"] == "error"
        error = None
        for script in scripts[place[0] :]:
            error = error or self.ask(server, "execute", script).get("error")
        doubtful = any(entry["state"] == "executing" for entry in run["log"])
        return Killed("ledger" if doubtful else "none", made, error)

    def approval(self, server, task, tool):
        waited, error = -1, None
        for script in self.scripts(task):
            result = self.ask(server, "execute", script, [tool])
            while result["status"] == "paused":
                # A person thinks. An approval at once would find calls under way that the program has started together, and
                # the runtime would make them again.
                time.sleep(1.0)
                if waited < 0:
                    waited = len(server.post("/log"))
                    # The process ends while it waits.
                    self.stop()
                    self.start()
                result = self.ask(server, "approve", result["executionId"], [tool])
            error = error or result.get("error")
        return Waited(waited, True, error)


def looking_up(task):
    """A program that looks up the tools that the task needs, as the runtime's description says: search, then describe."""
    tools = dict.fromkeys(call["tool"] for calls in task.direct for call in calls)
    phrases = json.dumps([tool.replace("_", " ") for tool in tools])
    return f"""async () => {{
  const docs = [];
  for (const phrase of {phrases}) {{
    const {{ results }} = await codemode.search(phrase);
    docs.push(await codemode.describe(results[0].path));
  }}
  return docs;
}}
"""


class Plan:
    """Planwright: its gateway for measured runs, its commands for those that are killed or wait."""

    # No way asks in the runs that are timed; `asks` counts what the guards would ask.
    FLOW = '\n[flow]\nviolation = "warn"\neffects = "by-flow"\n'
    # The other ways have all types of all tools in their descriptions, so this one has, too.
    CONFIG = '[tools]\nno_ask = ["*"]\n\n[serve]\nlisting_tokens = 100000\n' + FLOW

    def __init__(self, program, dialect):
        self.program, self.dialect = program, dialect
        self.folder = tempfile.mkdtemp()
        self.gateways = {}

    def close(self):
        for gateway in self.gateways.values():
            gateway.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def scripts(self, task):
        return task.texts("plan", "json" if self.dialect == "native" else "lines")

    def home(self, server, config):
        home = tempfile.mkdtemp(dir=self.folder)
        os.makedirs(os.path.join(home, "planwright"))
        with open(os.path.join(home, "planwright", "planwright.toml"), "w") as file:
            file.write(config)
        with open(os.path.join(home, "mcp.json"), "w") as file:
            json.dump({"mcpServers": {server.name: {"url": server.url + "/mcp", "trusted": True}}}, file)
        environment = {
            **os.environ, "XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home, "PLANWRIGHT_STORE": os.path.join(home, "store"),
        }  # fmt: skip
        return home, environment

    def gateway(self, server):
        if server.name not in self.gateways:
            home, environment = self.home(server, self.CONFIG)
            self.gateways[server.name] = Gateway(self.program, home, environment)
        return self.gateways[server.name]

    def definitions(self, server):
        text = STARTING
        # The gateway lists its own tools before its servers have started.
        while STARTING in text:
            tools = [
                {"name": tool["name"], "description": tool.get("description"), "parameters": tool["inputSchema"]}
                for tool in self.gateway(server).request("tools/list")["tools"]
            ]
            text = json.dumps(tools, ensure_ascii=False)
        return text

    def run(self, server, task, scripts):
        exchanges, seconds, outputs = [], 0, []
        for script in scripts:
            plan = json.loads(script) if self.dialect == "native" else script
            begin = time.perf_counter()
            result = self.gateway(server).request("tools/call", name="execute_plan", arguments={"plan": plan})
            seconds += time.perf_counter() - begin
            wrote = json.dumps({"name": "execute_plan", "arguments": {"plan": plan}}, ensure_ascii=False)
            read = "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
            exchanges.append((wrote, [read]))
            answer = result.get("structuredContent") or {}
            if answer.get("status") != "succeeded":
                return Outcome(seconds, exchanges, read)
            outputs.append(json.dumps(answer["output"], ensure_ascii=False))
        return Outcome(seconds, exchanges, None, "\n".join(outputs))

    def command(self, home, environment, *arguments):
        run = subprocess.run(
            [self.program, *arguments], cwd=home, env=environment, capture_output=True, text=True, check=False
        )
        return run.returncode, run.stdout, run.stderr

    def write(self, home, script, number):
        path = os.path.join(home, f"plan{number}.{'json' if self.dialect == 'native' else 'txt'}")
        with open(path, "w") as file:
            file.write(script)
        return ("run", path, "--dialect", self.dialect, "--servers", "mcp.json", "--format", "json")

    def kill(self, server, task, hold):
        home, environment = self.home(server, self.CONFIG)
        scripts = self.scripts(task)
        process, place = None, 0
        held = server.held_in_background()
        for place, script in enumerate(scripts):
            process = subprocess.Popen(
                [self.program, *self.write(home, script, place)], cwd=home, env=environment, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )  # fmt: skip
            while process.poll() is None and not held.is_set():
                held.wait(0.01)
            if held.is_set():
                break
        process.kill()
        process.communicate()
        server.post("/release")
        made = len(server.post("/log"))
        run = runs_of(self.command(home, environment, "runs", "--format", "json")[1])[0]["id"]
        status, text, message = self.command(
            home, environment, "resume", run, "--servers", "mcp.json", "--format", "json"
        )
        reported = "none"
        if status == 4:
            reported = "person"
            status, text, message = self.command(
                home, environment, "resume", run, "--servers", "mcp.json", "--format", "json",
                *decisions(json.loads(text)["steps"], server.post("/log")),
            )  # fmt: skip
        for number, script in enumerate(scripts[place + 1 :], place + 1):
            if status == 0:
                status, text, message = self.command(home, environment, *self.write(home, script, number))
        return Killed(reported, made, None if status == 0 else (text + message)[-1500:])

    def approval(self, server, task, tool):
        home, environment = self.home(server, f'[tools]\nno_ask = ["*"]\nask = ["{tool}"]\n' + self.FLOW)
        waited, error = -1, None
        for number, script in enumerate(self.scripts(task)):
            status, text, message = self.command(home, environment, *self.write(home, script, number))
            while status == 4:
                if waited < 0:
                    waited = len(server.post("/log"))
                run = runs_of(self.command(home, environment, "runs", "--format", "json")[1])[0]["id"]
                status, text, message = self.command(
                    home, environment, "resume", run, "--servers", "mcp.json", "--format", "json", "--approve", "all"
                )
            if status:
                error = error or (text + message)[-1500:]
        return Waited(waited, True, error)

    def asks(self, server, task):
        """The number of steps that ask because of the flow of data, with the built-in guards."""
        home, environment = self.home(server, '[flow]\neffects = "by-flow"\n')
        steps = 0
        for number, script in enumerate(self.scripts(task)):
            arguments = self.write(home, script, number)
            flags = ["--exposed"] if number else []
            report = json.loads(self.command(home, environment, "flow", *arguments[1:], *flags)[1])
            steps += len({parameter["step"] for parameter in report["parameters"] if parameter["code"]})
        return steps


def decisions(steps, log):
    """The answers of a person about the calls in doubt: their results, or that they did not happen."""
    for step in steps:
        for name, part in parts(step):
            if part["status"] != "unknown":
                continue
            # The log has the defaults of arguments, too.
            same = [one for one in log if one["tool"] == step["tool"] and covers(one["arguments"], part["args"])]
            entry = next((one for one in same if "result" in one), None)
            if entry is None:
                yield from ("--retry", name)
            else:
                result = entry["result"]
                yield from ("--set", f"{name}={json.dumps(result if isinstance(result, dict) else {'result': result})}")


def covers(arguments, given):
    return all(arguments.get(name) == value for name, value in given.items())


def parts(step):
    """A step, or its items."""
    items = step.get("parts")
    return [(f"{step['id']}[{item['item']}]", item) for item in items] if items else [(step["id"], step)]


def runs_of(text):
    runs = json.loads(text)
    return runs["runs"] if isinstance(runs, dict) else runs


class Gateway:
    """A client of `planwright serve` over standard input and output."""

    def __init__(self, program, home, environment):
        self.process = subprocess.Popen(
            [program, "serve", "--servers", "mcp.json"], cwd=home, env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.number = 0
        self.request(
            "initialize",
            protocolVersion="2025-11-25",
            capabilities={},
            clientInfo={"name": "yardstick", "version": "1"},
        )
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method, **parameters):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": parameters})
        while True:
            message = json.loads(self.process.stdout.readline())
            if message.get("id") == self.number and "method" not in message:
                if "error" in message:
                    raise SystemExit(f"{method}: {message['error']}")
                return message["result"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()
