//! What policies note: it waits for the next record, since they are called in the midst of the connection's work.

use hawser_policy::{Figure, Note, Notes, TraceSink};

use super::json::Json;

/// Notes that wait; a connection that comes to no record meanwhile has no more.
const MAX_WAITING: usize = 1024;

/// Notes between two records.
#[derive(Debug)]
pub(super) struct WaitingNotes(Notes);

impl Default for WaitingNotes {
    fn default() -> Self {
        WaitingNotes(Notes::at_most(MAX_WAITING))
    }
}

impl WaitingNotes {
    pub(super) fn take(&self) -> Vec<Note> {
        self.0.take()
    }
}

impl TraceSink for WaitingNotes {
    /// Records have windows and rates of controllers already.
    fn wants(&self, name: &str) -> bool {
        !name.starts_with("controller.")
    }

    fn note(&self, note: &Note) {
        self.0.note(note);
    }
}

/// The data of `hawser:policy`.
pub(super) fn write_note(json: &mut Json, note: &Note) {
    json.text("note", note.name);
    if let Some(path) = note.path {
        json.number("path_id", u64::from(path.0));
    }
    json.member("values", |json| {
        for values in note.values.chunk_by(|(one, _), (other, _)| one == other) {
            match values {
                [(name, Figure::Word(word))] => json.text(name, word),
                [(name, Figure::Number(value))] => json.float(name, *value),
                [(name, _), ..] => {
                    json.array(name, |json| values.iter().for_each(|(_, it)| element(json, *it)))
                }
                _ => {}
            }
        }
    });
}

fn element(json: &mut Json, figure: Figure) {
    match figure {
        Figure::Word(word) => json.text_element(word),
        Figure::Number(value) => json.float_element(value),
        _ => {}
    }
}
