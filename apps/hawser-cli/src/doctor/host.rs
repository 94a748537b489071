//! The way to a host: UDP at all, datagram sizes, ECN, and how long a NAT remembers.
//!
//! What a client sees is in its trace: a server that is reached from a new address asks for a proof of it (RFC 9000, section 8.2), so
//! such a question after a silence tells that a NAT forgot the old one.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;
use hawser::{ClientConfig, Connection, Endpoint, Links, PathInfo, QlogAddresses, default_transport};
use serde_json::Value;

use super::{Finding, Findings};
use hawser_command::exit::{Exit, Failure};
use hawser_command::options::ServerTrust;
use hawser_command::session::resolve;

/// Silences that are tried, in seconds. Servers give up clients that are silent for 30 s.
const SILENCES: [u64; 4] = [5, 10, 18, 27];
/// How long the handshake may take.
const PATIENCE: Duration = Duration::from_secs(8);
/// How long paths, datagram sizes and ECN are tried.
const SETTLING: Duration = Duration::from_secs(3);
/// How long a server may take to ask for a proof, in milliseconds.
const REACTION: f64 = 2_000.0;
/// A path that carries no larger datagrams than this is narrow: IPv6 has 1280-byte packets at least.
const NARROW: u64 = 1_280;
/// A stream type that HTTP/3 endpoints pass over (RFC 9114, section 6.2.3): its bytes call for an acknowledgement, nothing else.
const NOTHING: [u8; 1] = [0x21];

/// Which host, and how it is known.
#[derive(Args, Debug)]
pub(super) struct HostOptions {
    /// Look at the way to this HTTP/3 server as well: HOST or HOST:PORT. It takes some seconds, and --silence more
    #[arg(value_name = "HOST[:PORT]")]
    pub(super) host: Option<String>,
    /// The longest silence after which it is asked whether a NAT still knows the connection, in seconds; 0: none
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=27))]
    silence: u64,
    /// Whom to believe
    #[command(flatten)]
    trust: ServerTrust,
}

/// Checks the way to the host. Runs a runtime of its own.
pub(super) fn check(host: &str, options: &HostOptions, findings: &mut Findings) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(1).build();
    let runtime = runtime.map_err(|error| Failure::new(Exit::Failure, format!("cannot start: {error}")))?;
    let looked = runtime.block_on(look(host, options, findings));
    runtime.shutdown_background();
    looked
}

async fn look(host: &str, options: &HostOptions, findings: &mut Findings) -> Result<(), Failure> {
    let (name, port) = split(host)?;
    let address =
        *resolve(name, port).await?.first().ok_or_else(|| Failure::usage("the host has no address"))?;
    let folder = tempfile::tempdir().map_err(|error| Failure::write(&std::env::temp_dir(), &error))?;
    let transport = default_transport().with(|transport| {
        transport.keep_alive_interval = None;
        transport.max_idle_timeout = Some(Duration::from_secs(60));
    });
    let config = ClientConfig::builder()
        .trust(options.trust.trust()?)
        .alpn(["h3"])
        .transport(transport)
        .qlog_directory(folder.path())
        // They name the links in what is found; the folder goes when that is said.
        .qlog_addresses(QlogAddresses::Full)
        .build()?;
    let endpoint = Endpoint::client(config, Links::All)?;
    let began = Instant::now();
    let connected = tokio::time::timeout(PATIENCE, endpoint.connect(address, name)).await;
    let connection = match connected {
        Ok(Ok(connection)) => connection,
        Ok(Err(error)) => {
            findings.add(unreachable(address, &error.to_string()).await);
            return Ok(());
        }
        Err(_) => {
            let why = format!("{address} gives no answer within {} s", PATIENCE.as_secs());
            findings.add(unreachable(address, &why).await);
            return Ok(());
        }
    };
    let milliseconds = began.elapsed().as_millis();
    let found = format!("{address} answers within {milliseconds} ms");
    findings.add(Finding::ok(&format!("UDP to {host}"), found));
    tokio::time::sleep(SETTLING).await;
    findings.extend(sizes(sizes_now(&connection)));
    let mut wakes = Vec::new();
    for seconds in SILENCES.into_iter().filter(|seconds| *seconds <= options.silence) {
        findings
            .output
            .remark(format_args!("hawser: silent for {seconds} s, after which a NAT may have forgotten ..."));
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        if connection.close_reason().is_some() {
            break;
        }
        wakes.push((seconds, began.elapsed().as_secs_f64() * 1e3));
        say_nothing(&connection).await;
        tokio::time::sleep(Duration::from_millis(REACTION as u64)).await;
    }
    connection.close(0x100, b"");
    let _ = tokio::time::timeout(PATIENCE, endpoint.wait_idle()).await;
    let records = records(folder.path());
    findings.extend(ecn(&records));
    findings.extend(memory(&records, &wakes));
    Ok(())
}

