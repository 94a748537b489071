"""Citations of requirements in Rust: part of scripts/requirements.

A citation is a comment on a line of its own, above an item or within a function:

    //= rfc9000-4.1-2: data beyond a limit: FLOW_CONTROL_ERROR      at code: the id of a row, and what the row says
    //= rfc9000-3.5-1 (not done): a reader that stops reading sends STOP_SENDING
    //= rfc9000-4.1-2, rfc9000-4.1-3                                at a test: the ids of the rows that it shows

`//=` is the mark of duvet, which cites the sentence itself below it. Here the id stands for the sentence.
"""

import re
import subprocess
from typing import NamedTuple

# Columns of a line: max_width of rustfmt.toml.
WIDTH = 110
NOT_DONE = " (not done)"
ID = r"[a-z][a-z0-9-]*-[0-9A-Z][0-9.]*-[0-9]+"
AT_CODE = re.compile(rf"({ID})( \(not done\))?: (\S.*)")
AT_TEST = re.compile(rf"{ID}(?:, {ID})*,?")
MARK = re.compile(r"\s*//=")
ITEM = re.compile(
    r"""\s*(?:pub(?:\([^)]*\))?\s+)?(?:(?:default|const|async|unsafe|extern(?:\s+"[^"]*")?)\s+)*"""
    r"""(?:(?:fn|struct|enum|union|trait|type|const|static|mod|macro_rules!)\s+(\w+)|impl\b)"""
)
CONTINUED = re.compile(r"\s*(?:\)|\{|where\b|\} else\b)")
TEST = re.compile(r"\s*#\[(?:tokio::)?test\b")


class Citation(NamedTuple):
    file: str
    line: int
    # The line and name of the item that it is about: the file, if it is about none.
    at: int | None
    item: str
    test: bool
    ids: tuple
    # What it says of the row, and whether it says that the row is not done; None at a test.
    says: str | None
    not_done: bool

    def __str__(self):
        return f"{self.file}:{self.line}"


def indent(line):
    return len(line) - len(line.lstrip())


def attribute(lines, at):
    """The line where the attribute begins that ends in line `at`, or None."""
    text = lines[at].strip() if at >= 0 else ""
    if text.startswith("#["):
        return at
    if text.endswith("]"):
        for begin in range(at - 1, max(at - 12, -1), -1):
            if lines[begin].strip().startswith("#[") and indent(lines[begin]) == indent(lines[at]):
                return None if lines[begin].strip().endswith("]") else begin
    return None


def top(lines, item):
    """The first line of what belongs to an item: its documentation, citations and attributes."""
    at = item
    while at > 0:
        if lines[at - 1].strip().startswith("//"):
            at -= 1
        elif (begin := attribute(lines, at - 1)) is not None:
            at = begin
        else:
            break
    return at


def below(lines, at):
    """The first line after comments and attributes from line `at` on."""
    while at < len(lines):
        text = lines[at].strip()
        if text.startswith("//"):
            at += 1
        elif text.startswith("#["):
            at = next((end for end in range(at, len(lines)) if lines[end].strip().endswith("]")), len(lines)) + 1
        else:
            return at
    return len(lines)


def item_of(lines, at):
    """The line of the item that a citation in line `at` is about: the one below it, else the one around it; None for the file."""
    item = below(lines, at)
    if item < len(lines) and ITEM.match(lines[item]):
        return item
    depth = indent(lines[at])
    for line in range(at - 1, -1, -1):
        text = lines[line]
        if not text.strip() or text.strip().startswith("//"):
            continue
        if indent(text) < depth:
            if ITEM.match(text):
                return line
            # `) -> bool {` and the like end what begins further above with the same indentation.
            depth = indent(text) + bool(CONTINUED.match(text))
    return None


def name_of(text):
    return ITEM.match(text)[1] or text.strip().rstrip(" {")


def read(file, text):
    """The citations of a file, then the problems of lines that look like one."""
    lines, found, problems = text.splitlines(), [], []
    for number, line in enumerate(lines):
        if not MARK.match(line):
            continue
        place, content = f"{file}:{number + 1}", line.strip().removeprefix("//=").strip()
        item = item_of(lines, number)
        test = item is not None and any(TEST.match(part) for part in lines[top(lines, item) : item])
        name = name_of(lines[item]) if item is not None else ""
        if len(line) > WIDTH:
            problems.append(f"{place}: the citation has more than {WIDTH} columns")
        if match := AT_CODE.fullmatch(content):
            found.append(Citation(file, number + 1, item, name, test, (match[1],), match[3], bool(match[2])))
            if test:
                problems.append(f"{place}: a test is cited by ids alone: `//= {match[1]}`")
            elif re.search(r"(^|/)tests?(/|\.rs$)", file):
                problems.append(f"{place}: {name or 'the file'} is no test: cite from the test function, by ids alone")
        elif AT_TEST.fullmatch(content):
            found.append(Citation(file, number + 1, item, name, test, tuple(content.rstrip(",").split(", ")), None, False))
            if not test:
                problems.append(f"{place}: {name or 'the file'} is no test: a citation at code is `//= id: what the row says`")
        else:
            problems.append(f"{place}: expected `//= id: what the row says`, or ids at a test")
    return found, problems


def all_citations(root):
    """Those of every Rust file that git does not ignore, and their problems."""
    listed = subprocess.run(
        ["git", "grep", "--untracked", "-l", "-E", r"^[[:space:]]*//=", "--", "*.rs"], cwd=root, stdout=subprocess.PIPE, text=True
    )
    if listed.returncode > 1:
        raise SystemExit("scripts/requirements: git grep failed: a checkout of git is needed")
    found, problems = [], []
    for file in listed.stdout.splitlines():
        more, wrong = read(file, (root / file).read_text())
        found += more
        problems += wrong
    return found, problems


