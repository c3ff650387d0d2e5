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

from ways.provider import Round, Writing

STARTING = "is still starting"
HERE = os.path.dirname(os.path.abspath(__file__))


def compact(value):
    """JSON without spaces, which is what is counted in each way."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def post(url, path="", body=None, timeout=500):
    request = urllib.request.Request(
        url + path, data=json.dumps(body or {}).encode(), headers={"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=timeout) as response:
        return json.load(response)


@dataclasses.dataclass
class Outcome:
    """The result of a run.

    `exchanges` has what the model wrote and what it read for each round. `definitions` has those of each request if they
    change, and `starting` the seconds until a process that is started for the run was there.
    """

    seconds: float
    exchanges: list
    error: str | None = None
    output: str = ""
    definitions: list | None = None
    starting: float = 0


@dataclasses.dataclass
class Killed:
    """The result of a resumed run. `reported` says who learns that a call is in doubt: `person`, `ledger` or `none`."""

    reported: str
    error: str | None = None


@dataclasses.dataclass
class Waited:
    """A run that waited: the number of calls made when it began to wait, and whether it outlives its process."""

    made_while_waiting: int
    outlives: bool
    error: str | None = None


class Search(list):
    """The phrases of a round that only searches tools."""


def phrases(task):
    """What a model searches for that knows what it needs: the names of the tools of the task in words."""
    return [tool.replace("_", " ") for tool in needed(task)]


def needed(task):
    return list(dict.fromkeys(call["tool"] for calls in task.direct for call in calls))


class Agent:
    """Pydantic AI, with direct calls or with code mode."""

    # The settings of `CodeMode` by which calls start while the program is written.
    EAGER = {
        "whole": {},
        "speculate": {"speculate": "declared"},
        "streamed": {"eager": True, "speculate": "declared"},
    }

    def __init__(self, mode, together=True, search=False):
        self.mode, self.together, self.search = mode, together, search
        self.described = {}
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "agent.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=open(os.path.join(tempfile.gettempdir(), "yardstick-agent.log"), "a"), text=True,
        )  # fmt: skip

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def scripts(self, task):
        if self.mode == "monty":
            rounds = task.texts("code", "monty")
        else:
            rounds = task.direct if self.together else [[call] for calls in task.direct for call in calls]
        return [Search(phrases(task)), *rounds] if self.search else rounds

    def begin(self, server, scripts, **options):
        rounds = [self.written(server, script) for script in scripts]
        request = {
            "mode": self.mode, "url": server.url + "/mcp", "server": server.name, "rounds": rounds, "search": self.search,
            "read_only": server.read_only, "wrapped": server.wrapped if self.mode == "monty" else [], **options,
        }  # fmt: skip
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def written(self, server, script):
        """The calls of a round, under the names that the model knows."""
        if isinstance(script, Search):
            return [{"tool": "search_tools", "arguments": {"queries": script}}]
        if self.mode == "monty":
            return [{"tool": "run_code", "arguments": {"code": script}}]
        return [{**call, "tool": f"{server.name}_{call['tool']}"} for call in script]

    def end(self):
        line = self.process.stdout.readline()
        if line.strip():
            self.process.stdout.readline()
            return json.loads(line)
        return None

    def definitions(self, server):
        if server.name not in self.described:
            self.begin(server, [])
            result = self.end()
            if result is None:
                raise SystemExit(f"{server.name}: the agent ended without its definitions")
            self.described[server.name] = compact(result["definitions"][0])
        return self.described[server.name]

    def run(self, server, task, scripts, timed=False):
        self.begin(server, scripts, timed=timed)
        result = self.end()
        if result is None:
            raise SystemExit(f"{task.name}: the agent ended without a result")
        exchanges = [
            ("".join(compact(call) for call in one["wrote"]), one["read"])
            for one in result["exchanges"]
            if one["wrote"]
        ]
        return Outcome(
            result["seconds"], exchanges, result["error"], "\n".join(text for _, read in exchanges for text in read),
            [compact(definitions) for definitions in result["definitions"]], result["starting"],
        )  # fmt: skip

    def ready(self, server):
        """Waits until the process has imported its modules."""
        self.definitions(server)

    def texts(self, task):
        """The arguments of the calls of code mode, as the model writes them."""
        return [compact({"code": script}) for script in self.scripts(task)]

    def stream(self, server, rounds, mode):
        """The rounds of a task, whose programs are written token by token."""
        programs = [json.loads("".join(pieces))["code"] for pieces in rounds]
        self.begin(server, programs, pieces=rounds, eager=self.EAGER[mode], timed=True)
        result = self.end()
        if result is None:
            raise SystemExit(f"{server.name}: the agent ended without a result")
        done = [
            Round(Writing(pieces, begin), end or result["ended"])
            for pieces, (begin, end) in zip(rounds, result["written"], strict=False)
        ]
        done[-1].error = result["error"]
        done[-1].output = "\n".join(text for one in result["exchanges"] for text in one["read"])
        return done

    def kill(self, server, task, hold, ledger=False):
        with tempfile.TemporaryDirectory() as store:
            options = {"store": store, "calls": os.path.join(store, "calls.jsonl") if ledger else None}
            pid = self.begin(server, self.scripts(task), **options)
            server.wait_until_held()
            os.kill(pid, signal.SIGKILL)
            server.post("/release")
            self.end()
            self.begin(server, self.scripts(task), resume=True, **options)
            result = self.end()
        if result["asked"]:
            return Killed("person", result["error"])
        return Killed("ledger" if result["ledger"] else "none", result["error"])

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

    def ask(self, server, action, argument=None, approve=(), ledger=None):
        settings = {
            "name": server.name, "url": server.url + "/mcp", "tools": server.tools, "approve": list(approve), "ledger": ledger,
        }  # fmt: skip
        return post(self.url, body={"action": action, "settings": settings, "argument": argument})

    def scripts(self, task):
        scripts = task.texts("code", "js")
        return [looking_up(task), *scripts] if self.search else scripts

    def definitions(self, server):
        """The definition of `createCodeTool`, which has all types, or of the durable runtime, which says how to search."""
        return compact(self.ask(server, "definition", "search" if self.search else "types"))

    def run(self, server, task, scripts, timed=False):
        exchanges, seconds = [], 0
        for script in scripts:
            begin = time.perf_counter()
            result = self.ask(server, "execute" if self.search else "run", script)
            seconds += time.perf_counter() - begin
            wrote = compact({"name": "codemode", "arguments": {"code": script}})
            # The runtime's `toModelOutput` sends all but the calls; the tool of `createCodeTool` sends what it returns.
            result.pop("calls", None)
            exchanges.append((wrote, [compact(result.get("output", result))]))
            if result["status"] != "completed":
                return Outcome(seconds, exchanges, result.get("error", result["status"]))
        return Outcome(seconds, exchanges, None, "\n".join(text for _, read in exchanges for text in read))

    def kill(self, server, task, hold, ledger=False):
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
        self.start()
        run = self.ask(server, "executions")[0]
        # Only a paused run can be resumed: the program is handed over anew.
        assert self.ask(server, "approve", run["id"])["status"] == "error"
        recorded, asked = ledger_of(run["log"], server) if ledger else (None, False)
        error = None
        for number, script in enumerate(scripts[place[0] :]):
            answers = recorded if number == 0 else None
            error = error or self.ask(server, "execute", script, ledger=answers).get("error")
        if asked:
            return Killed("person", error)
        doubtful = any(entry["state"] == "executing" for entry in run["log"])
        return Killed("ledger" if doubtful else "none", error)

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


def ledger_of(entries, server):
    """What a host knows of an interrupted program from the runtime's log, and whether a person had to look at the server.

    The results of finished calls, and of changes that were under way what a person finds out: as with plans, a result, or
    that it did not happen.
    """
    found, asked = [], False
    log = server.post("/log")
    for entry in entries:
        if entry["state"] == "applied":
            found.append({"method": entry["method"], "args": entry["args"], "result": entry["result"]})
        elif entry["state"] == "executing" and entry["method"] not in server.read_only:
            asked = True
            same = (one for one in log if one["tool"] == entry["method"] and covers(one["arguments"], entry["args"]))
            made = next((one for one in same if "result" in one), None)
            if made:
                result = {"result": made["result"]} if entry["method"] in server.wrapped else made["result"]
                found.append({"method": entry["method"], "args": entry["args"], "result": result})
    return found, asked


def looking_up(task):
    """A program that looks up the tools that the task needs, as the runtime's description says: search, then describe."""
    return f"""async () => {{
  const docs = [];
  for (const phrase of {json.dumps(phrases(task))}) {{
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
    CONFIG = '[tools]\nno_ask = ["*"]\n\n[serve]\nlisting_tokens = {}\n' + FLOW
    # The tokens of the list of tools in the description: all, the default with the names of all tools, or none.
    LISTING = {None: 100000, "describe": 1000, "search": 0}

    def __init__(self, program, dialect, discovery=None):
        self.program, self.dialect, self.discovery = program, dialect, discovery
        self.config = self.CONFIG.format(self.LISTING[discovery])
        self.folder = tempfile.mkdtemp()
        self.gateways = {}

    def close(self):
        for gateway in self.gateways.values():
            gateway.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def scripts(self, task):
        return task.texts("plan", "json" if self.dialect == "native" else "lines")

    def home(self, server, config, trusted=True):
        home = tempfile.mkdtemp(dir=self.folder)
        os.makedirs(os.path.join(home, "planwright"))
        with open(os.path.join(home, "planwright", "planwright.toml"), "w") as file:
            file.write(config)
        with open(os.path.join(home, "mcp.json"), "w") as file:
            json.dump({"mcpServers": {server.name: {"url": server.url + "/mcp", "trusted": trusted}}}, file)
        environment = {
            **os.environ, "XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home, "PLANWRIGHT_STORE": os.path.join(home, "store"),
        }  # fmt: skip
        return home, environment

    def gateway(self, server):
        if server.name not in self.gateways:
            home, environment = self.home(server, self.config)
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
            text = compact(tools)
        return text

    def discover(self, server, task):
        """The round in which a model reads the tools that the task needs."""
        if self.discovery == "describe":
            calls = [("describe_tools", {"tools": [f"{server.name}.{tool}" for tool in needed(task)]})]
        else:
            calls = [("search_tools", {"query": phrase, "limit": 1}) for phrase in phrases(task)]
        results = [self.gateway(server).request("tools/call", name=name, arguments=given) for name, given in calls]
        wrote = "".join(compact({"name": name, "arguments": given}) for name, given in calls)
        return wrote, [text_of(result) for result in results]

    def run(self, server, task, scripts, timed=False):
        exchanges, seconds, outputs = [], 0, []
        if self.discovery:
            begin = time.perf_counter()
            exchanges.append(self.discover(server, task))
            seconds += time.perf_counter() - begin
        for script in scripts:
            plan = json.loads(script) if self.dialect == "native" else script
            begin = time.perf_counter()
            result = self.gateway(server).request("tools/call", name="execute_plan", arguments={"plan": plan})
            seconds += time.perf_counter() - begin
            wrote = compact({"name": "execute_plan", "arguments": {"plan": plan}})
            read = text_of(result)
            exchanges.append((wrote, [read]))
            answer = result.get("structuredContent") or {}
            if answer.get("status") != "succeeded":
                return Outcome(seconds, exchanges, read)
            outputs.append(compact(answer["output"]))
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
        home, environment = self.home(server, self.config)
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
        return Killed(reported, None if status == 0 else (text + message)[-1500:])

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


def text_of(result):
    """The text of a tool's result, which is what a model reads."""
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")


def decisions(steps, log):
    """The answers of a person about the calls in doubt: their results, or that they did not happen."""
    for step in steps:
        for name, part in parts(step):
            if part["status"] != "unknown":
                continue
            # The log has the defaults of arguments, too.
            tool = step["tool"].rpartition(".")[2]
            same = [one for one in log if one["tool"] == tool and covers(one["arguments"], part["args"])]
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
