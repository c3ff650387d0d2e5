"""Writes the tables and plots of `docs/compare.md` from `results.json`; `--check` only says whether they are equal."""

import collections
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = os.path.join(HERE, "..", "..", "docs")
PAGE = os.path.join(DOCS, "compare.md")

NAMES = {
    "direct": "direct, one call a round",
    "direct-together": "direct, several calls a round",
    "direct-search": "direct, several, tools by search",
    "plan": "plan, JSON",
    "plan-lines": "plan, `lines`",
    "plan-described": "plan, JSON, tools by `describe_tools`",
    "plan-search": "plan, JSON, tools by search",
    "codemode": "code mode of Cloudflare",
    "codemode-search": "code mode of Cloudflare, tools by search",
    "monty": "code mode of Pydantic AI",
    "monty-search": "code mode of Pydantic AI, tools by search",
}
SHORT = {"direct": "direct", "plan": "plan", "codemode": "Cloudflare", "monty": "Pydantic AI"}
# The rows of the kills: a way, the figures, and the title.
KILLED = [
    *((way, "killed", title) for way, title in SHORT.items()),
    *((way, "killed_with_ledger", f"{SHORT[way]}, host with a ledger") for way in ("direct", "codemode", "monty")),
]
COLOURS = {
    "direct": "#8c8c8c", "direct-together": "#a6a6a6", "direct-search": "#bdbdbd", "plan": "#1f6feb", "plan-lines": "#4a90ff",
    "plan-described": "#79b0ff", "plan-search": "#a8ccff", "codemode": "#e07b00", "codemode-search": "#ffc078",
    "monty": "#b8379a", "monty-search": "#e08fcd",
}  # fmt: skip
# The rows of the texts that are written token by token: a way, a mode, the title and the colour.
STREAMED = [
    ("plan", "whole", "plan, JSON, written first", "#a8ccff"),
    ("plan", "streamed", "plan, JSON, streamed", "#1f6feb"),
    ("plan-lines", "whole", "plan, `lines`, written first", "#a8ccff"),
    ("plan-lines", "streamed", "plan, `lines`, streamed", "#4a90ff"),
    ("monty", "whole", "Pydantic AI, written first", "#e08fcd"),
    ("monty", "speculate", "Pydantic AI, `speculate`", "#cc5fb4"),
    ("monty", "streamed", "Pydantic AI, `eager` and `speculate`", "#b8379a"),
]
DELAYS = {"0.05": 50, "0.5": 500}
NONE = "—"
GROUPS = {
    "own": ("computation", ("own",)),
    "agentdojo": ("AgentDojo", ("banking", "slack", "travel", "workspace")),
    "tau": ("τ²-bench", ("retail", "airline")),
}


class Figures:
    """The results, with sums over the tasks of a group."""

    def __init__(self, results):
        self.versions, self.tasks = results["versions"], results["tasks"]

    def group(self, name):
        suites = GROUPS[name][1]
        return [task for key, task in self.tasks.items() if key.split("/")[0] in suites]

    def done(self, tasks):
        """The tasks that every way has done, so that sums compare the same work."""
        return [task for task in tasks if all(way["done"] and not way["error"] for way in task["ways"].values())]

    def timed_ways(self):
        """The ways that have times; a measurement of counts only has none for the ways that it adds."""
        return [way for way in NAMES if any("seconds" in task["ways"].get(way, {}) for task in self.tasks.values())]

    def timed(self):
        """The titles and tasks of the groups that have times in each of these ways."""
        ways = self.timed_ways()
        for name, (title, _) in GROUPS.items():
            tasks = [task for task in self.done(self.group(name)) if all("seconds" in task["ways"][way] for way in ways)]
            if tasks:
                yield f"{title}, {len(tasks)} tasks", tasks

    def streamed(self):
        """The titles and tasks of the groups, with the tasks that each row of `STREAMED` has done at each delay."""
        for name, (title, _) in GROUPS.items():
            tasks = [task for task in self.group(name) if is_streamed(task)]
            if tasks:
                yield f"{title}, {len(tasks)} tasks", tasks

    def total(self, tasks, way, *path):
        return sum(value(task["ways"][way], path) for task in tasks)


