//! Keys of streams, and until when they are valid.

use std::time::Duration;

use super::expiry::Moment;
use super::{key_digest, parse_key};

/// Between looks at the clock, which somebody may set.
const LOOK: Duration = Duration::from_secs(30);

/// A key, and until when it is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) text: String,
    until: Option<Moment>,
}

impl Key {
    /// `KEY` or `KEY@UNTIL`.
    fn parse(text: &str) -> Result<Self, String> {
        let (key, until) = match text.split_once('@') {
            Some((key, until)) => (key, Some(Moment::parse(until)?)),
            None => (text, None),
        };
        Ok(Key { text: parse_key(key)?, until })
    }

    /// What a key that is named is compared with.
    pub(super) fn lock(&self) -> Lock {
        Lock { digest: key_digest(&self.text), until: self.until }
    }
}

/// The keys of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(super) publish: Key,
    pub(super) view: Key,
}

impl Keys {
    /// `KEY[@UNTIL]`, or `KEY[@UNTIL]=VIEWKEY[@UNTIL]`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (publish, view) = text.split_once('=').unwrap_or((text, text));
        Ok(Keys { publish: Key::parse(publish)?, view: Key::parse(view)? })
    }

    pub(super) fn random() -> Self {
        let half = || Key { text: format!("{:016x}", rand::random::<u64>()), until: None };
        Keys { publish: half(), view: half() }
    }

    /// In the place of keys that are not said.
    pub(super) fn unsaid() -> Self {
        let key = |text: &str| Key { text: text.to_owned(), until: None };
        Keys { publish: key("KEY"), view: key("VIEWKEY") }
    }
}

/// What opens with a key, until that expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lock {
    digest: [u8; 32],
    until: Option<Moment>,
}

impl Lock {
    /// Returns true if this is the key. The time it takes says nothing about it.
    pub(super) fn fits(&self, key: &str) -> bool {
        self.digest == key_digest(key)
    }

    /// Returns true if the key has expired.
    pub(super) fn has_expired(&self, now: Moment) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    /// Waits until the key has expired, by this machine's clock.
    pub(super) async fn expired(&self) {
        let Some(until) = self.until else { return std::future::pending().await };
        loop {
            let left = Moment::now().until(until);
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(LOOK)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_what_a_url_can_hold() {
        assert_eq!(Keys::parse("a=b"), Keys::parse("a=b"));
        assert_ne!(Keys::parse("a=b"), Keys::parse("a"));
        for text in ["", "a b", "a/b", "=b", "a=", "\u{e9}", "a@", "@2027-01-31T18:00:00Z", "a@tomorrow"] {
            assert!(Keys::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn each_key_is_valid_until_its_own_time() {
        let at = |text: &str| Moment::parse(text).unwrap();
        let (before, after) = (at("2027-01-31T17:59:59Z"), at("2027-01-31T18:00:00Z"));
        let expire = |text: &str, now: Moment| {
            let keys = Keys::parse(text).unwrap();
            [keys.publish.lock(), keys.view.lock()].map(|lock| lock.has_expired(now))
        };
        for (text, expected) in [
            ("a@2027-01-31T18:00:00Z", [true, true]),
            ("a=b@2027-01-31T19:00:00+01:00", [false, true]),
            ("a@2027-01-31T18:00:00Z=b", [true, false]),
            ("a=b", [false, false]),
        ] {
            assert_eq!((expire(text, before), expire(text, after)), ([false; 2], expected), "{text}");
        }
        let lock = Keys::parse("a@2027-01-31T18:00:00Z").unwrap().view.lock();
        assert!(lock.fits("a") && !lock.fits("a@2027-01-31T18:00:00Z"));
    }
}
