//! What a server says about where it listens and who it is.

use std::net::SocketAddr;

use super::Serve;
use hawser::{Endpoint, Identity, PreferredAddresses};
use hawser_command::exit::Failure;
use hawser_command::output::Output;
use hawser_command::report::Channel;
use hawser_command::server::suggested_host;

/// The addresses of both families, of each one at most.
pub(super) fn preferred_addresses(addresses: &[SocketAddr]) -> Result<PreferredAddresses, Failure> {
    let mut preferred = PreferredAddresses::default();
    for address in addresses {
        let is_usable = !address.ip().is_unspecified() && address.port() != 0;
        let is_first = match address {
            SocketAddr::V4(address) => preferred.ipv4.replace(*address).is_none(),
            SocketAddr::V6(address) => preferred.ipv6.replace(*address).is_none(),
        };
        if !is_usable || !is_first {
            return Err(Failure::usage(format!(
                "--preferred-address {address}: expected one address and port for each of IPv4 and IPv6, which clients can \
                 reach"
            )));
        }
    }
    Ok(preferred)
}

/// Says where the server is and how to reach it.
pub(super) fn announce(
    arguments: &Serve,
    endpoint: &Endpoint,
    identity: &Identity,
    own: bool,
    output: Output,
) -> Result<(), Failure> {
    let pin = identity.pin()?;
    let port = endpoint.listening().first().map_or(0, SocketAddr::port);
    let host = suggested_host(endpoint.listening());
    let host = if host.is_ipv6() { format!("[{host}]") } else { host.to_string() };
    let host = if own { host } else { "NAME".to_owned() };
    let url = format!("https://{host}:{port}/");
    if output.json {
        let listening: Vec<String> = endpoint.listening().iter().map(SocketAddr::to_string).collect();
        Channel::Stdout.print(
            &serde_json::json!({ "listening": listening, "port": port, "pin": pin.to_string(), "url": url }),
        );
    }
    output.remark(format_args!("serving {} on UDP port {port}", arguments.folder.display()));
    let trust = if own { format!(" --pin '{pin}'") } else { String::new() };
    output.remark(format_args!("  hawser get{trust} -O {url}FILE"));
    if arguments.allow_put {
        let shown = if arguments.client_ca.is_some() { " --client-cert CERT --client-key KEY" } else { "" };
        output.remark(format_args!("  hawser put{trust}{shown} FILE {url}"));
    }
    Ok(())
}