def by_row(citations):
    """id -> (places of code, places of tests)."""
    places = {}
    for citation in citations:
        for name in citation.ids:
            places.setdefault(name, ([], []))[citation.test].append(citation)
    return places


def problems(rows, citations):
    """Where citations and rows disagree."""
    for citation in citations:
        for name in citation.ids:
            row = rows.get(name)
            if row is None:
                yield f"{citation}: there is no row {name}"
            elif citation.says is not None and not agrees(citation, row):
                yield f"{citation}: the row {name} says `{row.get('says')}`, status {row.get('status')}: run scripts/requirements --update"
    seen = set()
    for citation in citations:
        for name in citation.ids:
            if (name, citation.file, citation.at) in seen:
                yield f"{citation}: {name} is cited a second time in {citation.item or 'the file'}"
            seen.add((name, citation.file, citation.at))


def row_problems(row, code, tests):
    """What a row's status demands of its citations."""
    status = row["status"]
    if status in ("tested", "implemented") and not code:
        yield f"{status}, but no code cites it"
    if status == "tested" and not tests:
        yield "tested, but no test cites it"
    if status == "not-applicable" and code:
        yield f"{status}, but {code[0]} cites it"
    if status != "tested" and tests:
        yield f"{status}, but the test at {tests[0]} cites it"


def agrees(citation, row):
    return citation.says == row.get("says") and citation.not_done == (row.get("status") == "not-done")


def at_code(space, name, row):
    return f"{space}//= {name}{NOT_DONE if row['status'] == 'not-done' else ''}: {row['says']}"


def at_test(space, names):
    """Lines of ids, each within the width."""
    lines, held = [], ""
    for name in names:
        if held and len(f"{space}//= {held}, {name},") > WIDTH:
            lines.append(f"{space}//= {held},")
            held = name
        else:
            held = f"{held}, {name}" if held else name
    return [*lines, f"{space}//= {held}"]


def update(root, rows, citations):
    """Writes into each citation at code what its row says now."""
    changed = {}
    for citation in citations:
        row = rows.get(citation.ids[0])
        if row is not None and citation.says is not None and not agrees(citation, row):
            changed.setdefault(citation.file, []).append((citation.line - 1, citation.ids[0], row))
    for file, places in changed.items():
        lines = (root / file).read_text().split("\n")
        for number, name, row in places:
            lines[number] = at_code(lines[number][: indent(lines[number])], name, row)
        (root / file).write_text("\n".join(lines))


# From rows that name their places to citations there.


def find(lines, name):
    """The line of the item `name`, `Type::name` or, of the module itself, `self::name`; or what is wrong."""
    kind, _, last = name.rpartition("::")
    item = re.compile(rf"\s*[^/\"]*\b(?:fn|struct|enum|union|trait|type|const|static)\s+{re.escape(last)}\b")
    found = [at for at, line in enumerate(lines) if item.match(line)]
    if kind:
        within = (lambda at: indent(lines[at]) == 0) if kind == "self" else (lambda at: re.search(rf"\b{kind}\b", around(lines, at)))
        found = [at for at in found if within(at)]
    if len(found) == 1:
        return found[0], None
    return None, f"no item {name}" if not found else f"{len(found)} items {name}: name it as Type::{last}, or cite it by hand"


def around(lines, at):
    """The beginning of what is around line `at`, such as `impl Type {`."""
    return next((lines[line] for line in range(at, -1, -1) if lines[line].strip() and indent(lines[line]) < indent(lines[at])), "")


def insert(lines, item, names, rows, test):
    """Puts citations below the documentation of an item, above its attributes; of the file, if there is no item."""
    if item is None:
        at = next((n for n, line in enumerate(lines) if not line.startswith(("//!", "//="))), len(lines))
        space = ""
    else:
        at, space = item, lines[item][: indent(lines[item])]
        while (begin := attribute(lines, at - 1)) is not None:
            at = begin
    begin = at
    while begin > 0 and MARK.match(lines[begin - 1]):
        begin -= 1
    held = {name for line in lines[begin:at] for name in re.findall(ID, line.split(": ", 1)[0])}
    order = [name for name in rows if name in held or name in names]
    block = at_test(space, order) if test else [at_code(space, name, rows[name]) for name in order]
    if item is None and at < len(lines) and lines[at].strip():
        block.append("")
    lines[begin:at] = block


def cite(root, rows):
    """Cites each row at its `where` and `tests`. Returns the ids of the rows that are cited, and problems."""
    files, failed, wrong = {}, set(), []
    for name, row in rows.items():
        for key in ("where", "tests"):
            for place in row.get(key, []):
                file, _, item = place.partition("::")
                files.setdefault(file, {}).setdefault((item, key == "tests"), []).append(name)
    for file, places in files.items():
        path = root / file
        lines = path.read_text().split("\n") if path.is_file() else None
        for (item, test), names in places.items():
            at, problem = (None, "no such file") if lines is None else find(lines, item) if item else (None, None)
            if problem:
                wrong.append(f"{', '.join(names)}: {file}: {problem}")
                failed.update(names)
            else:
                insert(lines, at, names, rows, test)
        if lines is not None:
            path.write_text("\n".join(lines))
    return {name for name, row in rows.items() if (row.keys() & {"where", "tests"}) and name not in failed}, wrong


def without_places(text, names):
    """A table's text without the keys `where` and `tests` of these rows."""
    kept, row = [], None
    for line in text.split("\n"):
        if match := re.match(r'\["(.+)"\]\s*$', line):
            row = match[1]
        if not (row in names and re.match(r"(where|tests) = \[.*\]\s*$", line)):
            kept.append(line)
    return "\n".join(kept)
