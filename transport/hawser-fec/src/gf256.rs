//! Arithmetic in GF(2^8) with the polynomial x^8 + x^4 + x^3 + x^2 + 1, and on runs of its elements.

#[cfg(test)]
mod tests;

/// The polynomial without its highest term.
const POLYNOMIAL: u8 = 0x1d;

/// Elements that are multiplied at a time: a few vector registers.
const LANES: usize = 64;

struct Tables {
    log: [u8; 256],
    /// Twice, so that sums of logarithms need no reduction.
    power: [u8; 510],
}

static TABLES: Tables = tables();

const fn tables() -> Tables {
    let mut tables = Tables { log: [0; 256], power: [0; 510] };
    let (mut element, mut exponent) = (1_u8, 0);
    while exponent < 255 {
        tables.log[element as usize] = exponent as u8;
        tables.power[exponent] = element;
        tables.power[exponent + 255] = element;
        element = double(element);
        exponent += 1;
    }
    tables
}

#[inline]
const fn double(element: u8) -> u8 {
    let carry = ((element as i8) >> 7) as u8;
    (element << 1) ^ (carry & POLYNOMIAL)
}

/// The product.
#[inline]
pub fn mul(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    TABLES.power[usize::from(TABLES.log[usize::from(a)]) + usize::from(TABLES.log[usize::from(b)])]
}

/// The inverse; of zero, zero.
#[inline]
pub fn inverse(a: u8) -> u8 {
    if a == 0 { 0 } else { TABLES.power[255 - usize::from(TABLES.log[usize::from(a)])] }
}

/// `row += factor * source`, as far as both reach.
pub fn mul_add(row: &mut [u8], source: &[u8], factor: u8) {
    let length = row.len().min(source.len());
    match factor {
        0 => {}
        1 => row.iter_mut().zip(source).for_each(|(element, added)| *element ^= added),
        _ => for_each_chunk(&source[..length], |start, chunk| chunk.add_to(row, start, factor)),
    }
}

/// A few elements and their doublings, from which any multiple of them is a sum: nothing but shifts and exclusive ors on
/// whole vector registers, of which even x86-64 without extensions has enough.
pub(crate) struct Chunk {
    doublings: [[u8; LANES]; 8],
    length: usize,
}

/// Calls `visit` with each chunk of `source` and where it starts.
#[inline]
pub(crate) fn for_each_chunk(source: &[u8], mut visit: impl FnMut(usize, &Chunk)) {
    let (whole, rest) = source.as_chunks::<LANES>();
    for (at, elements) in whole.iter().enumerate() {
        visit(at * LANES, &Chunk::of(elements, LANES));
    }
    if !rest.is_empty() {
        let mut elements = [0; LANES];
        elements[..rest.len()].copy_from_slice(rest);
        visit(whole.len() * LANES, &Chunk::of(&elements, rest.len()));
    }
}

impl Chunk {
    #[inline]
    fn of(elements: &[u8; LANES], length: usize) -> Self {
        let mut doublings = [*elements; 8];
        for bit in 1..8 {
            let mut next = doublings[bit - 1];
            next.iter_mut().for_each(|element| *element = double(*element));
            doublings[bit] = next;
        }
        Chunk { doublings, length }
    }

    /// Adds a multiple of the chunk to a row, from `start` on.
    #[inline]
    pub(crate) fn add_to(&self, row: &mut [u8], start: usize, factor: u8) {
        let Some(row) = row.get_mut(start..) else { return };
        if self.length == LANES
            && let Some(row) = row.first_chunk_mut()
        {
            self.add(row, factor);
            return;
        }
        let mut product = [0; LANES];
        self.add(&mut product, factor);
        let product = &product[..self.length];
        row.iter_mut().zip(product).for_each(|(element, added)| *element ^= added);
    }

    #[inline]
    fn add(&self, row: &mut [u8; LANES], factor: u8) {
        let mut sum = *row;
        let mut bits = factor;
        while bits != 0 {
            let added = &self.doublings[bits.trailing_zeros() as usize & 7];
            sum.iter_mut().zip(added).for_each(|(element, added)| *element ^= added);
            bits &= bits - 1;
        }
        *row = sum;
    }
}
