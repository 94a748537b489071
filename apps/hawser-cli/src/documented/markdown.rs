//! What of a page are commands.

/// A piece of a page that may contain commands.
pub(super) struct Snippet {
    /// Its first line in the page, from 1.
    pub(super) line: usize,
    pub(super) text: String,
}

/// The languages whose blocks are for a shell; blocks without a language are looked at as well.
const SHELLS: [&str; 5] = ["", "sh", "bash", "console", "shell"];

/// Blocks for a shell, and the spans of code outside of blocks.
pub(super) fn snippets(page: &str) -> Vec<Snippet> {
    let mut found = Vec::new();
    let mut block: Option<(&str, Snippet)> = None;
    let mut prose = Snippet { line: 1, text: String::new() };
    for (number, line) in page.lines().enumerate().map(|(at, line)| (at + 1, line)) {
        let fence = line.trim_start().strip_prefix("```");
        match (&mut block, fence) {
            (None, Some(info)) => {
                let language = info.split([' ', ',']).next().unwrap_or_default();
                block = Some((language, Snippet { line: number + 1, text: String::new() }));
                spans(&prose, &mut found);
            }
            (Some(_), Some(_)) => {
                found.extend(
                    block.take().filter(|(language, _)| SHELLS.contains(language)).map(|(_, text)| text),
                );
                prose = Snippet { line: number + 1, text: String::new() };
            }
            (Some((_, snippet)), None) => snippet.text.extend([line, "\n"]),
            (None, None) if line.trim().is_empty() => {
                spans(&prose, &mut found);
                prose = Snippet { line: number + 1, text: String::new() };
            }
            (None, None) => prose.text.extend([line, "\n"]),
        }
    }
    spans(&prose, &mut found);
    found
}

/// The spans between single backticks of a paragraph; they may go on in the next line.
fn spans(paragraph: &Snippet, found: &mut Vec<Snippet>) {
    let mut line = paragraph.line;
    for (at, piece) in paragraph.text.split('`').enumerate() {
        if at % 2 == 1 {
            found.push(Snippet { line, text: piece.replace('\n', " ") });
        }
        line += piece.matches('\n').count();
    }
}
