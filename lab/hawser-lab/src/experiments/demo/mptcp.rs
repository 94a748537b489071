//! The kernel's MPTCP as a server process and a client process, measured by the same rules as Hawser.

use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Instant;

use hawser_emu::mptcp::{FetchOptions, Server, Transport, fetch};

use super::arrivals::Arrivals;
use super::run_result::ClientReport;

/// Sends the file to one client; prints a line when it can come.
///
/// # Errors
/// When the kernel has no MPTCP or no CUBIC, the port is taken, or the file cannot be read.
pub fn serve(port: u16, file: &Path) -> io::Result<()> {
    let content = std::fs::read(file)?.into();
    let server = Server::bind(port, Transport::Mptcp)?;
    println!("listening on port {}", server.port()?);
    server.serve(&content, 1)
}

/// Fetches what the server sends into a file and prints a [`ClientReport`].
///
/// # Errors
/// When the connection or the file fails, or the connection fell back to plain TCP.
pub fn get(server: SocketAddr, output: &Path) -> io::Result<()> {
    let options = FetchOptions { server, transport: Transport::Mptcp, device: None };
    let mut sink = Sink { file: File::create(output)?, began: Instant::now(), arrivals: Arrivals::default() };
    let fetched = fetch(&options, &mut sink)?;
    if fetched.fallback {
        return Err(io::Error::other("the connection fell back to plain TCP"));
    }
    let arrivals = sink.arrivals;
    let report = ClientReport {
        bytes: arrivals.bytes(),
        seconds: arrivals.duration().as_secs_f64(),
        longest_stall_ms: arrivals.longest_stall().as_secs_f64() * 1e3,
        longest_stall_at_seconds: arrivals.stalled_at().as_secs_f64(),
        bins: arrivals.into_bins(),
        subflows: Some(fetched.subflows),
        paths: Vec::new(),
    };
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// Notes when pieces arrive and writes them to the file.
struct Sink {
    file: File,
    began: Instant,
    arrivals: Arrivals,
}

impl Write for Sink {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.arrivals.record(self.began.elapsed(), piece.len() as u64);
        self.file.write_all(piece)?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
