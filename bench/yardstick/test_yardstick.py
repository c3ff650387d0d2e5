"""Tests of the yardstick that need neither packages nor a program."""

import glob
import json
import os
import re
import sys
import tempfile
import time
import tomllib
import types
import unittest
import urllib.request

import main
import own
import page
import ways
from ways import ask, provider


class Scripts(unittest.TestCase):
    """The folders of the tasks."""

    def test_each_task_has_what_a_model_writes_in_each_way(self):
        folders = glob.glob(os.path.join(main.HERE, "tasks", "*", "*", ""))
        self.assertGreaterEqual(len(folders), 96)
        for folder in folders:
            task = main.Task(os.path.dirname(folder))
            rounds = len(task.texts("plan", "json"))
            for stem, suffix in [("plan", "lines"), ("code", "js"), ("code", "monty")]:
                self.assertLessEqual(len(task.texts(stem, suffix)), rounds, task.name)
            self.assertTrue(all(call["tool"] for calls in task.direct for call in calls), task.name)

    def test_each_way_names_tools_with_their_server(self):
        for folder in glob.glob(os.path.join(main.HERE, "tasks", "*", "*", "")):
            task = main.Task(os.path.dirname(folder))
            tools = "|".join(ways.needed(task))
            for stem, suffix, prefix in [
                ("plan", "json", "."), ("plan", "lines", "."), ("code", "js", "."), ("code", "monty", "_"),
            ]:  # fmt: skip
                text = "\n".join(task.texts(stem, suffix))
                bare = re.findall(rf"(?<![\w.])(?:{tools})(?=\"|\()", text)
                self.assertEqual(bare, [], f"{task.name} {suffix}")
                self.assertIn(f"{task.suite}{prefix}", text)


class Shares(unittest.TestCase):
    """The tasks of several processes."""

    def test_each_task_is_in_one_share(self):
        def chosen(share):
            return [task.name for task in main.tasks(types.SimpleNamespace(only=None, share=share))]

        everything = chosen(None)
        self.assertEqual([name for number in range(7) for name in chosen(f"{number}/7")], everything)
        self.assertEqual([name for number in range(200) for name in chosen(f"{number}/200")], everything)

    def test_each_process_has_a_folder_of_its_own_and_its_figures_are_kept(self):
        program = "import json, os, sys; json.dump([sys.argv[2], os.environ['TMPDIR']], open(sys.argv[4], 'w'))"
        with tempfile.TemporaryDirectory() as folder:
            found, failed = main.measure_shares([sys.executable, "-c", program], 2, folder)
            self.assertEqual(found, [["0/2", os.path.join(folder, "0")], ["1/2", os.path.join(folder, "1")]])
            self.assertEqual(failed, [])

    def test_a_share_that_fails_is_named_and_its_figures_are_kept(self):
        program = "import json, sys; json.dump(1, open(sys.argv[4], 'w')); sys.exit(3 if sys.argv[2] == '1/2' else 0)"
        with tempfile.TemporaryDirectory() as folder:
            found = main.measure_shares([sys.executable, "-c", program], 2, folder)
            self.assertEqual(found, ([1, 1], ["1/2: 3"]))


class Recorded(unittest.TestCase):
    """What a host knows of an interrupted program."""

    class Server:
        """A server that has carried out one of two payments."""

        read_only = ["get"]
        wrapped = ["pay"]

        def post(self, path):
            return [{"tool": "pay", "arguments": {"to": "a", "note": None}, "result": "paid"}]

    def entry(self, state, method, args, **result):
        return {"state": state, "method": method, "args": args, **result}

    def test_finished_calls_have_their_results_and_a_person_looks_for_those_of_changes_in_doubt(self):
        entries = [self.entry("applied", "get", {}, result=3), self.entry("executing", "pay", {"to": "a"})]
        found, asked = ways.ledger_of(entries, self.Server())
        self.assertEqual([(one["method"], one["result"]) for one in found], [("get", 3), ("pay", {"result": "paid"})])
        self.assertTrue(asked)

    def test_a_change_that_returned_nothing_has_happened(self):
        server = self.Server()
        server.post = lambda path: [{"tool": "send", "arguments": {}, "result": None}]
        found, _ = ways.ledger_of([self.entry("executing", "send", {})], server)
        self.assertEqual(found, [{"method": "send", "args": {}, "result": None}])

    def test_a_change_that_did_not_happen_is_made_and_a_read_asks_no_person(self):
        self.assertEqual(ways.ledger_of([self.entry("executing", "pay", {"to": "b"})], self.Server()), ([], True))
        self.assertEqual(ways.ledger_of([self.entry("executing", "get", {})], self.Server()), ([], False))


