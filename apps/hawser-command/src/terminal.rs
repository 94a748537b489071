//! What a person sees: lines that were asked for on standard output, remarks and progress on standard error.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Why standard output lost something, if it did.
static LOST_OUTPUT: OnceLock<io::Error> = OnceLock::new();

/// Lines of a progress that are on the terminal, below everything else: whatever is printed takes their place, and they are
/// drawn again below it.
static DRAWN: Mutex<usize> = Mutex::new(0);

/// What erases them.
fn erase(drawn: &mut usize) -> String {
    let lines = std::mem::take(drawn);
    // The cursor may have left the first column: terminals echo `^C`.
    if lines == 0 { String::new() } else { format!("\r\x1b[{lines}A\x1b[J") }
}

/// Draws a progress of so many lines in the place of what was drawn before.
pub fn draw(text: &str, lines: usize) {
    let mut drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner);
    let text = erase(&mut drawn) + text;
    let _ = io::stderr().lock().write_all(text.as_bytes());
    *drawn = lines;
}

/// Erases the progress.
pub fn wipe() {
    draw("", 0);
}

/// Prints a line that was asked for. What is lost is told at the end, by [`lost_output`].
pub fn print(line: impl Display) {
    wipe();
    note_lost(writeln!(io::stdout(), "{line}"));
}

/// Takes note of a failure of standard output. A reader that has gone (`| head`) is none.
pub fn note_lost(result: io::Result<()>) {
    if let Err(error) = result
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        let _ = LOST_OUTPUT.set(error);
    }
}

/// Returns why something that was printed did not arrive, if that is so.
pub fn lost_output() -> Option<&'static io::Error> {
    note_lost(io::stdout().flush());
    LOST_OUTPUT.get()
}

/// Prints a line that accompanies what was asked for.
pub fn remark(line: impl Display) {
    draw(&format!("{line}\n"), 0);
}
