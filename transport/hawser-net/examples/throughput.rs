//! Sends a gibibyte over loopback from one process to another and says how long that took.
//!
//! ```text
//! cargo run --release --example throughput -- serve 4433 &
//! cargo run --release --example throughput -- fetch 127.0.0.1:4433
//! ```

use std::net::SocketAddr;
use std::time::Instant;

use bytes::Bytes;
use hawser_net::{ClientConfig, Endpoint, Identity, Incoming, Links, ServerConfig, Trust};

const TOTAL: usize = 1 << 30;

type Error = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", port] => serve(format!("[::]:{port}").parse()?).await,
        ["fetch", address] => fetch(address.parse()?).await,
        _ => Err("usage: throughput serve PORT | throughput fetch ADDRESS:PORT".into()),
    }
}

async fn serve(address: SocketAddr) -> Result<(), Error> {
    let identity = Identity::self_signed(&["localhost"])?;
    let endpoint = Endpoint::server(ServerConfig::builder(identity).build()?, address)?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            if let Err(error) = send(incoming).await {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}

async fn send(incoming: Incoming) -> Result<(), Error> {
    let connection = incoming.await?;
    let mut stream = connection.open_uni().await?;
    let chunk = Bytes::from(vec![7; 64 << 10]);
    for _ in 0..TOTAL / chunk.len() {
        stream.write_chunk(chunk.clone()).await?;
    }
    stream.finish()?;
    connection.closed().await;
    println!("sender: {:?}", connection.stats());
    println!("sender: {:?}", connection.path_stats(hawser_net::policy::PathId::ZERO));
    Ok(())
}

async fn fetch(address: SocketAddr) -> Result<(), Error> {
    let config = ClientConfig::builder().trust(Trust::Insecure).build()?;
    let endpoint = Endpoint::client(config, Links::All)?;
    let connection = endpoint.connect(address, "localhost").await?;
    let mut stream = connection.accept_uni().await?;
    let started = Instant::now();
    let mut received = 0;
    while let Some(chunk) = stream.read_chunk(usize::MAX).await? {
        received += chunk.len();
    }
    let seconds = started.elapsed().as_secs_f64();
    println!("{received} bytes in {seconds:.2} s: {:.2} Gbit/s", received as f64 * 8e-9 / seconds);
    connection.close(0, b"done");
    endpoint.wait_idle().await;
    Ok(())
}
