//! A file over kernel MPTCP or TCP, with CUBIC:
//! `mptcp_fetch serve PORT FILE|SIZE_MIB CLIENTS [--tcp]` and
//! `mptcp_fetch get ADDRESS:PORT [--tcp] [--device IFACE] [--output FILE]` (prints JSON).

use std::fs::File;
use std::io::{self, Read, Write};
use std::process::ExitCode;

use hawser_emu::mptcp::{FetchOptions, Server, Transport, fetch};

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let tcp = take_flag(&mut arguments, "--tcp");
    let device = take_value(&mut arguments, "--device");
    let output = take_value(&mut arguments, "--output");
    let transport = if tcp { Transport::Tcp } else { Transport::Mptcp };
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["serve", port, source, clients] => serve(port, source, clients, transport),
        ["get", server] => get(server, transport, device, output),
        _ => Err(invalid(
            "usage: mptcp_fetch serve PORT FILE|MIB CLIENTS [--tcp] | get ADDRESS:PORT [--tcp] [--device IFACE] [--output FILE]",
        )),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mptcp_fetch: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(port: &str, source: &str, clients: &str, transport: Transport) -> io::Result<()> {
    let mut content = Vec::new();
    match source.parse::<u64>() {
        Ok(mebibytes) => File::open("/dev/urandom")?.take(mebibytes << 20).read_to_end(&mut content)?,
        Err(_) => File::open(source)?.read_to_end(&mut content)?,
    };
    let port = port.parse().map_err(|_| invalid("PORT must be a number"))?;
    let clients = clients.parse().map_err(|_| invalid("CLIENTS must be a number"))?;
    Server::bind(port, transport)?.serve(&content.into(), clients)
}

fn get(server: &str, transport: Transport, device: Option<String>, output: Option<String>) -> io::Result<()> {
    let server = server.parse().map_err(|_| invalid("expected ADDRESS:PORT"))?;
    let mut sink: Box<dyn Write> = match output {
        Some(path) => Box::new(File::create(path)?),
        None => Box::new(io::sink()),
    };
    let report = fetch(&FetchOptions { server, transport, device }, &mut sink)?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

fn take_flag(arguments: &mut Vec<String>, name: &str) -> bool {
    let before = arguments.len();
    arguments.retain(|argument| argument != name);
    arguments.len() < before
}

fn take_value(arguments: &mut Vec<String>, name: &str) -> Option<String> {
    let index = arguments.iter().position(|argument| argument == name)?;
    arguments.remove(index);
    (index < arguments.len()).then(|| arguments.remove(index))
}
