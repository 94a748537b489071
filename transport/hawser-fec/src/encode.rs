//! Repair symbols that grow while source symbols come by.

use crate::{Code, gf256};

/// A repair symbol in the making.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairSymbol {
    /// Its number: the row of the code.
    pub index: u32,
    /// The combination so far, as long as the longest source symbol in it.
    pub bytes: Vec<u8>,
}

impl RepairSymbol {
    /// Of no source symbols yet.
    pub fn new(index: u32) -> Self {
        RepairSymbol { index, bytes: Vec::new() }
    }
}

/// Adds source symbol `index` to each of the repair symbols of a block or window that begins with `first`. The source symbol
/// is read once and not needed any more.
pub fn add_source(code: Code, repair: &mut [RepairSymbol], first: u64, index: u64, source: &[u8]) {
    for symbol in &mut *repair {
        if symbol.bytes.len() < source.len() {
            symbol.bytes.resize(source.len(), 0);
        }
    }
    if code == Code::Xor {
        repair.iter_mut().for_each(|symbol| gf256::mul_add(&mut symbol.bytes, source, 1));
        return;
    }
    gf256::for_each_chunk(source, |start, chunk| {
        for symbol in &mut *repair {
            chunk.add_to(&mut symbol.bytes, start, code.coefficient(symbol.index, first, index));
        }
    });
}
