//! Files that are replaced as a whole, and drafts of files that are not complete.
//!
//! No file of the user is lost on the way to a new one:
//!
//! * A [`Place`] is where a file goes: behind symbolic links, with what stays of the file that is there (mode, owner, the
//!   other names of a file with several hard links).
//! * A [`Replacement`] is written under a name that only it has and takes its place when it is whole.
//! * A [`Draft`] may outlive the process. A note says which file it is a draft of, and proves that it is one: what merely
//!   has the name of a draft belongs to somebody else and is left alone.
//!
//! Where the folder does not let us create files, a file that may be written is written in place.
//!
//! ```
//! # fn main() -> std::io::Result<()> {
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("settings");
//! std::fs::write(&path, "old")?;
//! hawser_files::write(&path, b"new")?;
//! assert_eq!(std::fs::read(&path)?, b"new");
//! assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
//! # Ok(())
//! # }
//! ```

mod draft;
mod names;
mod note;
mod place;
mod replacement;

pub use draft::{Draft, DraftError};
pub use names::{is_unfinished, put_aside};
pub use note::About;
pub use place::{Appeared, Identity, Place, is_denied};
pub use replacement::{Replacement, write};
