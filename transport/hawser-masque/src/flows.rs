//! Flows of packets, told apart by their ends, and what they are: real-time or bulk.
//!
//! A call sends small packets at a steady pace; a download sends long bursts of full ones. Both are judged by what they did, so
//! that nothing has to be configured: the rate of the last quarter of a second decides, and a flow that changes is judged by it again. What a sender marks as expedited (RFC 3246) is real-time at once.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use crate::packet::{ICMP, ICMPV6, Packet, ports};

/// Flows that are remembered.
const MAX_FLOWS: usize = 4_096;
/// Over which a rate is measured.
const WINDOW: Duration = Duration::from_millis(250);
/// Silence after which a flow is forgotten when room is needed.
const IDLE: Duration = Duration::from_secs(30);
/// Most bytes of a flow within a window that is real-time: 1 Mbit/s, a video call or a game.
const REAL_TIME_BYTES: u64 = 1_000_000 / 8 / 4;
/// Code points of differentiated services that ask for it: EF, VOICE-ADMIT, CS5, CS6, and AF41 to AF43 of video conferences
/// (RFC 4594).
const EXPEDITED: [u8; 7] = [46, 44, 40, 48, 34, 36, 38];

/// What a packet wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// To arrive soon.
    RealTime,
    /// To arrive with many others.
    Bulk,
}

/// What a packet wants, and its place among those of its flow that want the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What it wants.
    pub class: Class,
    /// The flow; numbers of flows that are long gone are used again.
    pub flow: u16,
    /// Packets of this flow and class before it; it wraps.
    pub number: u32,
}

/// Both ends, and the protocol between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    ports: (u16, u16),
}

/// What a flow did.
#[derive(Clone, Copy, Debug)]
struct Flow {
    window_began: Duration,
    /// Bytes since then, and in the window before.
    bytes: u64,
    before: u64,
    last: Duration,
    id: u16,
    /// What the last packet wanted.
    class: Class,
    /// Packets so far: real-time, bulk.
    sent: [u32; 2],
}

impl Flow {
    fn note(&mut self, now: Duration, length: u64) {
        let age = now.saturating_sub(self.window_began);
        if age >= WINDOW {
            self.before = if age < 2 * WINDOW { self.bytes } else { 0 };
            self.bytes = 0;
            self.window_began = now;
        }
        self.bytes += length;
        self.last = now;
    }
}

/// The flows of one direction.
#[derive(Debug, Default)]
pub struct FlowTable {
    flows: HashMap<Key, Flow>,
    next_id: u16,
}

impl FlowTable {
    /// What a packet wants that is sent now; `now` counts from any moment on.
    pub fn judge(&mut self, now: Duration, bytes: &[u8], packet: &Packet) -> Verdict {
        let key = Key {
            source: packet.source,
            destination: packet.destination,
            protocol: packet.protocol,
            ports: match packet.protocol {
                ICMP | ICMPV6 => (0, 0),
                _ => ports(bytes, packet).unwrap_or_default(),
            },
        };
        if !self.flows.contains_key(&key) && self.flows.len() >= MAX_FLOWS {
            self.make_room(now);
        }
        let next_id = &mut self.next_id;
        let flow = self.flows.entry(key).or_insert_with(|| {
            let id = *next_id;
            *next_id = next_id.wrapping_add(1);
            Flow {
                window_began: now,
                bytes: 0,
                before: 0,
                last: now,
                id,
                class: Class::RealTime,
                sent: [0; 2],
            }
        });
        flow.note(now, bytes.len() as u64);
        let is_marked = EXPEDITED.contains(&(packet.traffic_class >> 2));
        let is_light = flow.bytes.max(flow.before) <= REAL_TIME_BYTES;
        let (class, sent) = match &mut flow.sent {
            [sent, _] if is_marked || is_light => (Class::RealTime, sent),
            [_, sent] => (Class::Bulk, sent),
        };
        flow.class = class;
        let number = *sent;
        *sent = sent.wrapping_add(1);
        Verdict { class, flow: flow.id, number }
    }

    /// Forgets flows that are silent; if few are, all of them: they are judged again within a window. So it is not looked at all of
    /// them again before half as many new ones have come.
    fn make_room(&mut self, now: Duration) {
        self.flows.retain(|_, flow| now.saturating_sub(flow.last) < IDLE);
        if self.flows.len() > MAX_FLOWS / 2 {
            self.flows.clear();
        }
    }

