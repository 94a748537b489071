//! The server: each stream asks for a file.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::Error;
use crate::options::Serve;
use crate::stacks::{Connection, Handshake, Refuse, Server, Streams};

/// Most bytes of a request.
const MAX_REQUEST: u64 = 4096;

/// Serves until the process is killed.
pub(crate) async fn run<S: Server>(mut server: S, options: &Serve) -> Result<(), Error> {
    let folder: Arc<Path> = options.folder.as_path().into();
    println!("{}", json!({ "port": server.local_address()?.port() }));
    while let Some(handshake) = server.accept().await {
        let folder = folder.clone();
        tokio::spawn(async move {
            if let Err(error) = converse(handshake, folder).await {
                eprintln!("handshake: {error}");
            }
        });
    }
    Ok(())
}

async fn converse<C: Connection>(handshake: Handshake<C>, folder: Arc<Path>) -> Result<(), Error> {
    let mut connection = handshake.await?;
    while let Some(streams) = connection.accept().await {
        let folder = folder.clone();
        tokio::spawn(async move {
            if let Err(error) = respond::<C>(streams, &folder).await {
                eprintln!("request: {error}");
            }
        });
    }
    Ok(())
}

async fn respond<C: Connection>((mut send, receive): Streams<C>, folder: &Path) -> Result<(), Error> {
    let mut request = String::new();
    receive.take(MAX_REQUEST).read_to_string(&mut request).await?;
    let content = file_name(&request).and_then(|name| std::fs::read(folder.join(name)).ok());
    eprintln!("{} {:?}", request.trim_end(), content.as_ref().map(Vec::len));
    match content {
        Some(content) => {
            send.write_all(&content).await?;
            send.shutdown().await?;
        }
        None => send.refuse(),
    }
    Ok(())
}

/// The file that is asked for. Only names directly in the folder: nothing else is asked for.
fn file_name(request: &str) -> Option<&str> {
    let name = request.strip_prefix("GET /")?.trim_end();
    (!name.is_empty() && !name.contains('/') && name != "..").then_some(name)
}
