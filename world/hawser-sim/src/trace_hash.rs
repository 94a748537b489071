use hawser_core::Ecn;
use hawser_link::Arrival;

use crate::Packet;

/// Bytes hashed at either end of a payload.
///
/// The head has the connection id and the packet number, the tail is the packet's authentication tag, which depends on
/// every byte of it, in TLS as in the null session.
const HEAD: usize = 16;
const TAIL: usize = 16;

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A number that depends on every packet delivered: when, where, how long, and what. The same on any machine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TraceHash(u64);

/// What the hash takes of a payload. It is asked for when a packet is sent, while its payload is in the cache.
pub(crate) fn fingerprint(payload: &[u8]) -> u64 {
    let mut hash = TraceHash::default();
    if let Some((head, rest)) = payload.split_first_chunk::<HEAD>()
        && let Some(tail) = rest.last_chunk::<TAIL>()
    {
        // Nearly always, and then the number of words is known.
        hash.bytes(head);
        hash.bytes(tail);
    } else {
        let (head, rest) = payload.split_at(payload.len().min(HEAD));
        hash.bytes(head);
        hash.bytes(rest.split_at(rest.len().saturating_sub(TAIL)).1);
    }
    hash.0
}

impl TraceHash {
    pub(crate) fn packet(&mut self, arrival: &Arrival<Packet>) {
        let Packet { tuple, ecn, payload: _, label: _, fingerprint } = &arrival.payload;
        let mark = ecn.map_or(0, |ecn| if ecn == Ecn::Ce { 3 } else { 1 });
        self.word(arrival.at);
        self.word((arrival.route.as_usize() as u64) << 32 | u64::from(arrival.length));
        self.word(u64::from(tuple.local.port()) << 8 | mark);
        self.word(*fingerprint);
    }

    pub(crate) fn finish(self) -> u64 {
        let mut end = self;
        end.word(0);
        end.0
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        let (words, tail) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
        if !tail.is_empty() {
            let mut last = [0; 8];
            last.iter_mut().zip(tail).for_each(|(out, byte)| *out = *byte);
            self.word(u64::from_le_bytes(last));
        }
    }

    fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(MULTIPLIER);
        self.0 ^= self.0 >> 32;
    }
}
