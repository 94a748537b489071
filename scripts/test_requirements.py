#!/usr/bin/env python3
"""Tests the citations of scripts/requirements: where they are, what disagrees, and what is written."""

import tempfile
import unittest
from pathlib import Path

import requirement_citations as citations

ROWS = {
    "rfc9000-4.1-1": {"says": "the limit holds", "status": "tested"},
    "rfc9000-4.1-2": {"says": "beyond it: FLOW_CONTROL_ERROR", "status": "implemented"},
    "rfc9000-4.1-10": {"says": "somebody says so", "status": "not-done"},
    "rfc9000-5-1": {"says": "of others", "status": "not-applicable"},
}

CODE = """\
//! Limits.

/// A limit.
#[derive(
    Debug,
)]
pub struct Limit {
    bytes: u64,
}

impl Limit {
    /// Checks bytes.
    #[inline]
    pub(crate) fn check(&self, bytes: u64) -> bool {
        match bytes {
            0 => true,
            _ => bytes < self.bytes,
        }
    }

    fn raise<T>(
        &mut self,
        bytes: T,
    ) -> bool
    where
        T: Into<u64>,
    {
        if bytes.into() > self.bytes {
            false
        } else {
            true
        }
    }
}

#[cfg(test)]
mod tests {
    /// It holds.
    #[test]
    fn the_limit_holds() {}

    #[tokio::test(start_paused = true)]
    async fn it_holds_later() {}

    fn helper() {}
}
"""


def with_line(before, line):
    """The code with a line above another one."""
    lines = CODE.splitlines()
    at = next(number for number, text in enumerate(lines) if before in text)
    return "\n".join([*lines[:at], line, *lines[at:]])


def read(before, line, file="src/limit.rs"):
    return citations.read(file, with_line(before, line))


class Places(unittest.TestCase):
    def item(self, before, line="//= rfc9000-4.1-1: the limit holds"):
        (citation,), _ = read(before, line)
        return citation.item

    def test_a_citation_is_about_the_item_below_it(self):
        self.assertEqual(self.item("#[inline]", "    //= rfc9000-4.1-1: the limit holds"), "check")
        self.assertEqual(self.item("/// Checks", "    //= rfc9000-4.1-1: the limit holds"), "check")
        self.assertEqual(self.item("#[derive("), "Limit")
        self.assertEqual(self.item("impl Limit"), "impl Limit")

    def test_within_an_item_it_is_about_that(self):
        self.assertEqual(self.item("_ => bytes", "            //= rfc9000-4.1-1: the limit holds"), "check")
        self.assertEqual(self.item("            true", "            //= rfc9000-4.1-1: the limit holds"), "raise")
        self.assertEqual(self.item("    bytes: u64", "    //= rfc9000-4.1-1: the limit holds"), "Limit")

    def test_above_all_it_is_about_the_file(self):
        (citation,), problems = citations.read("a.rs", "//! Limits.\n//= rfc9000-4.1-1: the limit holds\n\nuse std::io;\n")
        self.assertEqual((citation.item, citation.at, problems), ("", None, []))

    def test_tests_are_known_by_their_attribute(self):
        for before in "#[test]", "fn the_limit_holds", "#[tokio::test", "async fn it_holds_later":
            (citation,), problems = read(before, "    //= rfc9000-4.1-1, rfc9000-4.1-2")
            self.assertTrue(citation.test, before)
            self.assertEqual(citation.ids, ("rfc9000-4.1-1", "rfc9000-4.1-2"))
            self.assertEqual(problems, [])


