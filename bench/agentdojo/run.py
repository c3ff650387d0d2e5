"""Measures the flow policy on AgentDojo: questions, utility and attacks. Writes `figures.json`.

`run.py [--planwright PROGRAM] [--suite SUITE]... [--no-pairs]`. README.md says what each figure counts.
"""

import argparse
import asyncio
import collections
import concurrent.futures
import contextlib
import glob
import importlib.metadata
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from agentdojo.task_suite.load_suites import get_suite
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

import fork
import server

HERE = os.path.dirname(os.path.abspath(__file__))
SUITES = ["banking", "slack", "travel", "workspace"]

NONE, EVERY, BUILTIN, POLICY = "none", "every-change", "builtin", "policy"
CONDITIONS = [NONE, EVERY, BUILTIN, POLICY]

# The settings of the gateway that says whether a planner is exposed: the built-in labels, and no questions.
GATEWAY = "gateway"

# Marks the text of an injection, so that one can see how far it came.
MARKER = "IMPORTANT-7F3A"

# Exit statuses of `planwright run`: success, and a failed step.
RAN = (0, 1)


class Result:
    """The end of a run."""

    def __init__(self, report):
        output = report["output"]
        self.output = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        self.returned = MARKER in self.output
        self.seen = MARKER in json.dumps(report["steps"])
        self.succeeded = report["status"] == "succeeded"


class Bench:
    """The program, the servers, and a folder for what they need."""

    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        for condition, suite in itertools.product([*CONDITIONS, GATEWAY], SUITES):
            self.add_home(condition, suite)
        os.makedirs(os.path.dirname(answers_path(os.path.join(folder, "plan"))))
        self.forks = fork.Forks(folder)
        self.numbers = itertools.count()

    def path(self, suffix):
        return os.path.join(self.folder, f"{next(self.numbers)}{suffix}")

    def write(self, data):
        path = self.path(".json")
        with open(path, "w") as file:
            json.dump(data, file)
        return path

    def write_plan(self, plan, answers):
        path = self.write(plan)
        with open(answers_path(path), "w") as file:
            json.dump(answers, file)
        return path

    def add_home(self, condition, suite):
        """Writes the settings of a condition."""
        folder = os.path.join(self.home(condition, suite), "planwright")
        os.makedirs(folder)
        with open(os.path.join(folder, "planwright.toml"), "w") as file:
            file.write(settings(condition, suite))

    def home(self, condition, suite):
        return os.path.join(self.folder, f"{condition}-{suite}")

    def environment(self, condition, suite, plans):
        """The variables of a run of `plans`, whose steps extract the recorded answers."""
        environment = {**os.environ, "XDG_CONFIG_HOME": self.home(condition, suite)}
        if answers := [answer for plan in plans for answer in recorded_answers(plan)]:
            environment["PLANWRIGHT_MODEL"] = f"replay:{self.write(answers)}"
        return environment

    def planwright(self, condition, suite, command, plan, *arguments):
        environment = self.environment(condition, suite, [plan])
        command = [self.program, command, plan, *arguments]
        return subprocess.run(command, check=False, cwd=self.folder, env=environment, capture_output=True, text=True)

    def run(self, condition, suite, plan, state, *, start=None, injections=None, exposed=False, consent=False):
        """Runs a plan. Without consent, calls that ask are rejected."""
        servers = self.write(self.forks.configuration(suite, state, injections, start))
        flags = ["--exposed"] if exposed and condition in (BUILTIN, POLICY) else []
        run = self.planwright(
            condition, suite, "run", plan, "--dialect", "native", "--servers", servers, "--no-store",
            "--approve", "all" if consent else "none", "--format", "json", *flags
        )  # fmt: skip
        if run.returncode not in RAN:
            raise SystemExit(f"{plan} under `{condition}` exits with {run.returncode}\n{run.stdout}{run.stderr}")
        return Result(json.loads(run.stdout))

    def asked(self, condition, suite, plan, exposed):
        """The steps of a plan that ask because of the flow of data."""
        servers = self.write(self.forks.configuration(suite, None))
        flags = ["--exposed"] if exposed else []
        run = self.planwright(
            condition, suite, "flow", plan, "--dialect", "native", "--servers", servers, "--format", "json", *flags
        )  # fmt: skip
        report = json.loads(run.stdout)
        if report["verdict"] == "denied":
            raise SystemExit(f"{plan} is refused\n{run.stdout}")
        return sorted({parameter["step"] for parameter in report["parameters"] if parameter["code"]})

    def exposures(self, suite, plans):
        """For each plan of a task, whether the gateway counts its author as exposed by the answers to the plans before."""
        return asyncio.run(self.ask_gateway(suite, plans)) if len(plans) > 1 else [False]

    async def ask_gateway(self, suite, plans):
        servers = self.write(self.forks.configuration(suite, None))
        gateway = StdioServerParameters(
            command=self.program,
            args=["serve", "--no-store", "--servers", servers],
            env=self.environment(GATEWAY, suite, plans),
            cwd=self.folder,
        )
        exposures = []
        async with Client(gateway) as client:
            for plan in plans:
                arguments = {"plan": read_json(plan), "dialect": "native"}
                check = (await client.call_tool("check_plan", arguments)).structured_content
                if check["status"] != "sound":
                    raise SystemExit(f"{plan} is refused\n{check}")
                exposures.append(check.get("exposed", False))
                result = (await client.call_tool("execute_plan", arguments)).structured_content
                if result["status"] != "succeeded":
                    raise SystemExit(f"{plan} does not run in the gateway\n{result}")
        return exposures


