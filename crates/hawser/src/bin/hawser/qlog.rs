//! One qlog file per connection.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use hawser::QlogFactory;

/// Traces go to new files in the folder, named as is usual: `ID_client.sqlog`, where both ends have the same ID.
pub(crate) fn files_in(folder: PathBuf) -> QlogFactory {
    Arc::new(move |connection| {
        let side = if connection.side.is_server() { "server" } else { "client" };
        let path = folder.join(format!("{}_{side}.sqlog", connection.original_destination));
        match File::create(&path) {
            Ok(file) => Some(Box::new(BufWriter::new(file)) as Box<dyn Write + Send>),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "no trace of this connection");
                None
            }
        }
    })
}
