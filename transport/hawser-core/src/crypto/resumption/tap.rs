//! The key of a ticket, on its way through the key schedule.
//!
//! TLS derives it as HKDF-Expand-Label(resumption_master_secret, "resumption", ticket_nonce) (RFC 8446 section 4.6.1), by
//! the HKDF of the cipher suite, which is the provider's. The suites of [`default_provider`](crate::crypto::default_provider)
//! have one that lets a caller, on its own thread and for the time of one call, see what comes out of this one
//! derivation, or put something else in its place. All others are as they were.

use std::cell::RefCell;

use ::rustls::crypto::tls13::{Hkdf, HkdfExpander, OkmBlock, OutputLengthError};
use ::rustls::crypto::{ActiveKeyExchange, hmac};
use ::rustls::{CipherSuiteCommon, Error, SupportedCipherSuite, Tls13CipherSuite};

thread_local! {
    static WATCHER: RefCell<Option<Watcher>> = const { RefCell::new(None) };
}

/// Who asks for the key of a ticket.
struct Watcher {
    /// What it is to be.
    substitute: Option<Vec<u8>>,
    /// What it was.
    seen: Option<Vec<u8>>,
}

/// Runs `act`, and says which key of a ticket it derived last, if any. With a `substitute` it gets this one instead.
pub(super) fn watch<T>(substitute: Option<&[u8]>, act: impl FnOnce() -> T) -> (T, Option<Vec<u8>>) {
    let substitute = substitute.map(<[u8]>::to_vec);
    WATCHER.with_borrow_mut(|watcher| *watcher = Some(Watcher { substitute, seen: None }));
    let result = act();
    let watcher = WATCHER.with_borrow_mut(Option::take);
    (result, watcher.and_then(|watcher| watcher.seen))
}

/// The suites with an HKDF that can be watched. Suites live as long as the process, so this is for once.
pub(crate) fn tapped(suites: &[SupportedCipherSuite]) -> Vec<SupportedCipherSuite> {
    let tap = |suite: &SupportedCipherSuite| match suite.tls13() {
        Some(suite) => SupportedCipherSuite::Tls13(Box::leak(Box::new(tap(suite)))),
        None => *suite,
    };
    suites.iter().map(tap).collect()
}

fn tap(suite: &'static Tls13CipherSuite) -> Tls13CipherSuite {
    let CipherSuiteCommon { suite: name, hash_provider, confidentiality_limit } = suite.common;
    Tls13CipherSuite {
        common: CipherSuiteCommon { suite: name, hash_provider, confidentiality_limit },
        hkdf_provider: Box::leak(Box::new(TappedHkdf(suite.hkdf_provider))),
        aead_alg: suite.aead_alg,
        quic: suite.quic,
    }
}

/// The HKDF of a suite.
struct TappedHkdf(&'static dyn Hkdf);

impl Hkdf for TappedHkdf {
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
        self.0.extract_from_zero_ikm(salt)
    }

    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander> {
        self.0.extract_from_secret(salt, secret)
    }

    fn extract_from_kx_shared_secret(
        &self,
        salt: Option<&[u8]>,
        kx: Box<dyn ActiveKeyExchange>,
        peer_pub_key: &[u8],
    ) -> Result<Box<dyn HkdfExpander>, Error> {
        self.0.extract_from_kx_shared_secret(salt, kx, peer_pub_key)
    }

    /// The resumption master secret is such a block; what is extracted is not.
    fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
        Box::new(TappedExpander(self.0.expander_for_okm(okm)))
    }

    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> hmac::Tag {
        self.0.hmac_sign(key, message)
    }

    fn fips(&self) -> bool {
        self.0.fips()
    }
}

struct TappedExpander(Box<dyn HkdfExpander>);

impl HkdfExpander for TappedExpander {
    fn expand_slice(&self, info: &[&[u8]], output: &mut [u8]) -> Result<(), OutputLengthError> {
        self.0.expand_slice(info, output)
    }

    fn expand_block(&self, info: &[&[u8]]) -> OkmBlock {
        let block = self.0.expand_block(info);
        if is_ticket_key(info) { observed(block) } else { block }
    }

    fn hash_len(&self) -> usize {
        self.0.hash_len()
    }
}

/// Whether this is the HkdfLabel (RFC 8446 section 7.1) of the key of a ticket: behind the length of two bytes, the label
/// with its length.
fn is_ticket_key(info: &[&[u8]]) -> bool {
    let label = b"\x10tls13 resumption";
    info.iter().flat_map(|part| part.iter()).skip(2).take(label.len()).eq(label)
}

fn observed(block: OkmBlock) -> OkmBlock {
    WATCHER.with_borrow_mut(|watcher| {
        let Some(watcher) = watcher else { return block };
        let block = match &watcher.substitute {
            // Of another length it would be of a suite with another hash, and of no use.
            Some(key) if key.len() == block.as_ref().len() => OkmBlock::new(key),
            _ => block,
        };
        watcher.seen = Some(block.as_ref().to_vec());
        block
    })
}
