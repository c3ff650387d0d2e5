"""Measures `planwright learn` on tasks that it was not made with: the changing tasks of AgentDojo and τ²-bench.

`learn.py [--planwright PROGRAM] [--only REGEX]` makes two traces of each task: its gold actions over two copies of the data in which the
names, ids and words of the task are others, and the lists of τ²-bench are shuffled. The plan that is learned from them runs over the original
data, with the original values of its inputs, and the package's own judge says whether it reaches the aim. Writes `learn.json`.
"""

import argparse
import asyncio
import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import tools
import ways

HERE = os.path.dirname(os.path.abspath(__file__))
SUITES = ("banking", "slack", "travel", "workspace", "retail", "airline")
SEEDS = (11, 12)
SHUFFLED = ("orders", "items", "flights")
TOKEN = re.compile(r"[A-Za-z0-9]{4,}|#?[A-Z]\d+")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{2}:\d{2}")
RAN = (0, 1)


def leaves(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner)
    elif isinstance(value, str):
        yield value


def arguments(call):
    """The texts of a call's arguments, without their names."""
    for value in call["arguments"].values():
        yield from leaves(value)


def tokens(texts):
    return {token for text in texts for token in TOKEN.findall(DATE.sub(" ", text))}


def other(token, chance):
    """A token of the same shape."""

    def sign(old):
        if old.isdigit():
            return chance.choice("123456789")
        return chance.choice("bcdfghjklmnpqrstvwxz") if old.islower() else chance.choice("BCDFGHJKLMNPQRSTVWXZ")

    return "".join(sign(old) if old.isalnum() else old for old in token)


class Renaming:
    """Other names for some tokens, the same ones everywhere."""

    def __init__(self, names, taken, seed):
        chance = random.Random(seed)
        self.names = {}
        for name in sorted(names):
            new = other(name, chance)
            while new in taken or new == name:
                new = other(name, chance)
            taken.add(new)
            self.names[name] = new

    def inverse(self):
        inverse = Renaming((), set(), 0)
        inverse.names = {new: old for old, new in self.names.items()}
        return inverse

    def text(self, text):
        return TOKEN.sub(lambda found: self.names.get(found.group(), found.group()), text)

    def value(self, value, fields=frozenset()):
        if isinstance(value, dict):
            return {
                key if key in fields or not isinstance(key, str) else self.text(key): self.value(inner, fields)
                for key, inner in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.value(inner, fields) for inner in value]
        return self.text(value) if isinstance(value, str) else value


def field_names(model, seen):
    """The names of the fields of a pydantic model and of those within it."""
    schema = model.model_json_schema()

    def walk(value):
        if isinstance(value, dict):
            seen.update(value.get("properties", {}))
            for text in value.get("enum", ()):
                seen.update(tokens([str(text)]))
            if isinstance(value.get("const"), str):
                seen.update(tokens([value["const"]]))
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(schema)
    return seen


def shuffle(value, chance):
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in SHUFFLED and isinstance(inner, list):
                chance.shuffle(inner)
            shuffle(inner, chance)
    elif isinstance(value, list):
        for inner in value:
            shuffle(inner, chance)


class Suite:
    """The tasks of a suite, its tools, and its server."""

    def __init__(self, name):
        self.name = name
        self.suite = tools.AgentDojo(name) if name in tools.AGENTDOJO else tools.Tau(name)
        self.tools = {tool.name: tool for tool in self.suite.tools()}
        process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "tools.py"), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.process, self.url = process, f"http://127.0.0.1:{int(process.stdout.readline())}"
        self.listed = ways.post(self.url, "/list")

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def simulated(self):
        return {
            "tools": {
                f"{self.name}.{tool['name']}": {
                    "input_schema": tool["inputSchema"],
                    "output_schema": tool.get("outputSchema", {}),
                    "annotations": tool["annotations"],
                    "returns": None,
                }
                for tool in self.listed
            }
        }

    def tasks(self):
        """The id, the request, the gold calls and the words of the gold answer of each task that changes something."""
        if self.name in tools.AGENTDOJO:
            for task in self.suite.suite.user_tasks.values():
                environment = task.init_environment(self.suite.start(None).environment)
                calls = [{"tool": call.function, "arguments": dict(call.args)} for call in task.ground_truth(environment)]
                yield task.ID, task.PROMPT, calls, task.GROUND_TRUTH_OUTPUT
        else:
            for task in self.suite.tasks.values():
                calls = [
                    {"tool": action["name"], "arguments": action["arguments"]}
                    for action in task["evaluation_criteria"]["actions"] or []
                ]
                said = " ".join(str(text) for text in leaves(task["user_scenario"]))
                yield task["id"], said, calls, ""

    def fields(self):
        state = self.suite.start(None)
        names = field_names(type(model(state)), set())
        for tool in self.listed:
            names.update(tool["inputSchema"].get("properties", {}))
            names.update(tokens(str(value) for value in enumerated(tool["inputSchema"])))
        return names

    def state(self, renaming, fields, seed):
        state = self.suite.start(None)
        if renaming is None:
            return state
        data = renaming.value(model(state).model_dump(mode="json"), fields)
        if self.name not in tools.AGENTDOJO:
            shuffle(data, random.Random(seed))
            return self.suite.second.DOMAINS[self.name][0](type(state.db).model_validate(data))
        return type(state)(type(state.environment).model_validate(data))

    def perform(self, calls, state):
        """The results of calls, one after the other: the output or the error of each."""
        results = []
        for call in calls:
            try:
                result = asyncio.run(self.tools[call["tool"]].call(state, tools.plain(call["arguments"])))
                results.append((tools.plain(result), None))
            except Exception as error:
                results.append((None, f"Error: {error}"))
        return results


