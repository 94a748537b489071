//! SHA-256 of files, as people write it (hex) and as HTTP does (`Repr-Digest`, RFC 9530).

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderName;
use sha2::Sha256;

/// The field that carries the digest of a whole resource, also with a part of it (RFC 9530 section 3).
pub const REPR_DIGEST: HeaderName = HeaderName::from_static("repr-digest");

/// How much there is of an upload that broke off (draft-ietf-httpbis-resumable-upload).
pub const UPLOAD_OFFSET: HeaderName = HeaderName::from_static("upload-offset");

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The result of a hasher.
    pub fn of(hasher: Sha256) -> Self {
        Digest(sha2::Digest::finalize(hasher).into())
    }

    /// The value of a `Repr-Digest` field: `sha-256=:BASE64:`.
    pub fn to_field(self) -> String {
        format!("sha-256=:{}:", STANDARD.encode(self.0))
    }

    /// The SHA-256 digest in a `Repr-Digest` field, which may list others too; `None` if it has none.
    pub fn from_field(field: &str) -> Option<Self> {
        field.split(',').find_map(|member| {
            let (name, value) = member.trim().split_once('=')?;
            let encoded = value.split(';').next()?.trim().strip_prefix(':')?.strip_suffix(':')?;
            let bytes = STANDARD.decode(encoded).ok()?;
            name.eq_ignore_ascii_case("sha-256").then(|| bytes.try_into().ok().map(Digest))?
        })
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// Feeds the first `length` bytes of a file to a hasher. Blocks.
///
/// # Errors
/// When the file can not be read or is shorter.
pub fn hash_prefix(file: &File, length: u64) -> io::Result<Sha256> {
    hash_while(file, length, || true)
}

/// The same, as long as somebody wants it: that is asked every 256 KiB.
///
/// # Errors
/// As [`hash_prefix`], and when nobody wants it any more.
pub fn hash_while(file: &File, length: u64, is_wanted: impl Fn() -> bool) -> io::Result<Sha256> {
    let mut hasher = <Sha256 as sha2::Digest>::new();
    let mut buffer = vec![0; 1 << 18];
    let mut offset = 0;
    while offset < length {
        let wanted = usize::try_from(length - offset).unwrap_or(usize::MAX).min(buffer.len());
        let read = file.read_at(&mut buffer[..wanted], offset)?;
        if read == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter"));
        }
        if !is_wanted() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        sha2::Digest::update(&mut hasher, &buffer[..read]);
        offset += read as u64;
    }
    Ok(hasher)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest_of(bytes: &[u8]) -> Digest {
        let mut hasher = <Sha256 as sha2::Digest>::new();
        sha2::Digest::update(&mut hasher, bytes);
        Digest::of(hasher)
    }

    /// RFC 9530 appendix A: the digest of `{"hello": "world"}` and a line feed.
    #[test]
    fn the_example_of_the_standard() {
        let digest = digest_of(b"{\"hello\": \"world\"}\n");
        assert_eq!(digest.to_field(), "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:");
    }

    #[test]
    fn the_right_member_is_found() {
        let digest = digest_of(b"x");
        let field = format!("sha-512=:AAAA:, {};q=1 , unixsum=30637", digest.to_field());
        assert_eq!(Digest::from_field(&field), Some(digest));
        assert_eq!(Digest::from_field("sha-512=:AAAA:"), None);
        assert_eq!(Digest::from_field("sha-256=:AAAA:"), None, "too short");
        assert_eq!(Digest::from_field(""), None);
    }
}
