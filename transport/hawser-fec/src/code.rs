//! The coefficients of each code.

use crate::gf256;

/// How repair symbols are made of source symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// All source symbols added up.
    Xor,
    /// Rows of a Cauchy matrix: any square part of it can be inverted (Bloemer and others, ICSI TR-95-048).
    ReedSolomon,
    /// Random coefficients (RFC 8681 section 3.6 has the idea; the generator here is SplitMix64's).
    RandomLinear,
}

impl Code {
    /// The most source symbols that a repair symbol combines.
    pub const MAX_SOURCE: u64 = 64;
    /// The most repair symbols of a block of [`Code::ReedSolomon`].
    pub const MAX_REPAIR: u64 = 32;

    /// The coefficient of source symbol `index` in repair symbol `repair` of a block or window that begins with source symbol
    /// `first`. Never zero within the bounds above; beyond them it has a value, but no code is promised.
    #[inline]
    pub fn coefficient(self, repair: u32, first: u64, index: u64) -> u8 {
        match self {
            Code::Xor => 1,
            Code::ReedSolomon => {
                // 1 / (x + y), with y below 64 and x from 64 on: never the same.
                let y = index.wrapping_sub(first) as u8 % 64;
                let x = 64 + (repair % 192) as u8;
                gf256::inverse(x ^ y)
            }
            // Of the place in the stream of symbols, not in the window: a window may slide.
            Code::RandomLinear => 1 + (mix(u64::from(repair) << 32 | (index & 0xffff_ffff)) % 255) as u8,
        }
    }
}

/// The output function of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