def is_streamed(task):
    """True if each row of `STREAMED` has done the task at each delay."""
    found = [
        task["ways"][way].get("streamed", {}).get(mode, {}).get(delay) for way, mode, *_ in STREAMED for delay in DELAYS
    ]
    return all(one and one["done"] and not one["error"] for one in found)


def value(figures, path):
    for key in path:
        figures = figures[key]
    return figures


def table(head, rows, align="---:"):
    lines = [head, ["---", *[align] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def thousands(number):
    return f"{number:,}"


def ways_table(figures):
    version = figures.versions
    return table(
        ["way", "version"],
        [
            ["direct calls", f"Pydantic AI {version['pydantic-ai-slim']}, `StepPersistence` of its harness {version['pydantic-ai-harness']}"],
            ["plan", f"Planwright {version['planwright']}, `planwright serve`, `planwright run` and `planwright ask`"],
            ["code mode of Cloudflare", f"`@cloudflare/codemode` {version['@cloudflare/codemode']}, `createCodeTool`, its durable runtime, and `DynamicWorkerExecutor` in workerd {version['workerd']}"],
            ["code mode of Pydantic AI", f"`CodeMode` of `pydantic-ai-harness` {version['pydantic-ai-harness']}, Monty {version['pydantic-monty']}"],
        ],
        "---",
    )  # fmt: skip


def tasks_table(figures):
    rows = []
    for name, (title, _) in GROUPS.items():
        tasks = figures.group(name)
        rows.append([title, len(tasks), *(sum(done(task, way) for task in tasks) for way in NAMES)])
    return table(["tasks", "all", *NAMES.values()], rows)


def done(task, way):
    return task["ways"][way]["done"] and not task["ways"][way]["error"]


def work_table(figures, group):
    tasks = figures.done(figures.group(group))
    rows = []
    for way, title in NAMES.items():
        rows.append([
            title,
            thousands(figures.total(tasks, way, "rounds")),
            thousands(figures.total(tasks, way, "tokens", "read")),
            thousands(figures.total(tasks, way, "tokens", "read_once")),
            thousands(figures.total(tasks, way, "tokens", "written")),
            thousands(figures.total(tasks, way, "result_bytes")),
            thousands(figures.total(tasks, way, "calls")),
        ])  # fmt: skip
    head = [
        f"{GROUPS[group][0]}, {len(tasks)} tasks",
        "round trips",
        "tokens read",
        "read once",
        "written",
        "result bytes",
        "calls",
    ]
    return table(head, rows)


def time_table(figures):
    groups = list(figures.timed())
    columns = [(tasks, delay) for _, tasks in groups for delay in ("0.05", "0.5")]
    rows = []
    for way in figures.timed_ways():
        rows.append([NAMES[way], *(f"{figures.total(tasks, way, 'seconds', delay):.1f}" for tasks, delay in columns)])
    heads = [f"{title}, {delay} ms" for title, _ in groups for delay in (50, 500)]
    return table(["seconds", *heads], rows)


def streamed_table(figures):
    groups = list(figures.streamed())
    rows = []
    for way, mode, title, _ in STREAMED:
        sums = [
            f"{figures.total(tasks, way, 'streamed', mode, delay, 'seconds'):.1f}" for _, tasks in groups for delay in DELAYS
        ]
        rows.append([title, *sums])
    return table(["seconds", *(f"{title}, {delay} ms" for title, _ in groups for delay in DELAYS.values())], rows)


def early_table(figures):
    tasks = [task for _, tasks in figures.streamed() for task in tasks]
    rows = []
    for way, mode, title, _ in STREAMED:
        fast, slow = (
            {
                key: figures.total(tasks, way, "streamed", mode, delay, key)
                for key in (
                    "tokens", "calls", "early", "early_changes", "tokens_at_the_first_call", "tokens_of_rounds_with_calls",
                )
            }
            for delay in DELAYS
        )  # fmt: skip
        written = slow["tokens_of_rounds_with_calls"]
        share = f"{100 * slow['tokens_at_the_first_call'] / written:.0f} %" if written else NONE
        rows.append([
            title, thousands(slow["tokens"]), slow["calls"], share, fast["early"], slow["early"],
            fast["early_changes"], slow["early_changes"],
        ])  # fmt: skip
    return table(
        [f"{len(tasks)} tasks", "tokens written", "calls", "written at the first call", "calls made early, 50 ms",
         "calls made early, 500 ms", "effects early, 50 ms", "effects early, 500 ms"],
        rows,
    )  # fmt: skip


def part(figures, way, name):
    return [task["ways"][way][name] for task in figures.tasks.values() if name in task["ways"][way]]


def killed_table(figures):
    tasks = [
        task for task in figures.tasks.values() if all(what in task["ways"].get(way, {}) for way, what, _ in KILLED)
    ]
    rows = []
    for way, what, title in KILLED:
        sums = collections.Counter()
        for task in tasks:
            sums.update(task["ways"][way][what])
        rows.append([
            title, len(tasks), sums["kills"], sums["calls_repeated"], sums["effects_repeated"],
            sums["kills_that_repeat_an_effect"], sums["calls_missing"], sums["reached_the_aim"],
            sums["in_doubt_reported_to_person"], sums["in_doubt_reported_to_ledger"],
        ])  # fmt: skip
    return table(
        ["", "tasks", "kills", "calls made again", "effects again", "kills with an effect again", "calls never made",
         "aim reached", "a person is asked", "a log shows the call"],
        rows,
    )  # fmt: skip


def approval_table(figures):
    rows = []
    for way, title in SHORT.items():
        found = part(figures, way, "approval")
        asked = [one for one in found if one["made_while_waiting"] >= 0]
        rows.append([
            title, len(found), len(asked), sum(one["made_while_waiting"] for one in asked),
            sum(one["calls_repeated"] for one in found), sum(one["effects_repeated"] for one in found),
            sum(bool(one["error"]) for one in found), sum(one["reached_the_aim"] for one in found),
            "yes" if all(one["outlives_its_process"] for one in found) else "no",
        ])  # fmt: skip
    return table(
        ["", "tasks", "asked", "calls before the answer", "calls made again", "effects again", "ended by an error",
         "aim reached", "outlives its process"],
        rows,
    )  # fmt: skip


def mistakes_table(figures):
    rows = []
    for kind, what in [
        ("tool", "a misspelt tool"),
        ("argument", "a misspelt argument"),
        ("field", "a misspelt field of a result"),
    ]:
        for way, title in SHORT.items():
            found = [one[kind] for one in part(figures, way, "mistakes") if kind in one]
            if not found:
                continue
            rows.append([
                what, title, len(found), sum(one["found"] and not one["calls_before"] for one in found),
                sum(one["found"] and bool(one["calls_before"]) for one in found),
                sum(one["effects_before"] for one in found if one["found"]), sum(not one["found"] for one in found),
            ])  # fmt: skip
    return table(
        ["mistake", "way", "scripts", "found before any call", "found later", "effects before", "not found"], rows
    )


def hostile_table(figures):
    rows = []
    for title, suites in GROUPS.values():
        tasks = [task for key, task in figures.tasks.items() if key.split("/")[0] in suites]
        for way, name in SHORT.items():
            measured = [task["ways"][way]["hostile"] for task in tasks if "hostile" in task["ways"][way]]
            found = [one for one in measured if one["in_a_result"]]
            if not found:
                continue
            rows.append([
                title, name, len(measured), len(found), sum(one["read_by_the_model"] for one in found),
                sum(one["in_arguments_of_changes"] > 0 for one in found),
                # The others have no approval that the flow of data decides.
                sum(one["asked"] > 0 for one in found) if way == "plan" else NONE,
            ])  # fmt: skip
    return table(
        ["tasks", "way", "measured", "it is in a result", "the model reads it", "in the arguments of a change", "tasks that ask"],
        rows,
    )  # fmt: skip


def bars(title, unit, groups, rows, names=NAMES, colours=COLOURS):
    """A plot of horizontal bars: for each group, one bar a way."""
    width, left, bar = 820, 270, 16
    height = 46 + sum(28 + len(rows) * (bar + 4) + 8 for _ in groups) + 4
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="24" font-size="15" fill="#222222">{title}</text>',
    ]
    y = 46
    for group, values in groups:
        y += 16
        parts.append(f'<text x="12" y="{y}" font-weight="bold" fill="#222222">{group}</text>')
        y += 12
        most = max(values[way] for way in rows)
        for way in rows:
            length = round((width - left - 90) * values[way] / most, 1)
            name = names[way].replace("`", "")
            parts.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end" fill="#222222">{name}</text>')
            parts.append(f'<rect x="{left}" y="{y}" width="{length}" height="{bar}" fill="{colours[way]}"/>')
            parts.append(f'<text x="{left + length + 6:.1f}" y="{y + 12}" fill="#222222">{unit(values[way])}</text>')
            y += bar + 4
        y += 8
    return "\n".join([*parts, "</svg>"]) + "\n"


def plots(figures):
    def values(*path):
        groups = [
            (f"{GROUPS[group][0]}, {len(tasks)} tasks", tasks)
            for group in GROUPS
            if (tasks := figures.done(figures.group(group)))
        ]
        if path[0] == "seconds":
            groups = figures.timed()
        ways = figures.timed_ways() if path[0] == "seconds" else NAMES
        return [(title, {way: figures.total(tasks, way, *path) for way in ways}) for title, tasks in groups]

    rows = list(NAMES)
    streamed = [
        (title, {(way, mode): figures.total(tasks, way, "streamed", mode, "0.5", "seconds") for way, mode, *_ in STREAMED})
        for title, tasks in figures.streamed()
    ]
    return {
        "compare-tokens.svg": bars("Tokens read over all round trips", thousands, values("tokens", "read"), rows),
        "compare-written.svg": bars("Tokens written", thousands, values("tokens", "written"), rows),
        "compare-time.svg": bars(
            "Seconds with tools of 500 ms, without the model",
            lambda number: f"{number:.1f} s",
            values("seconds", "0.5"),
            figures.timed_ways(),
        ),
        "compare-streamed.svg": bars(
            "Seconds from the first token to the end of the run, with tools of 500 ms",
            lambda number: f"{number:.1f} s",
            streamed,
            [(way, mode) for way, mode, *_ in STREAMED],
            {(way, mode): title for way, mode, title, _ in STREAMED},
            {(way, mode): colour for way, mode, _, colour in STREAMED},
        ),
    }


def page(text, figures):
    """The page with each generated part replaced."""
    parts = {
        "ways": ways_table, "tasks": tasks_table, "time": time_table, "streamed": streamed_table, "early": early_table,
        "killed": killed_table, "approval": approval_table, "mistakes": mistakes_table, "hostile": hostile_table,
        **{group: lambda found, group=group: work_table(found, group) for group in GROUPS},
    }  # fmt: skip

    def replace(match):
        return f"{match[1]}\n\n{parts[match[2]](figures)}\n\n{match[3]}"

    return re.sub(r"(<!-- figures: (\w+) -->).*?(<!-- end -->)", replace, text, flags=re.DOTALL)


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def wanted():
    """The files that follow from the results, with their texts."""
    figures = Figures(json.loads(read(os.path.join(HERE, "results.json"))))
    images = {os.path.join(DOCS, "images", name): text for name, text in plots(figures).items()}
    return {PAGE: page(read(PAGE), figures), **images}


def main():
    files = wanted()
    if sys.argv[1:] == ["--check"]:
        different = [os.path.relpath(path) for path, text in files.items() if read(path) != text]
        if different:
            raise SystemExit(
                f"not what `results.json` gives, run `python3 bench/yardstick/page.py`: {', '.join(different)}"
            )
        return
    for path, text in files.items():
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
