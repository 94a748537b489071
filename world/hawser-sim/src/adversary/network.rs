//! The named attacks of somebody on the network between a client and a server, who has no keys: he sees what they send, may
//! send it again, changed or from elsewhere, and may send what he likes from addresses that are not his.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::BytesMut;
use hawser_core::FourTuple;
use hawser_link::mix;
use hawser_policy::Time;

use crate::amplification::Attack;
use crate::testing::SERVER;
use crate::{Packet, Verdict};

/// A named attack of the network.
#[derive(Clone, Copy, Debug)]
pub struct NetworkAttack {
    /// Short, unique.
    pub name: &'static str,
    /// What happens, in one line.
    pub about: &'static str,
    /// What arrives at the server before each packet of the client.
    pub(super) adds: fn(&mut Intruder, &Packet) -> Vec<Packet>,
    /// What becomes of each packet on its way, by its number.
    pub(super) alters: fn(u64) -> Verdict,
    /// How often a NAT gives the client another port.
    pub(super) rebinds: Option<Duration>,
    /// How much longer a download may take than an undisturbed one, as a factor.
    pub slows: f64,
}

const fn of(
    name: &'static str,
    about: &'static str,
    adds: fn(&mut Intruder, &Packet) -> Vec<Packet>,
) -> NetworkAttack {
    NetworkAttack { name, about, adds, alters: |_| Verdict::Pass, rebinds: None, slows: 1.2 }
}

/// All of them.
pub const NETWORK_ATTACKS: &[NetworkAttack] = &[
    NetworkAttack {
        slows: 2.0,
        ..of(
            "spoofed-copies",
            "every 20th packet of the client comes first from another address",
            |intruder, seen| {
                let is_short = seen.payload.first().is_some_and(|first| first & 0x80 == 0);
                let is_chosen = intruder.random() % 20 == 0;
                let victim = intruder.victim();
                if is_short && is_chosen { vec![intruder.from(victim, &seen.payload)] } else { Vec::new() }
            },
        )
    },
    of("replays", "each packet comes three more times, sooner or later", |intruder, seen| {
        intruder.remember(&seen.payload);
        let copies = intruder.recent(3);
        copies.iter().map(|copy| intruder.from(seen.tuple.local, copy)).collect()
    }),
    of("corrupted-copies", "before each packet comes a copy of it with a bit changed", |intruder, seen| {
        let mut copy = seen.payload.to_vec();
        let at = intruder.random() as usize % (copy.len() * 8);
        copy[at / 8] ^= 1 << (at % 8);
        vec![intruder.from(seen.tuple.local, &copy)]
    }),
    of("garbage", "ten datagrams of any bytes for each packet, from anywhere", |intruder, _| {
        (0..10).map(|_| intruder.garbage()).collect()
    }),
    of(
        "initials",
        "ten Initial packets that cannot be opened for each packet, from anywhere",
        |intruder, _| (0..10).map(|_| intruder.initial()).collect(),
    ),
    of("resets", "stateless resets with guessed tokens, as if from the client", |intruder, seen| {
        let mut reset = seen.payload[..seen.payload.len().min(9)].to_vec();
        reset.resize(43, 0);
        reset.iter_mut().skip(9).for_each(|byte| *byte = intruder.random() as u8);
        vec![intruder.from(seen.tuple.local, &reset)]
    }),
    NetworkAttack {
        alters: |number| match mix(number) % 8 {
            0 => Verdict::Delay(Duration::from_millis(8)),
            1 => Verdict::Delay(Duration::from_millis(3)),
            _ => Verdict::Pass,
        },
        slows: 2.0,
        ..of("reordering", "a quarter of all packets is overtaken by those of 3 or 8 ms", |_, _| Vec::new())
    },
    NetworkAttack {
        rebinds: Some(Duration::from_millis(100)),
        slows: 2.0,
        ..of("rebinding", "the client has another port every 100 ms", |_, _| Vec::new())
    },
];

/// The part that adds packets.
#[derive(Debug, Default)]
pub(super) struct Intruder {
    seed: u64,
    seen: VecDeque<Vec<u8>>,
}

/// Packets that are remembered to be sent again.
const REMEMBERED: usize = 200;

impl Intruder {
    pub(super) fn attack(adds: fn(&mut Intruder, &Packet) -> Vec<Packet>) -> Attack {
        let mut intruder = Intruder::default();
        Box::new(move |_: Time, seen| adds(&mut intruder, seen))
    }

    fn random(&mut self) -> u64 {
        self.seed += 1;
        mix(self.seed)
    }

    /// One of 1000 addresses where nobody is.
    fn victim(&mut self) -> SocketAddr {
        let number = self.random() % 1_000;
        ([203, 0, 113 + (number / 250) as u8, (number % 250) as u8], 4_000).into()
    }

    fn from(&self, local: SocketAddr, payload: &[u8]) -> Packet {
        Packet::new(FourTuple { local, remote: SERVER }, None, BytesMut::from(payload))
    }

    fn remember(&mut self, payload: &[u8]) {
        self.seen.push_back(payload.to_vec());
        if self.seen.len() > REMEMBERED {
            self.seen.pop_front();
        }
    }

    fn recent(&mut self, count: usize) -> Vec<Vec<u8>> {
        let places: Vec<u64> = (0..count).map(|_| self.random()).collect();
        places.iter().filter_map(|at| self.seen.get(*at as usize % self.seen.len()).cloned()).collect()
    }

    fn garbage(&mut self) -> Packet {
        let length = 1 + self.random() as usize % 1_300;
        let payload: Vec<u8> = (0..length).map(|_| self.random() as u8).collect();
        let victim = self.victim();
        self.from(victim, &payload)
    }

    fn initial(&mut self) -> Packet {
        let mut payload = vec![0xc3, 0, 0, 0, 1, 8];
        payload.extend(self.random().to_be_bytes());
        payload.extend([8, 1, 2, 3, 4, 5, 6, 7, 8, 0]);
        payload.extend((0x4000_u16 | 1_174).to_be_bytes());
        payload.resize(1_200, 0x33);
        let victim = self.victim();
        self.from(victim, &payload)
    }
}
