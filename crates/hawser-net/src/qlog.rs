//! Traces of connections, one file each.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use hawser_core::QlogFactory;

/// Writes each connection's trace to `<original destination connection id>_<client|server>.sqlog` in `folder`, as
/// draft-ietf-quic-qlog-quic-events-13 section 1.1 suggests: both ends' traces of a connection have the same id.
pub(crate) fn in_folder(folder: PathBuf) -> QlogFactory {
    Arc::new(move |connection| {
        let end = if connection.side.is_client() { "client" } else { "server" };
        let path = folder.join(format!("{}_{end}.sqlog", connection.original_destination));
        match File::create(&path) {
            Ok(file) => Some(Box::new(BufWriter::new(file)) as Box<dyn Write + Send>),
            Err(error) => {
                tracing::warn!("no trace of a connection: cannot create {}: {error}", path.display());
                None
            }
        }
    })
}