class Counting(unittest.TestCase):
    """What is counted from the logs and the conversation."""

    def test_calls_that_overlap_are_of_one_round(self):
        log = [
            {"tool": tool, "arguments": {}, "start": start, "end": start + 1}
            for tool, start in [("a", 0), ("b", 0.1), ("c", 1.05), ("d", 3)]
        ]
        self.assertEqual([[call["tool"] for call in calls] for calls in main.together(log)], [["a", "b"], ["c"], ["d"]])

    def test_a_repeated_effect_counts_and_a_failed_one_does_not(self):
        usual = [{"tool": "pay", "arguments": {"to": "x"}, "changes": True}]
        self.assertEqual(main.repeated(usual * 2, usual), (1, 1))
        self.assertEqual(main.repeated([*usual, {**usual[0], "failed": True}], usual), (1, 0))

    def test_the_whole_conversation_is_read_at_each_round_trip(self):
        figures = {"definitions": [0], "exchanges": [[1, [2]], [1, [2, 2]]]}
        main.settle(figures, [100, 10, 1])
        self.assertEqual(
            figures["tokens"], {"definitions": 100, "read": 100 + 111 + 123, "read_once": 123, "written": 20}
        )

    def test_definitions_that_a_search_adds_are_read_from_then_on(self):
        figures = {"definitions": [0, 1, 1], "exchanges": [[2, [2]], [2, [2, 2]]]}
        main.settle(figures, [10, 100, 1])
        self.assertEqual(
            figures["tokens"], {"definitions": 10, "read": 10 + 102 + 105, "read_once": 105, "written": 2}
        )

    def test_json_is_counted_without_spaces(self):
        self.assertEqual(ways.compact({"a": [1, "ä"]}), '{"a":[1,"ä"]}')

    def test_a_model_writes_no_default_that_its_script_does_not_have(self):
        schema = {"properties": {"to": {"type": "string"}, "note": {"default": None}, "copies": {"default": 1}}}
        script = '{"args": {"to": null, "copies": 1}}'
        self.assertEqual(main.stated({"to": None, "note": None, "copies": 1}, schema, script), {"to": None, "copies": 1})

    def test_a_mistake_is_made_in_the_last_call_of_the_tool(self):
        scripts = ["pay(to='a')\npay(to='b', amount=x['to'])"]
        self.assertEqual(
            main.misspelt(scripts, "tool", "pay", "to", None), ["pay(to='a')\npayx(to='b', amount=x['to'])"]
        )
        self.assertEqual(main.misspelt(["await bank_pay(to='a')"], "tool", "pay", "to", None), ["await bank_payx(to='a')"])
        self.assertEqual(
            main.misspelt(scripts, "argument", "pay", "to", None), ["pay(to='a')\npay(tox='b', amount=x['to'])"]
        )
        self.assertEqual(
            main.misspelt(scripts, "field", "pay", "to", "to"), ["pay(to='a')\npay(to='b', amount=x['tox'])"]
        )


class Strangers(unittest.TestCase):
    """What strangers write where a value is to be hostile."""

    def test_the_text_is_in_results_of_the_tools_with_computation(self):
        world = own.World("HOSTILE")
        self.assertIn("HOSTILE", own.read_log(world)[-1])
        self.assertIn("HOSTILE", own.get_balances(world))
        self.assertEqual(own.list_invoices(world)["invoices"][0]["customer"], "HOSTILE")
        self.assertEqual((own.World().log, own.World().balances), (own.LOG, own.BALANCES))