/// The own address of each path, and how large its datagrams are by now.
fn sizes_now(connection: &Connection) -> Vec<(String, u64)> {
    let size = |path: PathInfo| {
        let stats = connection.path_stats(path.id)?;
        Some((path.tuple.local.ip().to_string(), u64::from(stats.mtu)))
    };
    connection.paths().into_iter().filter_map(size).collect()
}

/// Host and port, which is 443 if it is not said.
fn split(host: &str) -> Result<(&str, u16), Failure> {
    let bare = |name: &'_ str| name.trim_matches(['[', ']']).len();
    match host.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => {
            let port = port.parse().map_err(|_| Failure::usage(format!("`{port}` is no port")))?;
            let begin = usize::from(name.starts_with('['));
            Ok((&name[begin..begin + bare(name)], port))
        }
        _ => {
            let begin = usize::from(host.starts_with('['));
            Ok((&host[begin..begin + bare(host)], 443))
        }
    }
}

async fn say_nothing(connection: &Connection) {
    if let Ok(mut stream) = connection.open_uni().await {
        let _ = stream.write_all(&NOTHING).await;
        let _ = stream.finish();
    }
}

/// Nobody answers: whether the host is there at all.
async fn unreachable(address: SocketAddr, why: &str) -> Finding {
    let tcp = tokio::time::timeout(Duration::from_secs(3), tokio::net::TcpStream::connect(address)).await;
    let is_there = match &tcp {
        Ok(Ok(_)) => true,
        Ok(Err(error)) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        Err(_) => false,
    };
    let meaning = if is_there {
        "it answers over TCP: a firewall on the way drops UDP, or no server listens there"
    } else {
        "it does not answer over TCP either: it is down, or a firewall drops everything"
    };
    let port = address.port();
    Finding::bad(
        "UDP to the host",
        format!("{why}; {meaning}"),
        format!("nft list ruleset | grep -n udp   # here and there: UDP to and from port {port} must pass"),
    )
}

/// The records of the only trace in a folder.
fn records(folder: &Path) -> Vec<Value> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let text = files.filter_map(|file| fs::read_to_string(file.path()).ok()).next().unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line.trim_start_matches('\x1e')).ok()).collect()
}

fn of_kind<'a>(records: &'a [Value], kind: &'a str) -> impl DoubleEndedIterator<Item = &'a Value> {
    records.iter().filter(move |record| record.get("name").and_then(Value::as_str) == Some(kind))
}

/// Paths by number, with our address on each.
fn paths(records: &[Value]) -> Vec<(u64, String)> {
    let mut paths = Vec::new();
    for record in of_kind(records, "quic:tuple_assigned") {
        let local = &record["data"]["tuple_local"];
        let address = local["ip_v4"].as_str().or(local["ip_v6"].as_str());
        if let (Some(id), Some(address)) = (record["data"]["path_id"].as_u64(), address)
            && !paths.iter().any(|(known, _)| *known == id)
        {
            paths.push((id, address.to_owned()));
        }
    }
    paths
}

/// The last value of a member that an event of a path has.
fn last<'a>(records: &'a [Value], kind: &'a str, path: u64) -> Option<&'a Value> {
    of_kind(records, kind)
        .rev()
        .find(|record| record["data"]["path_id"] == path)
        .map(|record| &record["data"]["new"])
}

/// How large datagrams from these addresses may be.
fn sizes(paths: Vec<(String, u64)>) -> Vec<Finding> {
    let finding = |(address, size): (String, u64)| {
        let check = format!("datagram size from {address}");
        match size {
            size if size > NARROW => Finding::ok(&check, format!("up to {size} bytes of UDP payload arrive")),
            size => Finding::warning(
                &check,
                format!(
                    "nothing larger than {size} bytes arrives, and nobody says so: an MTU black hole, or a narrow tunnel. Hawser \
                     lives with it, TCP may hang"
                ),
                "nft add rule inet filter forward tcp flags syn tcp option maxseg size set rt mtu   # for TCP, at the router",
            ),
        }
    };
    paths.into_iter().map(finding).collect()
}

