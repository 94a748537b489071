//! Events that matter to an attachment.

use crate::choose::Bssid;

/// What happens in wpa_supplicant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A scan is over: `SCAN_RESULTS` has what it heard.
    ScanResults,
    /// A scan could not be made.
    ScanFailed,
    /// 802.11 authentication begins.
    Authenticating,
    /// 802.11 association begins: it is authenticated.
    Associating,
    /// Associated with this access point.
    Associated(Option<Bssid>),
    /// Access authentication begins.
    EapStarted,
    /// It has succeeded.
    EapSuccess,
    /// It has failed: credentials, or the server.
    EapFailure,
    /// Keys are there: the link carries data.
    Connected(Option<Bssid>),
    /// The access point is gone, or was left.
    Disconnected,
    /// An access point does not let us in.
    Rejected,
    /// wpa_supplicant ends.
    Terminating,
}

impl Event {
    /// From a datagram; `None`: an answer, or an event that does not matter.
    pub fn parse(datagram: &str) -> Option<Event> {
        let (level, text) = datagram.strip_prefix('<')?.split_once('>')?;
        if level.is_empty() || level.len() > 2 || !level.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let word = text.split_whitespace().next()?;
        let address = || text.split_whitespace().find_map(|word| word.parse::<Bssid>().ok());
        Some(match word {
            "CTRL-EVENT-SCAN-RESULTS" => Event::ScanResults,
            "CTRL-EVENT-SCAN-FAILED" => Event::ScanFailed,
            "CTRL-EVENT-EAP-STARTED" => Event::EapStarted,
            "CTRL-EVENT-EAP-SUCCESS" => Event::EapSuccess,
            "CTRL-EVENT-EAP-FAILURE" | "CTRL-EVENT-EAP-TIMEOUT-FAILURE" => Event::EapFailure,
            "CTRL-EVENT-CONNECTED" => Event::Connected(address()),
            "CTRL-EVENT-DISCONNECTED" => Event::Disconnected,
            "CTRL-EVENT-ASSOC-REJECT" | "CTRL-EVENT-AUTH-REJECT" | "CTRL-EVENT-SSID-TEMP-DISABLED" => {
                Event::Rejected
            }
            "CTRL-EVENT-TERMINATING" => Event::Terminating,
            "SME:" if text.contains("Trying to authenticate") => Event::Authenticating,
            "Trying" if text.contains("Trying to associate") => Event::Associating,
            "Associated" => Event::Associated(address()),
            _ => return None,
        })
    }

    /// Whether a datagram is an event, be it one that matters or not: everything else is an answer to a command.
    pub fn is_event(datagram: &str) -> bool {
        datagram.starts_with('<')
    }
}
