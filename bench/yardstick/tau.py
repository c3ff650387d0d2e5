"""Writes the scripts of tasks of τ²-bench from their gold actions: `tau.py [--retail N] [--airline N]`.

A model has to read before it decides, in each way: the first round makes the reads before the first change and returns what
they read, the second one makes the changes, in their order, with what the model has decided as literals. An argument of a read
is a literal if the user says it, else a reference to the first read that returned it. Reads that depend on nothing go together.
"""

import argparse
import json
import os
import re

from tools import Tau  # makes `second` importable
import second


HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = {
    "find_user_id_by_name_zip": "found", "find_user_id_by_email": "found", "get_user_details": "user",
    "get_order_details": "order", "get_product_details": "product", "get_item_details": "item",
    "get_reservation_details": "reservation", "search_direct_flight": "flights", "search_onestop_flight": "connections",
    "get_flight_status": "status", "list_all_product_types": "products", "calculate": "sum", "list_all_airports": "airports",
}  # fmt: skip
MOST = 14


class Reference(str):
    """A path into the output of an earlier read."""

    @property
    def root(self):
        return re.match(r"\w+", self).group()

    def python(self):
        path = re.sub(r"\.(\w+)", r"['\1']", self)
        return re.sub(r'\["([^"]*)"\]', r"['\1']", path)


def gold(domain, task):
    """The gold actions as named calls, with references in the reads; none if they do not suit."""
    toolkit, kinds = domain.start(None), second.tools(domain.name)
    said = json.dumps(task["user_scenario"], ensure_ascii=False).lower()
    reads, changes, outputs, counts = [], [], [], {}
    for action in task["evaluation_criteria"]["actions"] or []:
        changing = kinds[action["name"]][1] == second.ToolType.WRITE
        try:
            result = toolkit.use_tool(action["name"], **action["arguments"])
        except ValueError:
            return None
        if changing:
            changes.append({"name": f"change{len(changes) + 1}", "tool": action["name"], "args": action["arguments"]})
        elif changes or action["name"] not in NAMES:
            # A read after a change only looks at what it did.
            continue
        else:
            base = NAMES[action["name"]]
            counts[base] = counts.get(base, 0) + 1
            name = f"{base}{counts[base]}"
            args = second.as_argument(action["arguments"], said, outputs)
            args = {key: as_reference(value) for key, value in args.items()}
            if any(read["tool"] == action["name"] and read["args"] == args for read in reads):
                continue
            reads.append({"name": name, "tool": action["name"], "args": args})
            outputs.extend(second.leaves(second.structured(result), name))
    return (reads, changes) if reads and changes and len(reads) + len(changes) <= MOST else None


def as_reference(value):
    found = isinstance(value, str) and re.fullmatch(r"\$\{(.*)\}", value)
    return Reference(found.group(1)) if found else value


def levels(reads):
    """The reads in groups that may go together."""
    level = {}
    for read in reads:
        level[read["name"]] = max(
            (level[value.root] + 1 for value in read["args"].values() if isinstance(value, Reference)), default=0
        )
    return [[read for read in reads if level[read["name"]] == depth] for depth in range(max(level.values()) + 1)]


def plan(server, name, calls, ordered, output):
    steps = [
        {
            "id": call["name"],
            "tool": f"{server}.{call['tool']}",
            "args": {
                key: f"${{{value}}}" if isinstance(value, Reference) else value for key, value in call["args"].items()
            },
            **({"after": [before["name"]]} if ordered and before else {}),
        }
        for before, call in zip([None, *calls], calls, strict=False)
    ]
    lines = ",\n".join("    " + json.dumps(step, ensure_ascii=False) for step in steps)
    return f'{{\n  "name": "{name}",\n  "steps": [\n{lines}\n  ],\n  "output": {json.dumps(output)}\n}}\n'


def js_call(server, call):
    args = ", ".join(
        f"{key}: {value if isinstance(value, Reference) else json.dumps(value, ensure_ascii=False)}"
        for key, value in call["args"].items()
    )
    return f"{server}.{call['tool']}({{ {args} }})" if args else f"{server}.{call['tool']}({{}})"


def py_call(server, call):
    args = ", ".join(
        f"{key}={value.python() if isinstance(value, Reference) else repr(value)}"
        for key, value in call["args"].items()
    )
    return f"{server}_{call['tool']}({args})"


def js(server, groups, result):
    lines = []
    for group in groups:
        if len(group) == 1:
            lines.append(f"  const {group[0]['name']} = await {js_call(server, group[0])};")
        else:
            names = ", ".join(call["name"] for call in group)
            lines.append(f"  const [{names}] = await Promise.all([")
            lines += [f"    {js_call(server, call)}," for call in group] + ["  ]);"]
    return "async () => {\n" + "\n".join(lines) + f"\n  return {result};\n}}\n"


def py(server, groups, result):
    lines = ["import asyncio", ""] if any(len(group) > 1 for group in groups) else []
    for group in groups:
        if len(group) == 1:
            lines.append(f"{group[0]['name']} = await {py_call(server, group[0])}")
        else:
            names = ", ".join(call["name"] for call in group)
            lines.append(f"{names} = await asyncio.gather(")
            lines += [f"    {py_call(server, call)}," for call in group] + [")"]
    return "\n".join([*lines, result]) + "\n"


def write(domain, task, reads, changes):
    folder = os.path.join(HERE, "tasks", domain.name, task["id"])
    os.makedirs(folder, exist_ok=True)
    names = [read["name"] for read in reads]
    singly = [[change] for change in changes]
    listed = ", ".join(f"'{name}': {name}" for name in names)
    texts = {
        "plan.json": plan(domain.name, "look-up", reads, False, names),
        "plan.2.json": plan(domain.name, "change", changes, True, "done"),
        "code.js": js(domain.name, levels(reads), f"{{ {', '.join(names)} }}"),
        "code.2.js": js(domain.name, singly, '"done"'),
        "code.monty": py(domain.name, levels(reads), f"{{{listed}}}"),
        "code.2.monty": py(domain.name, singly, "'done'"),
    }
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--retail", type=int, default=18)
    parser.add_argument("--airline", type=int, default=14)
    arguments = parser.parse_args()
    for name, count in (("retail", arguments.retail), ("airline", arguments.airline)):
        domain = Tau(name)
        usable = [(task, found) for task in domain.tasks.values() if (found := gold(domain, task))]
        step = max(1, len(usable) // count)
        for task, (reads, changes) in usable[::step][:count]:
            write(domain, task, reads, changes)
        print(name, len(usable), "usable, every", step)


if __name__ == "__main__":
    main()
