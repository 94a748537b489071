#!/usr/bin/env python3
"""Tests scripts/words: every rule finds its examples, and only what readers see is checked."""

import importlib.machinery
import importlib.util
import tomllib
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent / "words"
loader = importlib.machinery.SourceFileLoader("words", str(SCRIPT))
words = importlib.util.module_from_spec(importlib.util.spec_from_loader("words", loader))
loader.exec_module(words)

RULES = words.Rules(tomllib.loads(words.RULES.read_text()))


def found(path, text):
    """What is found in a file: line, column, rule and words."""
    return [(line, column, rule.name, said) for line, column, rule, said in RULES.check(path, text)]


class Examples(unittest.TestCase):
    def test_each_rule_finds_its_bad_examples_and_no_good_one(self):
        for rule in RULES.rules:
            for text in rule.bad:
                self.assertIn(rule.name, [name for _, _, name, _ in found("docs/a.md", text)], f"{rule.name}: {text!r}")
            for text in rule.good:
                self.assertNotIn(rule.name, [name for _, _, name, _ in found("docs/a.md", text)], f"{rule.name}: {text!r}")

    def test_the_quick_check_covers_every_bad_example(self):
        for rule in RULES.rules:
            for text in rule.bad:
                self.assertTrue(rule.may_find(text, words.flatten(text)), f"{rule.name}: {text!r}")

    def test_every_exception_has_a_reason(self):
        data = tomllib.loads(words.RULES.read_text())
        for entry in data.get("allow", []) + data["skip"]:
            self.assertTrue(entry["reason"], entry)


class Places(unittest.TestCase):
    def test_line_and_column_count_from_one(self):
        self.assertEqual(found("docs/a.md", "one\ntwo anew"), [(2, 5, "anew", "anew")])

    def test_a_phrase_may_go_over_a_line(self):
        self.assertEqual(found("docs/a.md", "waits for\never"), [(1, 7, "for-ever", "for ever")])
        self.assertEqual(found("transport/a.rs", "    /// waits for\n    /// ever\n")[0][:3], (1, 15, "for-ever"))


class Markdown(unittest.TestCase):
    def test_code_spans_and_link_targets_are_not_read(self):
        self.assertEqual(found("README.md", "`anew` ``a ` anew`` [a](anew.md) https://x.y/anew"), [])

    def test_code_blocks_are_not_read(self):
        self.assertEqual(found("README.md", "```sh\nanew\n```\n"), [])

    def test_decimals_in_blocks_of_plain_text_are(self):
        self.assertEqual(found("README.md", "```text\n .5 s anew\n```\n"), [(2, 2, "decimal", ".5")])


class Rust(unittest.TestCase):
    TEXT = 'let anew = r#"anew"#; let c = \'"\'; // anew\n/* anew */ let s = "// anew \\" anew";\n'

    def test_comments_of_crates_are_read_and_neither_names_nor_strings(self):
        self.assertEqual([line for line, *_ in found("transport/a.rs", self.TEXT)], [1, 2])

    def test_strings_of_the_command_are_read(self):
        self.assertEqual(len(found("apps/hawser-cli/src/a.rs", self.TEXT)), 5)

    def test_what_policies_and_errors_say_is_read_everywhere(self):
        text = 'x.meaning("anew").source(\n    "ours"); #[error("anew")] enum E {} f("anew", "ours"); // 20ms\n'
        self.assertEqual([name for _, _, name, _ in found("policies/a.rs", text)], ["anew", "ours", "anew"])

    def test_format_specifications_are_no_decimals(self):
        self.assertEqual(found("apps/hawser-cli/src/a.rs", 'format!("{value:.1} {:>8.2} {:+.3}")'), [])


class Others(unittest.TestCase):
    def test_comments_and_sayings_of_toml_are_read(self):
        text = 'name = "anew" # anew\nsays = "anew"\ntext = "# anew"\n'
        self.assertEqual([line for line, *_ in found("a.toml", text)], [1, 2])

    def test_comments_docstrings_and_help_of_python_are_read(self):
        text = '"""Anew."""\nx = "anew"  # anew\nadd("--anew", help="anew")\n'
        self.assertEqual([line for line, *_ in found("a.py", text)], [1, 2, 3])

    def test_comments_of_shell_are_read(self):
        self.assertEqual([line for line, *_ in found("scripts/a", '#!/bin/bash\necho "# anew" # anew\n')], [2])

    def test_other_files_are_not_read(self):
        self.assertIsNone(words.kind("Cargo.lock"))
        self.assertIsNone(words.kind("world/hawser-trace/data/a.csv"))


class Exceptions(unittest.TestCase):
    def test_a_mark_allows_its_line_and_the_next(self):
        text = "<!-- words: allow anew: a quotation -->\nanew\nanew\n"
        self.assertEqual([line for line, *_ in found("docs/a.md", text)], [3])

    def test_a_mark_allows_one_rule(self):
        self.assertEqual(found("docs/a.md", "anew <!-- words: allow beside: why -->"), [(1, 1, "anew", "anew")])

    def test_the_list_allows_a_text_in_a_file(self):
        entry = {"file": "docs/a.md", "rule": "anew", "text": "bury it anew", "reason": "a title"}
        rules = words.Rules({"rule": tomllib.loads(words.RULES.read_text())["rule"], "allow": [entry]})
        used = set()
        self.assertEqual(len(rules.check("docs/a.md", "bury it anew\nanew\n", used)), 1)
        self.assertEqual(used, {0})


if __name__ == "__main__":
    unittest.main()