class Streamed(unittest.TestCase):
    """Texts that are written token by token."""

    def test_the_first_token_is_there_at_once_and_the_last_after_the_time_of_the_others(self):
        writing = provider.Writing(["a"] * 61, begin=10)
        self.assertEqual((writing.due(1), writing.end), (10, 11))
        self.assertEqual([writing.written(moment) for moment in (9.9, 10, 10.51, 99)], [0, 1, 31, 61])

    def test_calls_before_the_last_token_are_early_and_the_first_one_has_a_share_of_the_text(self):
        rounds = [
            provider.Round(provider.Writing(["a"] * 61, begin=10), end=12),
            provider.Round(provider.Writing(["a"] * 31, begin=20), end=21),
            provider.Round(provider.Writing(["a"] * 5, begin=30), end=31),
        ]
        calls = [(10.5, False), (10.9, True), (11.5, True), (20.6, False)]
        log = [{"start": start, "changes": changes} for start, changes in calls]
        self.assertEqual(main.while_written(rounds, log), {
            "calls": 4, "tokens": 97, "early": 2, "early_changes": 1, "tokens_of_rounds_with_calls": 92,
            "tokens_at_the_first_call": 31 + 31, "seconds": 4,
        })  # fmt: skip

    def test_the_provider_writes_a_script_in_both_forms_and_a_summary_after_it(self):
        server = provider.Provider()
        self.addCleanup(server.close)
        for stream in (True, False):
            server.script(["on", "", "é", " two"])
            first = self.ask(server.url, stream)
            self.assertGreaterEqual(time.monotonic(), server.writing.end)
            self.assertEqual(first, ["on", "é", " two"] if stream else ["oné two"])
            self.assertEqual("".join(self.ask(server.url, stream)), provider.SUMMARY)

    def ask(self, url, stream):
        """The pieces of the answer."""
        request = urllib.request.Request(f"{url}/chat/completions", data=json.dumps({"stream": stream}).encode())
        with urllib.request.urlopen(request, timeout=60) as response:
            text = response.read().decode()
        if not stream:
            return [json.loads(text)["choices"][0]["message"]["content"]]
        events = [line.removeprefix("data: ") for line in text.splitlines() if line]
        self.assertEqual(events.pop(), "[DONE]")
        deltas = [json.loads(event)["choices"][0]["delta"] for event in events]
        return [delta["content"] for delta in deltas if delta]

    def test_only_reads_that_the_user_lists_start_early(self):
        way = ask.Ask("true", "native")
        self.addCleanup(way.close)
        way.ready(types.SimpleNamespace(name="bank", url="http://here", read_only=["get", "list"]))
        home, _ = way.homes["bank"]
        with open(os.path.join(home, "planwright", "planwright.toml"), "rb") as file:
            self.assertEqual(tomllib.load(file)["tools"]["read_only"], ["bank.get", "bank.list"])
        with open(os.path.join(home, "mcp.json")) as file:
            self.assertFalse(json.load(file)["mcpServers"]["bank"]["trusted"])

    def test_rows_count_the_tasks_that_all_modes_have_done(self):
        one = {
            "calls": 4, "done": True, "early": 3, "early_changes": 1, "error": None, "seconds": 1.25, "tokens": 40,
            "tokens_at_the_first_call": 10, "tokens_of_rounds_with_calls": 20,
        }  # fmt: skip

        def task(**changed):
            found = {}
            for way, mode, *_ in page.STREAMED:
                modes = found.setdefault(way, {"streamed": {}})["streamed"]
                modes[mode] = {delay: {**one, **changed} for delay in page.DELAYS}
            return {"ways": found}

        unmeasured = {"ways": {way: {} for way in page.NAMES}}
        tasks = {"own/a": task(), "own/b": task(), "own/c": task(done=False), "retail/1": unmeasured}
        figures = page.Figures({"versions": {}, "tasks": tasks})
        head, _, *rows = page.streamed_table(figures).splitlines()
        self.assertEqual(head, "| seconds | computation, 2 tasks, 50 ms | computation, 2 tasks, 500 ms |")
        self.assertEqual(rows[0], "| plan, JSON, written first | 2.5 | 2.5 |")
        first = page.early_table(figures).splitlines()[2]
        self.assertEqual(first, "| plan, JSON, written first | 80 | 8 | 50 % | 6 | 6 | 2 | 2 |")


class Page(unittest.TestCase):
    """The page of the book."""

    def test_ways_without_an_approval_by_flow_have_no_count_of_it(self):
        figures = {"in_a_result": True, "read_by_the_model": False, "in_arguments_of_changes": 0, "asked": 0}
        ways_of_task = {way: {"hostile": figures} for way in page.SHORT}
        rows = page.hostile_table(page.Figures({"versions": {}, "tasks": {"slack/b": {"ways": ways_of_task}}})).splitlines()
        self.assertEqual([row.split(" | ")[-1] for row in rows[2:]], ["— |", "0 |", "— |", "— |"])

    def test_tables_and_plots_are_those_of_the_figures(self):
        for path, text in page.wanted().items():
            self.assertEqual(page.read(path), text, path)


class Learned(unittest.TestCase):
    """The figures of learned plans."""

    def test_pages_have_the_figures_of_the_file(self):
        with open(os.path.join(main.HERE, "learn.json"), encoding="utf-8") as file:
            found = json.load(file)["all"]
        stopped, wrong = found["sound_and_complete_but_stopped"], found["sound_and_complete_but_wrong"]
        stop = "one stops" if stopped == 1 else f"{stopped or 'none'} stop{'' if stopped else 's'}"
        self.assertEqual(wrong, 0, "the pages say that none reaches a wrong state")
        complete, reached = found["sound_and_complete"], found["sound_and_complete_and_reached"]
        arguments, inputs = found["arguments"], found["inputs"]
        pages = {
            "README.md": [
                f"Of {found['tasks']} tasks, {found['sound']} plans are sound and {found['reached']} reach the aim; "
                f"{complete} are called sound and complete, and of these {reached} reach it, {stop} ",
                "and none reaches a wrong state",
                f"of {sum(arguments.values())} arguments, {arguments['reference']} refer to earlier answers, "
                f"{arguments['constant']} are constants, and {arguments['input']} read inputs.",
                f"Of {inputs} inputs, the requests name {inputs - found['inputs_not_said']}. "
                f"{found['reached_by_the_request_alone']} plans reach the aim with inputs",
            ],
            "../../docs/guide/learn.md": [
                f"Of {found['tasks']} tasks, {found['sound']} become sound plans, and {found['reached']} of these reach ",
                f"{complete} plans are called complete: {reached} of these reach the state, {stop}, and none reaches another",
                f"{found['reached_by_the_request_alone']} tasks need no more than what their request says",
            ],
        }
        for path, wanted in pages.items():
            with open(os.path.join(main.HERE, path), encoding="utf-8") as file:
                text = " ".join(file.read().split())
            for sentence in wanted:
                self.assertIn(sentence.strip(), text, path)


if __name__ == "__main__":
    unittest.main()