class Disagreements(unittest.TestCase):
    def malformed(self, before, line, file="src/limit.rs"):
        _, problems = read(before, line, file)
        self.assertEqual(len(problems), 1, (line, problems))
        return problems[0]

    def test_the_form_follows_from_the_place(self):
        self.assertIn("ids alone", self.malformed("#[test]", "    //= rfc9000-4.1-1: the limit holds"))
        self.assertIn("no test", self.malformed("#[inline]", "    //= rfc9000-4.1-1"))
        self.assertIn("no test", self.malformed("fn helper", "    //= rfc9000-4.1-1"))
        self.assertIn("no test", self.malformed("#[inline]", "    //= rfc9000-4.1-1: the limit holds", "src/limit/tests.rs"))
        self.assertIn("expected", self.malformed("#[inline]", "    //= RFC 9000 section 4.1"))
        self.assertIn("110", self.malformed("#[inline]", f"    //= rfc9000-4.1-1: {'long ' * 25}"))

    def disagree(self, *lines):
        text = CODE
        for before, line in lines:
            text = text.replace(before, f"{line}\n{before}", 1)
        found, problems = citations.read("src/limit.rs", text)
        self.assertEqual(problems, [])
        return list(citations.problems(ROWS, found))

    def test_what_a_citation_says_is_what_the_row_says(self):
        self.assertEqual(self.disagree(("    #[inline]", "    //= rfc9000-4.1-1: the limit holds")), [])
        self.assertEqual(self.disagree(("    #[inline]", "    //= rfc9000-4.1-10 (not done): somebody says so")), [])
        for line in "rfc9000-4.1-1: it holds", "rfc9000-4.1-1 (not done): the limit holds", "rfc9000-4.1-10: somebody says so":
            self.assertIn("--update", self.disagree(("    #[inline]", f"    //= {line}"))[0])

    def test_a_citation_has_a_row_and_is_there_once(self):
        self.assertIn("no row", self.disagree(("    #[inline]", "    //= rfc9000-4.1-3: the limit holds"))[0])
        self.assertIn("no row", self.disagree(("    #[test]", "    //= rfc9000-4.1-1, rfc9000-4.1-3"))[0])
        twice = "    //= rfc9000-4.1-1: the limit holds"
        self.assertIn("a second time", self.disagree(("    #[inline]", twice), ("            _ =>", f"        {twice}"))[0])

    def test_the_status_of_a_row_says_who_cites_it(self):
        code, test = ["a.rs:1"], ["tests.rs:1"]
        right = {"tested": [(code, test)], "implemented": [(code, [])], "not-done": [([], []), (code, [])], "not-applicable": [([], [])]}
        for status, allowed in right.items():
            for places in [([], []), (code, []), ([], test), (code, test)]:
                problems = list(citations.row_problems({"status": status}, *places))
                self.assertEqual(problems == [], places in allowed, (status, places))


class Written(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "limit.rs").write_text(CODE)

    def placed(self, **keys):
        rows = {name: dict(row) for name, row in ROWS.items()}
        for name, (where, tests) in keys.items():
            rows[name.replace("_", "-").replace("p", ".")] |= {"where": where, "tests": tests}
        return citations.cite(self.root, rows)

    def test_rows_go_below_the_documentation_of_their_items(self):
        keys = {
            "rfc9000-4p1-2": (["limit.rs::Limit::check", "limit.rs"], []),
            "rfc9000-4p1-1": (["limit.rs::Limit::check", "limit.rs::Limit"], ["limit.rs::the_limit_holds"]),
        }
        for _ in range(2):
            self.assertEqual(self.placed(**keys), ({"rfc9000-4.1-1", "rfc9000-4.1-2"}, []))
            text = (self.root / "limit.rs").read_text()
            one, two = "//= rfc9000-4.1-1: the limit holds", "//= rfc9000-4.1-2: beyond it: FLOW_CONTROL_ERROR"
            self.assertIn(f"    /// Checks bytes.\n    {one}\n    {two}\n    #[inline]\n", text)
            self.assertIn(f"/// A limit.\n{one}\n#[derive(\n", text)
            self.assertIn("    /// It holds.\n    //= rfc9000-4.1-1\n    #[test]\n", text)
            self.assertTrue(text.startswith(f"//! Limits.\n{two}\n\n"))
        found, problems = citations.read("limit.rs", text)
        self.assertEqual((problems, list(citations.problems(ROWS, found))), ([], []))

    def test_a_row_whose_place_is_unclear_keeps_it(self):
        done, problems = self.placed(**{"rfc9000-4p1-1": (["limit.rs::fails"], []), "rfc9000-4p1-2": (["limit.rs::check"], [])})
        self.assertEqual(done, {"rfc9000-4.1-2"})
        self.assertEqual(problems, ["rfc9000-4.1-1: limit.rs: no item fails"])
        table = '["a-1-1"]\nsays = "x"\nwhere = ["limit.rs"]\n\n["a-1-2"]\nwhere = ["limit.rs"]\ntests = ["t"]\n'
        self.assertEqual(
            citations.without_places(table, {"a-1-2"}), '["a-1-1"]\nsays = "x"\nwhere = ["limit.rs"]\n\n["a-1-2"]\n'
        )

    def test_many_ids_take_several_lines(self):
        names = [f"rfc9000-10.3.2-{number}" for number in range(1, 20)]
        lines = citations.at_test("    ", names)
        self.assertTrue(len(lines) > 1 and all(len(line) <= citations.WIDTH for line in lines))
        found, problems = citations.read("a.rs", "\n".join([*lines, "    #[test]", "    fn one() {}"]))
        self.assertEqual(([name for citation in found for name in citation.ids], problems), (names, []))

    def test_update_writes_what_rows_say(self):
        (self.root / "limit.rs").write_text(with_line("#[inline]", "    //= rfc9000-4.1-10: nobody says so"))
        found, _ = citations.read("limit.rs", (self.root / "limit.rs").read_text())
        citations.update(self.root, ROWS, found)
        self.assertIn("    //= rfc9000-4.1-10 (not done): somebody says so\n", (self.root / "limit.rs").read_text())


if __name__ == "__main__":
    unittest.main()
