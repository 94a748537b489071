//! What says that a file is a draft, and of what.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

/// What the writer of a draft notes about its content, such as the version of what it is a draft of.
pub type About = BTreeMap<String, String>;

/// Bytes of a note. Those that are longer are none.
const MAX_NOTE: u64 = 64 << 10;

/// The content of a note.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Note {
    /// The name of the file that it is a draft of.
    hawser_draft_of: String,
    /// What shows that the draft is the file that was made with the note, and not one that took its name: its inode, and the
    /// nanoseconds from 1970 until it was made, where the file system knows them.
    inode: u64,
    made: Option<u64>,
    /// What its writer says.
    #[serde(default)]
    pub(crate) about: About,
}

impl Note {
    pub(crate) fn of(name: &OsStr, draft: &Metadata, about: About) -> Note {
        Note {
            hawser_draft_of: name.to_string_lossy().into_owned(),
            inode: draft.ino(),
            made: made(draft),
            about,
        }
    }

    /// Whether it is about a draft of a file of this name.
    pub(crate) fn is_about(&self, name: &OsStr) -> bool {
        self.hawser_draft_of == name.to_string_lossy()
    }

    /// Whether it was made with this file.
    pub(crate) fn proves(&self, draft: &Metadata) -> bool {
        draft.is_file() && draft.ino() == self.inode && (self.made.is_none() || made(draft) == self.made)
    }

    /// Reads a note.
    pub(crate) fn parse(text: &str) -> Option<Note> {
        serde_json::from_str(text).ok()
    }

    /// Writes the note over an earlier one: in one piece and never shorter, so that a killed process leaves a whole one.
    pub(crate) fn write(&self, file: &File) -> io::Result<()> {
        let before = usize::try_from(file.metadata()?.len().min(MAX_NOTE)).unwrap_or(0);
        let mut text = serde_json::to_vec(self)?;
        text.push(b'\n');
        let length = text.len().max(before);
        text.resize(length, b'\n');
        file.write_all_at(&text, 0)
    }
}

/// The text of a file that may be a note.
pub(crate) fn text_of(mut file: &File) -> Option<String> {
    let is_short = file.metadata().is_ok_and(|known| known.is_file() && known.len() <= MAX_NOTE);
    let mut text = String::new();
    (is_short && file.rewind().is_ok() && file.take(MAX_NOTE).read_to_string(&mut text).is_ok())
        .then_some(text)
}

fn made(draft: &Metadata) -> Option<u64> {
    let since = draft.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok()
}