/// Whether congestion marks survive the way.
fn ecn(records: &[Value]) -> Vec<Finding> {
    let finding = |(id, address): (u64, String)| {
        let check = format!("ECN from {address}");
        let state = last(records, "quic:ecn_state_updated", id)?.as_str()?;
        Some(match state {
            "capable" => Finding::ok(&check, "congestion marks arrive"),
            "failed" => Finding::warning(
                &check,
                "marks are bleached or counted wrongly on the way: congestion is seen as loss only",
                "",
            ),
            _ => return None,
        })
    };
    paths(records).into_iter().filter_map(finding).collect()
}

/// Whether the server was reached from a new address after a silence.
fn memory(records: &[Value], wakes: &[(u64, f64)]) -> Option<Finding> {
    let asks = |record: &&Value| {
        record["data"]["frames"]
            .as_array()
            .is_some_and(|frames| frames.iter().any(|frame| frame["frame_type"] == "path_challenge"))
    };
    let asked: Vec<f64> = of_kind(records, "quic:packet_received")
        .filter(asks)
        .filter_map(|record| record["time"].as_f64())
        .collect();
    let forgot = |at: f64| asked.iter().any(|time| (at - 50.0..at + REACTION).contains(time));
    let (longest, _) = wakes.last()?;
    let check = "NAT on the way";
    Some(match wakes.iter().find(|(_, at)| forgot(*at)) {
        Some((seconds, _)) => Finding::warning(
            check,
            format!(
                "it forgets UDP after {seconds} s of silence or less: what a server sends then is lost until the client speaks. \
                 Hawser's clients speak each second"
            ),
            "sysctl -w net.netfilter.nf_conntrack_udp_timeout_stream=120   # at the router, if it is Linux",
        ),
        None => Finding::ok(check, format!("still knows the connection after {longest} s of silence")),
    })
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    fn trace(lines: &[&str]) -> Vec<Value> {
        let tuple = r#"{"time":0,"name":"quic:tuple_assigned","data":{"path_id":0,"tuple_local":{"ip_v4":"192.0.2.1"}}}"#;
        std::iter::once(&tuple).chain(lines).map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_question_for_the_address_after_a_silence_means_that_a_nat_forgot() {
        let asked = r#"{"time":9100.0,"name":"quic:packet_received","data":{"frames":[{"frame_type":"path_challenge"}]}}"#;
        let wakes = [(5, 9_000.0), (10, 21_000.0)];
        let finding = memory(&trace(&[asked]), &wakes).unwrap();
        assert!(finding.state == State::Warning && finding.found.contains("after 5 s"), "{finding:?}");
        assert_eq!(memory(&trace(&[]), &wakes).unwrap().state, State::Ok);
        assert_eq!(memory(&trace(&[asked]), &[]), None);
    }

    #[test]
    fn bleached_marks_and_black_holes_are_told_by_link() {
        let good = trace(&[
            r#"{"time":1,"name":"quic:ecn_state_updated","data":{"path_id":0,"old":"testing","new":"capable"}}"#,
        ]);
        let size = |size: u64| sizes(vec![("192.0.2.1".to_owned(), size)])[0].state;
        assert_eq!((ecn(&good)[0].state, size(1_452)), (State::Ok, State::Ok));
        let bad =
            trace(&[r#"{"time":1,"name":"quic:ecn_state_updated","data":{"path_id":0,"new":"failed"}}"#]);
        assert_eq!((ecn(&bad)[0].state, size(1_200)), (State::Warning, State::Warning));
        assert_eq!(ecn(&bad)[0].check, "ECN from 192.0.2.1");
    }

    #[test]
    fn hosts_have_a_port_or_that_of_https() {
        assert_eq!(split("example.org").unwrap(), ("example.org", 443));
        assert_eq!(split("127.0.0.1:4433").unwrap(), ("127.0.0.1", 4433));
        assert_eq!(split("[::1]:4433").unwrap(), ("::1", 4433));
        assert_eq!(split("::1").unwrap(), ("::1", 443));
        assert!(split("example.org:x").is_err());
    }
}