def enumerated(schema):
    if isinstance(schema, dict):
        yield from schema.get("enum", ())
        for inner in schema.values():
            yield from enumerated(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from enumerated(inner)


def model(state):
    return state.db if hasattr(state, "db") else state.environment


def changed(suite, calls, usual, fields, taken, seed):
    """A renaming under which the gold calls succeed as they did, the renamed calls, and their results."""
    names = tokens(text for call in calls for text in arguments(call)) - fields
    for _ in range(1 + len(names)):
        renaming = Renaming(names, set(taken), seed)
        renamed = [{**call, "arguments": renaming.value(call["arguments"], fields)} for call in calls]
        try:
            results = suite.perform(renamed, suite.state(renaming, fields, seed))
        except ValueError:
            # A name that the data model restricts.
            return None
        failing = next(
            (index for index, (one, before) in enumerate(zip(results, usual, strict=True)) if bool(one[1]) != bool(before[1])),
            None,
        )
        if failing is None:
            return renaming, renamed, results
        # One of the names is a word that the tool knows: all names of the call stay.
        stay = tokens(arguments(calls[failing])) & names
        if not stay:
            return None
        names -= {min(stay, key=lambda name: (len(name), name))}
    return None


def messages(request, calls, results):
    """A trace in the form of OpenAI's chat completions."""
    log = [{"role": "user", "content": request}]
    for number, (call, (output, error)) in enumerate(zip(calls, results, strict=True)):
        function = {"name": call["tool"], "arguments": json.dumps(call["arguments"])}
        log.append(
            {"role": "assistant", "content": None, "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}]}
        )
        content = error or (output if isinstance(output, str) else json.dumps(output))
        log.append({"role": "tool", "tool_call_id": f"call_{number}", "content": content})
    return {"messages": log}


class Bench:
    """The program and a folder for what it needs."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.environment = {**os.environ, "XDG_CONFIG_HOME": folder, "XDG_DATA_HOME": folder}

    def write(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(data if isinstance(data, str) else json.dumps(data))
        return path

    def planwright(self, *words):
        return subprocess.run(
            [self.program, *words], check=False, cwd=self.folder, env=self.environment, capture_output=True, text=True
        )

    def learn(self, suite, traces):
        paths = [self.write(f"trace{number}.json", trace) for number, trace in enumerate(traces)]
        simulated = self.write("tools.json", suite.simulated())
        run = self.planwright("learn", *paths, "--simulate", simulated, "--format", "json")
        if run.returncode not in (0, 1, 3):
            raise SystemExit(f"`learn` exits with {run.returncode}\n{run.stdout}{run.stderr}")
        return json.loads(run.stdout)

    def run(self, suite, plan, inputs):
        """Runs a plan over the original data. Returns false if it does not run to its end."""
        servers = self.write("mcp.json", {"mcpServers": {suite.name: {"type": "http", "url": f"{suite.url}/mcp"}}})
        ways.post(suite.url, "/reset")
        run = self.planwright(
            "run", self.write("plan.json", plan), "--dialect", "native", "--vars", self.write("inputs.json", inputs),
            "--servers", servers, "--no-store", "--approve", "all", "--format", "json"
        )  # fmt: skip
        return run.returncode == 0, run


def origins(plan):
    """The number of arguments that are constants, read inputs, or read earlier answers."""
    counts = collections.Counter()
    for step in json.loads(plan)["steps"]:
        for text in leaves_without_keys(step.get("args", {})):
            kind = "constant"
            if isinstance(text, str) and "${" in text:
                kind = "input" if "${inputs." in text else "reference"
            counts[kind] += 1
    return counts


def leaves_without_keys(value):
    if isinstance(value, dict):
        for inner in value.values():
            yield from leaves_without_keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves_without_keys(inner)
    else:
        yield value


def measure(bench, suite, task, request, calls, answer, fields, count):
    """The outcome for a task; none if its gold calls do not reach the aim, or have no other names."""
    state = suite.suite.start(None)
    usual = suite.perform(calls, state)
    if not suite.suite.judge(task, answer, state):
        return None
    taken = tokens(leaves(model(suite.suite.start(None)).model_dump(mode="json")))
    traces, first = [], None
    for seed in SEEDS[:count]:
        found = changed(suite, calls, usual, fields, taken, seed)
        if found is None or not found[0].names:
            return None
        renaming, renamed, results = found
        first = first or renaming
        traces.append(messages(renaming.text(request), renamed, results))
    report = bench.learn(suite, traces)
    outcome = {
        "sound": report["sound"],
        "complete": report["complete"],
        "same_calls": report["same_calls"],
        "inputs": len(report["inputs"]),
        "inputs_not_said": sum(not said(traces[0], one["values"][0]) for one in report["inputs"]),
        "undecided": sorted({finding["kind"] for finding in report["findings"] if finding["undecided"]}),
        "origins": dict(origins(report["plan"])),
        "reached": False,
        "ran": False,
    }
    if report["sound"]:
        inverse = first.inverse()
        inputs = {one["name"]: inverse.value(one["values"][0], fields) for one in report["inputs"]}
        outcome["ran"], run = bench.run(suite, report["plan"], inputs)
        outcome["reached"] = ways.post(suite.url, "/judge", {"task": task, "output": answer})
        if not outcome["reached"]:
            bench.write(f"failed-{suite.name}-{task}.txt", report["plan"] + json.dumps(inputs) + run.stdout[-3000:] + run.stderr)
    return outcome


def said(trace, value):
    """Whether the request has each part of an input."""
    request = trace["messages"][0]["content"].lower()
    parts = [str(part).lower() for part in leaves_without_keys(value)]
    return all(re.search(rf"(?<!\w){re.escape(part)}(?!\w)", request) for part in parts)


def summary(outcomes):
    def count(test):
        return sum(1 for outcome in outcomes.values() if test(outcome))

    claimed = [outcome for outcome in outcomes.values() if outcome["sound"] and outcome["complete"] and outcome["same_calls"]]
    origin = collections.Counter()
    for outcome in outcomes.values():
        origin.update(outcome["origins"])
    return {
        "tasks": len(outcomes),
        "sound": count(lambda outcome: outcome["sound"]),
        "reached": count(lambda outcome: outcome["reached"]),
        "sound_and_complete": len(claimed),
        "sound_and_complete_and_reached": sum(outcome["reached"] for outcome in claimed),
        "sound_and_complete_but_stopped": sum(not outcome["ran"] for outcome in claimed),
        "sound_and_complete_but_wrong": sum(outcome["ran"] and not outcome["reached"] for outcome in claimed),
        "arguments": dict(origin),
        "inputs": sum(outcome["inputs"] for outcome in outcomes.values()),
        "inputs_not_said": sum(outcome["inputs_not_said"] for outcome in outcomes.values()),
        "reached_by_the_request_alone": count(lambda outcome: outcome["reached"] and not outcome["inputs_not_said"]),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--planwright", default="planwright")
    parser.add_argument("--only", help="a regular expression of SUITE/TASK")
    parser.add_argument("--traces", type=int, default=len(SEEDS), choices=range(1, len(SEEDS) + 1), help="traces of each task")
    parser.add_argument("--results", default=os.path.join(HERE, "learn.json"))
    parser.add_argument("--folder", help="a folder for plans that do not reach the aim")
    chosen = parser.parse_args()
    program = os.path.abspath(shutil.which(chosen.planwright) or parser.error(f"no `{chosen.planwright}`"))
    outcomes, unusable = {}, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(program, chosen.folder or folder)
        for name in SUITES:
            suite = Suite(name)
            fields = suite.fields()
            for task, request, calls, answer in suite.tasks():
                changes = [call for call in calls if not suite.tools[call["tool"]].read_only]
                if not changes or (chosen.only and not re.search(chosen.only, f"{name}/{task}")):
                    continue
                outcome = measure(bench, suite, task, request, calls, answer, fields, chosen.traces)
                if outcome is None:
                    unusable[name] += 1
                else:
                    outcomes[f"{name}/{task}"] = outcome
            suite.close()
            print(name, json.dumps(summary({key: one for key, one in outcomes.items() if key.startswith(name)})), flush=True)
    figures = {"all": summary(outcomes), "unusable": dict(unusable), "tasks": outcomes}
    with open(chosen.results, "w") as file:
        json.dump(figures, file, indent=1, sort_keys=True)
        file.write("\n")
    print(json.dumps(figures["all"], indent=1), "unusable:", dict(unusable))


if __name__ == "__main__":
    main()