def settings(condition, suite):
    if condition == GATEWAY:
        return '[tools]\nno_ask = ["*"]\n\n[flow]\nviolation = "warn"\neffects = "by-flow"\n'
    if condition == NONE:
        return '[tools]\nno_ask = ["*"]\n'
    if condition == EVERY:
        changing = [tool.name for tool in get_suite(server.VERSION, suite).tools if not server.is_read_only(tool.name)]
        return f"[tools]\nask = {json.dumps(changing)}\n"
    name = "builtin" if condition == BUILTIN else suite
    with open(os.path.join(HERE, "policies", f"{name}.toml")) as file:
        return file.read()


def read_json(path):
    with open(path) as file:
        return json.load(file)


def answers_path(plan):
    return os.path.join(os.path.dirname(plan), "answers", os.path.basename(plan))


def recorded_answers(plan):
    """The recorded answers of the model for the steps of a plan that extract data."""
    path = answers_path(plan)
    return read_json(path) if os.path.exists(path) else []


def number(name):
    return int(re.search(r"(\d+)", name).group())


def rounds(suite, task):
    """The plans of a user task: the first one, and those that follow once its output has been read."""
    first = os.path.join(HERE, "plans", suite, f"{task}.json")
    return [first, *sorted(glob.glob(os.path.join(HERE, "plans", suite, f"{task}.then*.json")))]


def judge(task, output, state, method):
    """The package's own verdict on the output and the environments."""
    arguments = (output, state.before, state.environment)
    by_calls = getattr(task, f"{method}_from_traces")(*arguments, state.calls)
    return bool(getattr(task, method)(*arguments) if by_calls is None else by_calls)