    /// Flows that sent something in the last half minute: real-time, bulk.
    pub fn active(&self, now: Duration) -> [u64; 2] {
        let active = self.flows.values().filter(|flow| now.saturating_sub(flow.last) < IDLE);
        active.fold([0, 0], |[real_time, bulk], flow| match flow.class {
            Class::RealTime => [real_time + 1, bulk],
            Class::Bulk => [real_time, bulk + 1],
        })
    }

    /// Flows that are remembered.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::UDP;

    fn packet(port: u16, length: usize, traffic_class: u8) -> (Vec<u8>, Packet) {
        let mut bytes = vec![0; length];
        bytes[20..22].copy_from_slice(&port.to_be_bytes());
        let packet = Packet {
            source: "10.0.0.1".parse().unwrap(),
            destination: "192.0.2.1".parse().unwrap(),
            protocol: UDP,
            payload: 20,
            is_fragment: false,
            is_whole: true,
            hops: 64,
            traffic_class,
        };
        (bytes, packet)
    }

    #[test]
    fn a_call_is_real_time_and_a_download_is_bulk() {
        let mut table = FlowTable::default();
        let (mut late, mut bulk) = (0, 0);
        for millisecond in 0..2_000 {
            let now = Duration::from_millis(millisecond);
            // 12 Mbit/s, and 50 packets a second.
            let (bytes, download) = packet(1, 1_400, 0);
            bulk += u32::from(table.judge(now, &bytes, &download).class == Class::Bulk);
            if millisecond % 20 == 0 {
                let (bytes, call) = packet(2, 188, 0);
                late += u32::from(table.judge(now, &bytes, &call).class == Class::Bulk);
            }
        }
        assert_eq!(late, 0);
        assert!(bulk > 1_950, "{bulk}");
        assert_eq!(table.len(), 2);
        assert_eq!(table.active(Duration::from_secs(2)), [1, 1]);
        assert_eq!(table.active(Duration::from_secs(40)), [0, 0]);
    }

    #[test]
    fn a_flow_that_falls_silent_is_judged_again() {
        let mut table = FlowTable::default();
        let (bytes, packet) = packet(1, 1_400, 0);
        for millisecond in 0..100 {
            table.judge(Duration::from_millis(millisecond), &bytes, &packet);
        }
        assert_eq!(table.judge(Duration::from_millis(100), &bytes, &packet).class, Class::Bulk);
        assert_eq!(table.judge(Duration::from_millis(1_000), &bytes, &packet).class, Class::RealTime);
    }

    #[test]
    fn marked_packets_are_real_time_whatever_they_are() {
        let mut table = FlowTable::default();
        let (bytes, packet) = packet(1, 1_400, 46 << 2);
        for _ in 0..1_000 {
            assert_eq!(table.judge(Duration::ZERO, &bytes, &packet).class, Class::RealTime);
        }
    }

    #[test]
    fn packets_of_a_flow_and_class_are_counted() {
        let mut table = FlowTable::default();
        let (bytes, marked) = packet(1, 1_400, 34 << 2);
        let (_, plain) = packet(1, 1_400, 0);
        let mut numbers = [Vec::new(), Vec::new()];
        for _ in 0..200 {
            let verdict = table.judge(Duration::ZERO, &bytes, &plain);
            numbers[usize::from(verdict.class == Class::Bulk)].push(verdict.number);
            assert_eq!(verdict.flow, 0);
        }
        assert_eq!(numbers[1], (0..200 - numbers[0].len() as u32).collect::<Vec<_>>());
        let verdict = table.judge(Duration::ZERO, &bytes, &marked);
        assert_eq!((verdict.class, verdict.number), (Class::RealTime, numbers[0].len() as u32));
        let (other, of_other) = packet(2, 60, 0);
        let verdict = table.judge(Duration::ZERO, &other, &of_other);
        assert_eq!((verdict.flow, verdict.number), (1, 0));
    }

    #[test]
    fn flows_are_bounded() {
        let mut table = FlowTable::default();
        for number in 0..100_000_u32 {
            let (bytes, mut packet) = packet(1, 60, 0);
            packet.source = std::net::Ipv4Addr::from_bits(number).into();
            table.judge(Duration::ZERO, &bytes, &packet);
            assert!(table.len() <= MAX_FLOWS);
        }
    }
}
