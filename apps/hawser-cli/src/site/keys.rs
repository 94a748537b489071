//! Keys of those who may upload.

use hawser_gateway::users::Users;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use sha2::{Digest as _, Sha256};

/// Fewest characters of a key: it can be tried out from anywhere.
const SHORTEST: usize = 16;
/// Most keys.
const MOST: usize = 10_000;

/// Keys of which a request must name one. They are kept and compared as digests, so that the time it takes says nothing about
/// them.
#[derive(Clone)]
pub(crate) struct Keys(Vec<[u8; 32]>);

impl Keys {
    /// From the lines of a file; empty ones and those that begin with `#` are passed over.
    ///
    /// # Errors
    /// Says what is wrong with them.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let keys: Vec<&str> = lines.take(MOST + 1).collect();
        if keys.is_empty() || keys.len() > MOST {
            return Err(format!("expected 1 to {MOST} keys, one in each line"));
        }
        keys.into_iter().map(|key| check_key(key).map(digest)).collect::<Result<_, _>>().map(Keys)
    }

    /// Those of the users of a gateway.
    ///
    /// # Errors
    /// There is no user.
    pub(crate) fn of_users(users: &Users) -> Result<Self, String> {
        let keys: Vec<_> = users.values().map(|account| account.hash.bytes()).collect();
        if keys.is_empty() {
            return Err("there is no user; `hawser gateway user add NAME --users FILE` adds one".to_owned());
        }
        Ok(Keys(keys))
    }

    /// Whether a request names one of them: `Authorization: Bearer KEY` (RFC 6750 section 2.1).
    pub(super) fn admit(&self, headers: &HeaderMap) -> bool {
        let mut fields = headers.get_all(AUTHORIZATION).iter();
        let (Some(field), None) = (fields.next(), fields.next()) else { return false };
        let named = field.to_str().ok().and_then(|field| {
            let (scheme, key) = field.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| digest(key.trim()))
        });
        named.is_some_and(|named| self.0.contains(&named))
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} keys", self.0.len())
    }
}

/// What may be a key: at least 16 characters that a header field can carry in one word.
///
/// # Errors
/// Says what was expected. The key itself is not repeated.
pub(crate) fn check_key(key: &str) -> Result<&str, String> {
    let is_sound =
        key.len() >= SHORTEST && key.chars().all(|c| c.is_ascii_alphanumeric() || "-._~+/=".contains(c));
    is_sound
        .then_some(key)
        .ok_or_else(|| format!("a key has at least {SHORTEST} letters, digits, or - . _ ~ + / ="))
}

fn digest(key: &str) -> [u8; 32] {
    Sha256::digest(key).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_of_a_gateway_are_admitted_by_their_keys() {
        let folder = tempfile::tempdir().unwrap();
        let file = hawser_gateway::users::UserFile::new(folder.path().join("gateway-users.toml"));
        assert!(Keys::of_users(&file.read().unwrap()).is_err(), "nobody");
        let (alice, bob) = (file.add("alice").unwrap(), file.add("bob").unwrap());
        let admits = |keys: &Keys, key: &hawser_gateway::users::Key| {
            let field = format!("Bearer {}", key.secret());
            keys.admit(&HeaderMap::from_iter([(AUTHORIZATION, field.parse().unwrap())]))
        };
        let keys = Keys::of_users(&file.read().unwrap()).unwrap();
        assert!(admits(&keys, &alice) && admits(&keys, &bob));
        file.remove("bob").unwrap();
        let keys = Keys::of_users(&file.read().unwrap()).unwrap();
        assert!(admits(&keys, &alice) && !admits(&keys, &bob));
    }

    #[test]
    fn only_a_request_with_one_of_the_keys_is_admitted() {
        let keys = Keys::parse("# of the cameras\n\nfirst-key-0123456789\n second-key-012345678 \n").unwrap();
        let admits =
            |field: &str| keys.admit(&HeaderMap::from_iter([(AUTHORIZATION, field.parse().unwrap())]));
        assert!(admits("Bearer first-key-0123456789") && admits("bearer second-key-012345678"));
        for field in [
            "",
            "Bearer",
            "Bearer ",
            "Basic first-key-0123456789",
            "first-key-0123456789",
            "Bearer first-key-012345678",
        ] {
            assert!(!admits(field), "{field}");
        }
        assert!(!keys.admit(&HeaderMap::new()));
        let mut twice = HeaderMap::new();
        for _ in 0..2 {
            twice.append(AUTHORIZATION, "Bearer first-key-0123456789".parse().unwrap());
        }
        assert!(!keys.admit(&twice));
        assert_eq!(format!("{keys:?}"), "2 keys");
    }

    #[test]
    fn keys_that_are_easily_tried_out_are_refused() {
        for text in ["", "# nothing\n", "short\n", "0123456789 0123456789\n", "0123456789012345\nx\n"] {
            assert!(Keys::parse(text).is_err(), "{text:?}");
        }
    }
}
