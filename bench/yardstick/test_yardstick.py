"""Tests of the yardstick that need neither packages nor a program."""

import glob
import os
import unittest

import main
import page


class Scripts(unittest.TestCase):
    """The folders of the tasks."""

    def test_each_task_has_what_a_model_writes_in_each_way(self):
        folders = glob.glob(os.path.join(main.HERE, "tasks", "*", "*", ""))
        self.assertGreaterEqual(len(folders), 60)
        for folder in folders:
            task = main.Task(os.path.dirname(folder))
            rounds = len(task.texts("plan", "json"))
            for stem, suffix in [("plan", "lines"), ("code", "js"), ("code", "monty")]:
                self.assertLessEqual(len(task.texts(stem, suffix)), rounds, task.name)
            self.assertTrue(all(call["tool"] for calls in task.direct for call in calls), task.name)


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
        figures = {"definitions": 0, "exchanges": [[1, [2]], [1, [2, 2]]]}
        main.settle(figures, [100, 10, 1])
        self.assertEqual(
            figures["tokens"], {"definitions": 100, "read": 100 + 111 + 123, "read_once": 123, "written": 20}
        )

    def test_a_mistake_is_made_in_the_last_call_of_the_tool(self):
        scripts = ["pay(to='a')\npay(to='b', amount=x['to'])"]
        self.assertEqual(
            main.misspelt(scripts, "tool", "pay", "to", None), ["pay(to='a')\npayx(to='b', amount=x['to'])"]
        )
        self.assertEqual(
            main.misspelt(scripts, "argument", "pay", "to", None), ["pay(to='a')\npay(tox='b', amount=x['to'])"]
        )
        self.assertEqual(
            main.misspelt(scripts, "field", "pay", "to", "to"), ["pay(to='a')\npay(to='b', amount=x['tox'])"]
        )


class Page(unittest.TestCase):
    """The page of the book."""

    def test_tables_and_plots_are_those_of_the_figures(self):
        for path, text in page.wanted().items():
            self.assertEqual(page.read(path), text, path)


if __name__ == "__main__":
    unittest.main()
