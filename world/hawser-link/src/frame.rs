//! What a link needs to know of the packets that it carries.

use prefetch_index::prefetch_index;

/// Bytes of a cache line.
const CACHE_LINE: usize = 64;

/// A payload that can travel through a [`Link`](crate::Link).
///
/// The link looks into a packet only where a real one does: at the ECN field and at the flow, and it flips a bit
/// or copies the whole when it is told to do damage.
pub trait Frame: Sized {
    /// Whether the sender said that it understands ECN: ECT(0), ECT(1), or CE set further up (RFC 3168 section 5).
    fn is_ecn_capable(&self) -> bool {
        false
    }

    /// Sets the ECN field to CE. Called only when [`is_ecn_capable`](Self::is_ecn_capable) says yes.
    fn mark_congestion_experienced(&mut self) {}

    /// A hash of what identifies the flow, for fair queueing. The same for all packets of a flow.
    fn flow(&self) -> u64 {
        0
    }

    /// Flips the bit `position` modulo the number of bits that may be damaged.
    fn corrupt(&mut self, position: u64);

    /// A second packet with the same content.
    fn duplicate(&self) -> Self;

    /// It will be looked at as soon as `others` packets have had their turn: asks the processor to fetch what it is made of,
    /// which nobody has touched while it travelled. Nothing by default.
    ///
    /// With packets before it, nothing of it may be read, since that would wait for the memory: only addresses are known.
    /// The call without them follows, and then what the packet refers to can be asked for.
    fn prefetch(&self, _others: usize) {}
}

/// Flips one bit of some bytes; none if there are none.
pub fn flip_bit(bytes: &mut [u8], position: u64) {
    let bits = bytes.len() as u64 * 8;
    if bits > 0 {
        let position = position % bits;
        bytes[(position / 8) as usize] ^= 1 << (position % 8);
    }
}

/// Asks the processor to fetch some bytes, for [`Frame::prefetch`].
#[inline]
pub fn prefetch_bytes(bytes: &[u8]) {
    for at in (0..bytes.len()).step_by(CACHE_LINE) {
        prefetch_index(bytes, at);
    }
}

/// Asks for the cache line where a value begins.
#[inline]
pub(crate) fn prefetch_value<T>(value: &T) {
    prefetch_index(std::slice::from_ref(value), 0);
}

/// Spreads `value` over all 64 bits (finaliser of MurmurHash3), for [`Frame::flow`] made of small numbers.
pub fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    value = (value ^ (value >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    value ^ (value >> 33)
}

/// A packet that is moved by its address.
impl<F: Frame> Frame for Box<F> {
    fn is_ecn_capable(&self) -> bool {
        (**self).is_ecn_capable()
    }

    fn mark_congestion_experienced(&mut self) {
        (**self).mark_congestion_experienced();
    }

    fn flow(&self) -> u64 {
        (**self).flow()
    }

    fn corrupt(&mut self, position: u64) {
        (**self).corrupt(position);
    }

    fn duplicate(&self) -> Self {
        Box::new((**self).duplicate())
    }

    fn prefetch(&self, others: usize) {
        (**self).prefetch(others);
    }
}

/// A packet of which only the length matters.
impl Frame for () {
    fn corrupt(&mut self, _position: u64) {}

    fn duplicate(&self) -> Self {}
}

/// Numbered packets, all of one flow.
macro_rules! number {
    ($($type:ty),*) => {$(
        impl Frame for $type {
            fn corrupt(&mut self, position: u64) {
                *self ^= 1 << (position % u64::from(Self::BITS));
            }

            fn duplicate(&self) -> Self {
                *self
            }
        }
    )*};
}
number!(i32, u32, u64, usize);

/// Named packets, which cannot be damaged.
impl Frame for &'static str {
    fn corrupt(&mut self, _position: u64) {}

    fn duplicate(&self) -> Self {
        self
    }
}

/// Bare bytes.
impl Frame for Vec<u8> {
    fn corrupt(&mut self, position: u64) {
        flip_bit(self, position);
    }

    fn duplicate(&self) -> Self {
        self.clone()
    }
}
