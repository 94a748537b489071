//! Where TLS draws from.

use std::cell::RefCell;

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustls::crypto::{GetRandomFailed, SecureRandom};

thread_local! {
    /// What was lent to the code that runs now.
    static LENT: RefCell<Option<Box<ChaCha8Rng>>> = const { RefCell::new(None) };
}

/// Random bytes for TLS, the same for the same seed.
#[derive(Debug)]
pub struct Randomness(Option<Box<ChaCha8Rng>>);

impl Randomness {
    /// Bytes that follow from this seed.
    pub fn new(seed: u64) -> Self {
        Randomness(Some(Box::new(ChaCha8Rng::seed_from_u64(seed))))
    }

    /// Does work that may draw from it through the [provider](super::provider).
    pub fn lend<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let _loan = Loan::begin(self);
        work()
    }
}

/// Puts everything back where it was when it ends, also when the work panics.
struct Loan<'a> {
    lender: &'a mut Randomness,
    /// What was lent before.
    outer: Option<Box<ChaCha8Rng>>,
}

impl<'a> Loan<'a> {
    fn begin(lender: &'a mut Randomness) -> Self {
        let outer = LENT.replace(lender.0.take());
        Loan { lender, outer }
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        self.lender.0 = LENT.replace(self.outer.take());
    }
}

/// Draws; fails when nothing was lent.
pub(super) fn fill(bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
    LENT.with_borrow_mut(|lent| {
        lent.as_mut().ok_or(GetRandomFailed)?.fill_bytes(bytes);
        Ok(())
    })
}

/// The provider's source of randomness.
#[derive(Debug)]
pub(super) struct Lent;

impl SecureRandom for Lent {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        fill(bytes)
    }
}
