//! What a user means by a URL.

use std::ffi::OsString;
use std::net::IpAddr;
use std::os::unix::ffi::OsStringExt;
use std::str::FromStr;

use crate::exit::{Exit, Failure};
use crate::percent;

/// A resource on an HTTP/3 server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// DNS name or IP address, without the brackets of IPv6 literals.
    pub host: String,
    /// UDP port; 443 unless given.
    pub port: u16,
    /// Percent-encoded path, and query if there is one.
    pub path: String,
}

/// Text that is not a URL we can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadUrl(String);

impl std::fmt::Display for BadUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadUrl {}

impl From<BadUrl> for Failure {
    fn from(error: BadUrl) -> Self {
        Failure::new(Exit::BadUrl, error.0)
    }
}

impl FromStr for Url {
    type Err = BadUrl;

    //= rfc9114-4.3.1-5: :path is not empty
    fn from_str(text: &str) -> Result<Self, BadUrl> {
        let rest = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => rest,
            Some((scheme, rest)) => {
                return Err(BadUrl(format!(
                    "`{scheme}` is not spoken here; HTTP/3 URLs read https://{rest}"
                )));
            }
            None => return Err(BadUrl(format!("`{text}` is not a URL: expected https://HOST[:PORT]/PATH"))),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let split = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(split);
        let (host, port) = split_authority(authority)?;
        // Spaces and the like are encoded for people's convenience; what is encoded already stays as it is.
        let path = percent::encode_url(path);
        let path = if path.starts_with('/') { path } else { format!("/{path}") };
        Ok(Url { host, port, path })
    }
}

impl Url {
    /// The host and port as they stand in a request: the `:authority` of RFC 9114 section 4.3.1.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == 443 { host } else { format!("{host}:{}", self.port) }
    }

    /// Where a redirect from here leads (RFC 9110 section 10.2.2), if that is on the same server.
    pub fn redirected(&self, location: &str) -> Option<Url> {
        let location = location.split('#').next()?;
        let (folder, _) = self.path.split('?').next()?.rsplit_once('/')?;
        let text = match location {
            "" => return None,
            whole if whole.contains("://") => whole.to_owned(),
            authority if authority.starts_with("//") => format!("https:{authority}"),
            path if path.starts_with('/') => format!("https://{}{path}", self.authority()),
            relative => format!("https://{}{folder}/{relative}", self.authority()),
        };
        let url: Url = text.parse().ok()?;
        ((&url.host, url.port) == (&self.host, self.port)).then_some(url)
    }

    /// The last part of the path, decoded: the name under which `-O` keeps the file. `None` without a part that
    /// could be a file's name.
    pub fn file_name(&self) -> Option<OsString> {
        let path = self.path.split('?').next().unwrap_or_default();
        let name = percent::decode(path.rsplit('/').next().unwrap_or_default())?;
        let unusable =
            matches!(name.as_slice(), b"" | b"." | b"..") || name.iter().any(|byte| matches!(byte, b'/' | 0));
        (!unusable).then(|| OsString::from_vec(name))
    }
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "https://{}{}", self.authority(), self.path)
    }
}

//= rfc9114-4.3.1-1: no user name in an authority
fn split_authority(authority: &str) -> Result<(String, u16), BadUrl> {
    if authority.contains('@') {
        return Err(BadUrl("user names and passwords in URLs are not supported".into()));
    }
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (literal, after) = rest
            .split_once(']')
            .ok_or_else(|| BadUrl(format!("`{authority}` lacks the closing bracket of an IPv6 address")))?;
        if !matches!(literal.parse(), Ok(IpAddr::V6(_))) {
            return Err(BadUrl(format!("`{literal}` is not an IPv6 address")));
        }
        (literal, after.strip_prefix(':'))
    } else {
        match authority.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err(BadUrl(format!("write IPv6 addresses in brackets: [{authority}]")));
            }
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        }
    };
    if host.is_empty() || host.contains(char::is_whitespace) {
        return Err(BadUrl(format!("`{authority}` names no host")));
    }
    let port = match port {
        None | Some("") => 443,
        Some(text) => match text.parse() {
            Ok(port) if port != 0 => port,
            _ => return Err(BadUrl(format!("`{text}` is not a port: expected 1 to 65535"))),
        },
    };
    Ok((host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn parts_are_found() {
        let plain = url("https://example.org/a/b.bin?x=1#part");
        assert_eq!(
            (plain.host.as_str(), plain.port, plain.path.as_str()),
            ("example.org", 443, "/a/b.bin?x=1")
        );
        assert_eq!(plain.file_name(), Some("b.bin".into()));
        let v6 = url("https://[::1]:4433");
        assert_eq!((v6.host.as_str(), v6.port, v6.path.as_str()), ("::1", 4433, "/"));
        assert_eq!(v6.authority(), "[::1]:4433");
        assert_eq!(v6.file_name(), None);
    }

    #[test]
    fn spaces_are_encoded_and_escapes_kept() {
        let named = url("https://h/two words%21.txt");
        assert_eq!(named.path, "/two%20words%21.txt");
        assert_eq!(named.file_name(), Some("two words!.txt".into()));
    }

    #[test]
    fn a_name_cannot_lead_out_of_the_folder() {
        assert_eq!(
            url("https://h/a/%ff%FE").file_name(),
            Some(OsString::from_vec(vec![0xff, 0xfe])),
            "names are bytes"
        );
        assert_eq!(url("https://h/a/%2e%2e").file_name(), None);
        assert_eq!(url("https://h/..%2fpasswd").file_name(), None);
    }

    #[test]
    fn redirects_are_followed_on_the_same_server_only() {
        let from = url("https://h:4433/a/b?c=d");
        for (location, expected) in [
            ("/a/b/", Some("https://h:4433/a/b/")),
            ("c?e#f", Some("https://h:4433/a/c?e")),
            ("//h:4433/x", Some("https://h:4433/x")),
            ("https://h:4433/y", Some("https://h:4433/y")),
            ("https://h/y", None),
            ("https://other:4433/y", None),
            ("http://h:4433/y", None),
            ("#f", None),
        ] {
            let found = from.redirected(location).map(|url| url.to_string());
            assert_eq!(found.as_deref(), expected, "{location}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, part) in [
            ("example.org/x", "expected https://"),
            ("http://h/x", "https://h/x"),
            ("https://:443/x", "names no host"),
            ("https://h:99999/", "1 to 65535"),
            ("https://::1/", "brackets"),
            ("https://[::1/", "closing bracket"),
            ("https://u:p@h/", "passwords"),
        ] {
            let error = text.parse::<Url>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