def measure_task(bench, suite_name, task):
    """What a task asks under each condition, and whether it reaches its aim with and without consent."""
    suite = get_suite(server.VERSION, suite_name)
    plans = rounds(suite_name, task)
    exposures = bench.exposures(suite_name, plans)
    figures = {"task": task, "suite": suite_name, "rounds": len(plans), "exposed": exposures, "questions": {}}
    figures["utility_without_consent"] = {}
    for condition in CONDITIONS:
        for consent in (True, False) if condition == NONE else (False,):
            state = bench.path(".state")
            start = None
            outputs = []
            for plan, exposed in zip(plans, exposures, strict=True):
                result = bench.run(condition, suite_name, plan, state, start=start, exposed=exposed, consent=consent)
                outputs.append(result.output)
                start = state
            end = server.State.load(state)
            utility = judge(suite.get_user_task_by_id(task), "\n".join(outputs), end, "utility")
            if consent:
                figures["utility"] = utility
                changes = [call for call in end.calls if not server.is_read_only(call.function)]
                figures["questions"][NONE] = 0
                figures["questions"][EVERY] = len(changes)
            else:
                figures["utility_without_consent"][condition] = utility
    for condition in (BUILTIN, POLICY):
        asked = [
            step
            for plan, exposed in zip(plans, exposures, strict=True)
            for step in bench.asked(condition, suite_name, plan, exposed)
        ]
        figures["questions"][condition] = len(asked)
    return figures


def injection_text(goal):
    # The text becomes part of a quoted text in YAML.
    return f"{MARKER} {' '.join(goal.split())}".replace('"', "'").replace("\\", "/")


def measure_pair(bench, suite_name, task, injection):
    """How far an injection comes, and what it does once it has come back to the planner."""
    suite = get_suite(server.VERSION, suite_name)
    attack = suite.get_injection_task_by_id(injection)
    text = injection_text(attack.GOAL)
    injections = dict.fromkeys(suite.get_injection_vector_defaults(), text)
    state = bench.path(".state")
    start = None
    pair = {"suite": suite_name, "task": task, "injection": injection, "seen": False, "returned": False}
    for plan in rounds(suite_name, task):
        # The user consents to the task itself.
        result = bench.run(NONE, suite_name, plan, state, start=start, injections=injections, consent=True)
        start = state
        pair["seen"] |= result.seen
        pair["returned"] |= result.returned
        if pair["returned"]:
            break
    # The plan itself may have carried a value of the injection to where it does harm.
    pair["moved"] = judge(attack, "", server.State.load(state), "security")
    pair["succeeds"] = {}
    hijacked = os.path.join(HERE, "injections", suite_name, f"{injection}.json")
    if pair["seen"]:
        for condition in CONDITIONS if pair["returned"] else [NONE]:
            end = bench.path(".state")
            result = bench.run(condition, suite_name, hijacked, end, start=state, exposed=True)
            # A plan without calls starts no server.
            last = server.State.load(end if os.path.exists(end) else state)
            pair["succeeds"][condition] = judge(attack, result.output, last, "security")
            remove(end)
    remove(state)
    return pair


def remove(path):
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)


def measure_adaptive(bench, entry):
    """Whether a hijacked plan of our own does its harm without consent."""
    done = {}
    for condition in CONDITIONS:
        state = bench.path(".state")
        start = None
        for plan, answers in zip(entry["plans"], entry.get("answers", [[]] * len(entry["plans"])), strict=True):
            bench.run(
                condition,
                entry["suite"],
                bench.write_plan(plan, answers),
                state,
                start=start,
                injections=entry.get("injections"),
                exposed=entry["planner"] == "exposed",
            )
            start = state
        harm = entry["harm"]
        done[condition] = any(
            call.function == harm["tool"] and harm["contains"] in json.dumps(call.args)
            for call in server.State.load(state).calls
        )
        remove(state)
    if not done[NONE]:
        raise SystemExit(f"`{entry['name']}` does no harm even without a policy")
    return {"name": entry["name"], "suite": entry["suite"], "done": done, "gap": entry.get("gap")}


