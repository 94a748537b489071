//! What went over the links: for budgets.

use std::collections::BTreeMap;

use hawser_policy::{LinkId, LinkTraffic, PathId};

use super::Connection;
use super::stats::{PathInfo, PathStats};

/// Headers of UDP (RFC 768) and of IPv4 without options, or IPv6 without extensions.
const IPV4_HEADERS: u64 = 20 + 8;
const IPV6_HEADERS: u64 = 40 + 8;

/// Counts what the paths of one connection sent and received, link by link, in bytes of IP packets. Paths that are gone count as
/// long as something arrives on them.
#[derive(Debug, Default)]
pub struct LinkTrafficMeter {
    paths: BTreeMap<PathId, Counted>,
}

#[derive(Clone, Copy, Debug)]
struct Counted {
    link: Option<LinkId>,
    headers: u64,
    bytes: u64,
}

impl LinkTrafficMeter {
    /// Adds what went over each link since this was last asked; each link at most once. Paths without a link are kept for when
    /// theirs is known.
    pub fn take(&mut self, connection: &Connection, traffic: &mut Vec<LinkTraffic>) {
        for PathInfo { id, tuple, link, .. } in connection.paths() {
            let is_ipv6 = tuple.remote.ip().to_canonical().is_ipv6();
            let headers = if is_ipv6 { IPV6_HEADERS } else { IPV4_HEADERS };
            let counted = self.paths.entry(id).or_insert(Counted { link, headers, bytes: 0 });
            // A path that migrates takes another link (RFC 9000 section 9).
            counted.link = link.or(counted.link);
        }
        self.paths.retain(|id, counted| {
            // Counters of a path that was forgotten have had their last word.
            let Some(stats) = connection.path_stats(*id) else { return false };
            let Some(link) = counted.link else { return true };
            let total = packet_bytes(&stats, counted.headers);
            let bytes = total.saturating_sub(std::mem::replace(&mut counted.bytes, total));
            if bytes > 0 {
                match traffic.iter_mut().find(|of| of.link == link) {
                    Some(known) => known.bytes = known.bytes.saturating_add(bytes),
                    None => traffic.push(LinkTraffic::new(link, bytes)),
                }
            }
            true
        });
    }
}

fn packet_bytes(stats: &PathStats, headers: u64) -> u64 {
    let datagrams = stats.datagrams_sent.saturating_add(stats.datagrams_received);
    let payload = stats.bytes_sent.saturating_add(stats.bytes_received);
    payload.saturating_add(datagrams.saturating_mul(headers))
}
