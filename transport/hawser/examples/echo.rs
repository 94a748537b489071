//! Sends a line over all links, and gets it back.
//!
//! ```text
//! cargo run -p hawser --example echo -- serve [::]:4433          # prints a pin
//! cargo run -p hawser --example echo -- send HOST:4433 PIN hello
//! ```

use std::error::Error;
use std::net::{SocketAddr, ToSocketAddrs};

use hawser::{ClientConfig, Endpoint, Identity, Incoming, Links, ServerConfig, Trust};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The application protocol (ALPN): both ends have to name the same.
const PROTOCOL: &str = "echo";
/// No line is longer than this many bytes.
const LONGEST: usize = 64 * 1024;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", address] => serve(address.parse()?).await,
        ["send", server, pin, line] => {
            println!("{}", send(server, pin, line).await?);
            Ok(())
        }
        _ => Err("usage: echo serve ADDRESS:PORT | echo send HOST:PORT PIN LINE".into()),
    }
}

/// Serves until the process ends. The certificate is new each time; `Identity::load_or_create` keeps one.
async fn serve(address: SocketAddr) -> Result<()> {
    let identity = Identity::self_signed(&["localhost"])?;
    let pin = identity.pin()?;
    let config = ServerConfig::builder(identity).alpn([PROTOCOL]).build()?;
    let server = Endpoint::server(config, address)?;
    println!("{} {pin}", server.listening()[0]);
    while let Some(incoming) = server.accept().await {
        tokio::spawn(async move {
            // A client that fails, in the handshake or later, ends its own task only.
            if let Err(error) = answer(incoming).await {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}

/// Sends back what each stream of a connection brings.
async fn answer(incoming: Incoming) -> Result<()> {
    let connection = incoming.await?;
    while let Ok((mut send, mut receive)) = connection.accept_bi().await {
        let line = receive.read_to_end(LONGEST).await?;
        send.write_all(&line).await?;
        send.finish()?;
    }
    Ok(())
}

/// Sends a line and returns the answer.
async fn send(server: &str, pin: &str, line: &str) -> Result<String> {
    let address = server.to_socket_addrs()?.next().ok_or("the name of the server has no address")?;
    let trust = Trust::Pins(vec![pin.parse()?]);
    let config = ClientConfig::builder().trust(trust).alpn([PROTOCOL]).build()?;
    let client = Endpoint::client(config, Links::All)?;
    let connection = client.connect(address, "localhost").await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(line.as_bytes()).await?;
    send.finish()?;
    let answer = receive.read_to_end(LONGEST).await?;
    connection.close(0, b"done");
    client.wait_idle().await;
    Ok(String::from_utf8(answer)?)
}
