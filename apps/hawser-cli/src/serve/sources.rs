//! How many connections one source may have open.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

/// Open connections by source: an IPv4 address, or a network of 64 bits, of which one customer has at least one. Cheap to
/// clone. There are never more entries than connections.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    most: Option<usize>,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// One open connection of a source, until it is dropped.
#[derive(Debug)]
pub(crate) struct Open {
    sources: Sources,
    source: IpAddr,
}

impl Sources {
    /// `None`: no limit.
    pub(crate) fn new(most: Option<usize>) -> Self {
        Sources { most, open: Arc::default() }
    }

    /// Whether this address may have another connection.
    pub(crate) fn has_room(&self, address: IpAddr) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_below(open.get(&source_of(address)).copied().unwrap_or(0))
    }

    /// Counts one that is open; `None` if it is one too many. Only addresses that completed a handshake are to be counted:
    /// others may be forged, and their owner would pay for it.
    pub(crate) fn open(&self, address: IpAddr) -> Option<Open> {
        let source = source_of(address);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(source).or_insert(0);
        if !self.is_below(*count) {
            return None;
        }
        *count += 1;
        Some(Open { sources: self.clone(), source })
    }

    fn is_below(&self, count: usize) -> bool {
        self.most.is_none_or(|most| count < most)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut open = self.sources.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.source) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.source);
            }
        }
    }
}

fn source_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_source_has_so_many_connections_and_others_theirs() {
        let sources = Sources::new(Some(2));
        let first = sources.open(ip("2001:db8::1")).unwrap();
        let _second = sources.open(ip("2001:db8::ffff")).unwrap();
        assert!(sources.open(ip("2001:db8::2")).is_none(), "one network");
        assert!(!sources.has_room(ip("2001:db8::3")));
        assert!(sources.has_room(ip("2001:db8:0:1::1")), "another");
        let mapped = sources.open(ip("::ffff:192.0.2.1")).unwrap();
        let plain = sources.open(ip("192.0.2.1")).unwrap();
        assert!(!sources.has_room(ip("192.0.2.1")) && sources.has_room(ip("192.0.2.2")));
        drop(first);
        assert!(sources.has_room(ip("2001:db8::1")));
        drop((mapped, plain));
        assert_eq!(sources.open.lock().unwrap().len(), 1, "nothing is kept of those who left");
    }
}
