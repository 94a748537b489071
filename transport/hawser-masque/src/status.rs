//! `Proxy-Status` (RFC 9209): what went wrong behind a proxy.

use std::fmt;

use http::StatusCode;

/// The field's name.
pub const PROXY_STATUS: &str = "proxy-status";
/// Most bytes of a field that are read.
const MAX_FIELD: usize = 2_048;
/// Most bytes of the details that are written, and read.
const MAX_DETAILS: usize = 512;

/// What went wrong (RFC 9209 section 2.3), as far as tunnels know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProxyError {
    /// The name could not be looked up in time.
    DnsTimeout,
    /// The name does not exist, or has no address.
    DnsError,
    /// The proxy's rules forbid the address.
    DestinationIpProhibited,
    /// There is no route to the address.
    DestinationIpUnroutable,
    /// Nobody listens on the port.
    ConnectionRefused,
    /// The host did not answer.
    ConnectionTimeout,
    /// The connection was lost.
    ConnectionTerminated,
    /// The user has as many tunnels as may be.
    ConnectionLimitReached,
    /// The request is none that the proxy takes.
    HttpRequestError,
    /// The user may not ask for that.
    HttpRequestDenied,
    /// The proxy itself has a problem.
    ProxyInternalError,
}

/// Each with its name and the status code that RFC 9209 recommends; where it does not insist, the one that says most.
const ERRORS: [(ProxyError, &str, StatusCode); 11] = [
    (ProxyError::DnsTimeout, "dns_timeout", StatusCode::GATEWAY_TIMEOUT),
    (ProxyError::DnsError, "dns_error", StatusCode::BAD_GATEWAY),
    (ProxyError::DestinationIpProhibited, "destination_ip_prohibited", StatusCode::FORBIDDEN),
    (ProxyError::DestinationIpUnroutable, "destination_ip_unroutable", StatusCode::BAD_GATEWAY),
    (ProxyError::ConnectionRefused, "connection_refused", StatusCode::BAD_GATEWAY),
    (ProxyError::ConnectionTimeout, "connection_timeout", StatusCode::GATEWAY_TIMEOUT),
    (ProxyError::ConnectionTerminated, "connection_terminated", StatusCode::BAD_GATEWAY),
    (ProxyError::ConnectionLimitReached, "connection_limit_reached", StatusCode::SERVICE_UNAVAILABLE),
    (ProxyError::HttpRequestError, "http_request_error", StatusCode::BAD_REQUEST),
    (ProxyError::HttpRequestDenied, "http_request_denied", StatusCode::FORBIDDEN),
    (ProxyError::ProxyInternalError, "proxy_internal_error", StatusCode::INTERNAL_SERVER_ERROR),
];

impl ProxyError {
    /// The name in the field.
    pub fn name(self) -> &'static str {
        ERRORS.iter().find(|(error, ..)| *error == self).map_or("proxy_internal_error", |(_, name, _)| name)
    }

    /// The status code of a response that says so.
    pub fn status(self) -> StatusCode {
        let found = ERRORS.iter().find(|(error, ..)| *error == self);
        found.map_or(StatusCode::BAD_GATEWAY, |(.., status)| *status)
    }

    /// What a status code alone stands for, of proxies that send no field.
    pub fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::GATEWAY_TIMEOUT => ProxyError::ConnectionTimeout,
            StatusCode::BAD_GATEWAY => ProxyError::ConnectionTerminated,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                ProxyError::ConnectionLimitReached
            }
            status if status.is_client_error() => ProxyError::HttpRequestDenied,
            _ => ProxyError::ProxyInternalError,
        }
    }
}

/// A member of the field: who says it, what went wrong, and details for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyStatus {
    /// What went wrong.
    pub error: ProxyError,
    /// One line for people: printable ASCII.
    pub details: String,
}

impl ProxyStatus {
    /// With these details, of which only printable ASCII is kept.
    pub fn new(error: ProxyError, details: impl fmt::Display) -> Self {
        let details = details.to_string();
        let kept =
            details.chars().map(|character| if matches!(character, ' '..='~') { character } else { '?' });
        ProxyStatus { error, details: kept.take(MAX_DETAILS).collect() }
    }

    /// The value of the field; `proxy` is a token (RFC 9110 section 5.6.2) that names who says it.
    pub fn to_field(&self, proxy: &str) -> String {
        let details = self.details.replace('\\', "\\\\").replace('"', "\\\"");
        format!("{proxy}; error={}; details=\"{details}\"", self.error.name())
    }

    /// Reads the first member of a field that has an error. Malformed details are left out; `None` without an error that
    /// is known.
    pub fn parse(field: &str) -> Option<Self> {
        let field = field.get(..field.len().min(MAX_FIELD))?;
        for member in split_outside_quotes(field, ',') {
            let mut parameters =
                split_outside_quotes(member, ';').skip(1).filter_map(|part| part.trim().split_once('='));
            let parameters: Vec<(&str, &str)> = parameters.by_ref().collect();
            let value =
                |wanted: &str| parameters.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
            let error = value("error").and_then(|name| ERRORS.iter().find(|(_, known, _)| *known == name));
            if let Some((error, ..)) = error {
                let details = value("details").and_then(unquote).unwrap_or_default();
                return Some(ProxyStatus::new(*error, details));
            }
        }
        None
    }
}

/// The pieces between separators that are not within a string.
fn split_outside_quotes(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |character| {
        let is_separator = !is_quoted && character == separator;
        if is_escaped {
            is_escaped = false;
        } else if is_quoted && character == '\\' {
            is_escaped = true;
        } else if character == '"' {
            is_quoted = !is_quoted;
        }
        is_separator
    })
}

/// The content of a string (RFC 9651 section 3.3.3).
fn unquote(text: &str) -> Option<String> {
    let inner = text.trim().strip_prefix('"')?.strip_suffix('"')?;
    let mut content = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        content.push(if character == '\\' { characters.next()? } else { character });
    }
    Some(content)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fields_of_others_are_read() {
        let parse = |field: &str| ProxyStatus::parse(field).map(|status| (status.error, status.details));
        let refused = ProxyError::ConnectionRefused;
        assert_eq!(parse("p; error=connection_refused"), Some((refused, String::new())));
        assert_eq!(
            parse(
                "a; received-status=200, \"b; c, d\"; details=\"x, y; \\\"z\\\"\"; error=connection_refused"
            ),
            Some((refused, "x, y; \"z\"".to_owned()))
        );
        for field in ["", "p", "p; error=of_its_own", "p; error", "\"p; error=connection_refused"] {
            assert_eq!(parse(field), None, "{field}");
        }
    }

    #[test]
    fn each_error_has_a_name_of_its_own() {
        for (error, name, status) in ERRORS {
            assert_eq!((error.name(), error.status()), (name, status));
            let read = ProxyStatus::parse(&ProxyStatus::new(error, "").to_field("hawser"));
            assert_eq!(read.map(|status| status.error), Some(error));
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(details in ".{0,300}") {
            let status = ProxyStatus::new(ProxyError::DnsError, details);
            let field = status.to_field("hawser");
            prop_assert!(http::HeaderValue::from_str(&field).is_ok());
            prop_assert_eq!(ProxyStatus::parse(&field), Some(status));
        }

        #[test]
        fn any_field_can_be_read(field: String) {
            let _ = ProxyStatus::parse(&field);
        }
    }
}