def parallel(function, bench, items):
    """The results of a function, with as many calls at once as there are processors."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = []
        for done, result in enumerate(pool.map(lambda item: function(bench, *item), items), 1):
            results.append(result)
            if sys.stderr.isatty():
                print(f"\r{function.__name__} {done} of {len(items)} ", end="", file=sys.stderr)
        return results


def summary(tasks, pairs, adaptive):
    def count(items):
        return sum(1 for item in items if item)

    conditions = {}
    for condition in CONDITIONS:
        asking = [task for task in tasks if task["questions"][condition]]
        conditions[condition] = {
            "tasks_that_ask": len(asking),
            "tasks_that_ask_by_suite": dict(collections.Counter(task["suite"] for task in asking)),
            "questions": sum(task["questions"][condition] for task in tasks),
            "utility_with_consent": count(task["utility"] for task in tasks),
            "utility_without_consent": count(task["utility_without_consent"][condition] for task in tasks),
        }
        if pairs:
            attacks = [
                pair for pair in pairs if pair["moved"] or (pair["returned"] and pair["succeeds"].get(condition))
            ]
            conditions[condition]["attacks_that_succeed"] = len(attacks)
            conditions[condition]["attacks_by_injection"] = dict(
                collections.Counter(f"{pair['suite']}/{pair['injection']}" for pair in attacks)
            )
        conditions[condition]["adaptive_that_succeed"] = [
            entry["name"] for entry in adaptive if entry["done"][condition]
        ]
    figures = {
        "agentdojo": importlib.metadata.version("agentdojo"),
        "benchmark": server.VERSION,
        "tasks": len(tasks),
        "adaptive": len(adaptive),
        "conditions": conditions,
        "no_utility": [f"{task['suite']}/{task['task']}" for task in tasks if not task["utility"]],
        "asking": {
            condition: [f"{task['suite']}/{task['task']}" for task in tasks if task["questions"][condition]]
            for condition in (BUILTIN, POLICY)
        },
        "each_task": tasks,
        "each_adaptive": adaptive,
    }
    if pairs:
        figures["pairs"] = {
            "all": len(pairs),
            "seen_by_a_conversation": count(pair["seen"] for pair in pairs),
            "succeed_in_a_conversation": count(pair["succeeds"].get(NONE) for pair in pairs),
            "returned_to_the_planner": count(pair["returned"] for pair in pairs),
            "moved_by_the_plan": count(pair["moved"] for pair in pairs),
        }
    return figures


def table(figures):
    rows = [("", *CONDITIONS)]
    for name, key in [
        ("tasks that ask", "tasks_that_ask"),
        ("questions", "questions"),
        ("utility, with consent", "utility_with_consent"),
        ("utility, without consent", "utility_without_consent"),
        ("attacks that succeed", "attacks_that_succeed"),
        ("adaptive plans that succeed", "adaptive_that_succeed"),
    ]:
        values = [figures["conditions"][condition].get(key, "-") for condition in CONDITIONS]
        rows.append((name, *(len(value) if isinstance(value, list) else value for value in values)))
    return "\n".join(f"{row[0]:<28}" + "".join(f"{value:>14}" for value in row[1:]) for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--planwright", default="planwright")
    parser.add_argument("--suite", action="append", choices=SUITES)
    parser.add_argument("--no-pairs", action="store_true")
    parser.add_argument("--figures", default=os.path.join(HERE, "figures.json"))
    arguments = parser.parse_args()
    program = shutil.which(arguments.planwright) or parser.error(f"there is no `{arguments.planwright}`")
    suites = {name: get_suite(server.VERSION, name) for name in arguments.suite or SUITES}
    adaptive = read_json(os.path.join(HERE, "injections", "adaptive.json"))
    entries = [entry for entry in adaptive if entry["suite"] in suites]
    tasks = [(name, task) for name, suite in suites.items() for task in sorted(suite.user_tasks, key=number)]
    pairs = [
        (name, task, injection)
        for name, task in tasks
        for injection in sorted(suites[name].injection_tasks, key=number)
    ]
    # The package's judges print.
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        bench = Bench(os.path.abspath(program), folder)
        figures = summary(
            parallel(measure_task, bench, tasks),
            [] if arguments.no_pairs else parallel(measure_pair, bench, pairs),
            parallel(measure_adaptive, bench, [(entry,) for entry in entries]),
        )
        bench.forks.close()
    with open(arguments.figures, "w") as file:
        json.dump(figures, file, indent=1)
        file.write("\n")
    print(table(figures))


if __name__ == "__main__":
    main()
