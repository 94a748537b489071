//! What distinguishes clients: their timers.

use std::time::Duration;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// How an exchange is repeated until it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How long the first transmission waits for its answer.
    pub timeout: Duration,
    /// How often it is sent again before the attempt is abandoned.
    pub resends: u32,
    /// Whether each wait is twice the one before.
    pub doubling: bool,
    /// Each wait is longer or shorter by up to this (RFC 2131 section 4.1).
    pub jitter: Duration,
}

impl Retry {
    const fn fixed(timeout: Duration, resends: u32) -> Retry {
        Retry { timeout, resends, doubling: false, jitter: Duration::ZERO }
    }

    const fn doubling(timeout: Duration, resends: u32) -> Retry {
        Retry { timeout, resends, doubling: true, jitter: Duration::ZERO }
    }

    /// How long to wait after the transmission of this number, from 0. `unit`: a random number in [0, 1).
    pub(crate) fn wait(&self, number: u32, unit: f64) -> Duration {
        let scale = if self.doubling { 1 << number.min(16) } else { 1 };
        let around = self.timeout.saturating_mul(scale);
        let jitter = self.jitter.as_secs_f64() * (2.0 * unit - 1.0);
        Duration::from_secs_f64((around.as_secs_f64() + jitter).max(0.001))
    }
}

/// The timers and habits of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// How it is called.
    pub name: &'static str,
    /// How long a passive scan listens on each channel. A beacon comes every 102.4 ms.
    pub passive_dwell: Duration,
    /// How long an active scan waits on each channel for an answer to its probe.
    pub active_dwell: Duration,
    /// After a failed attempt: an active scan of the channels of access points that were seen and not tried, while the passive scan
    /// is no older than this. `None`: always another passive scan.
    pub active_scan_within: Option<Duration>,
    /// 802.11 authentication.
    pub authenticate: Retry,
    /// 802.11 association.
    pub associate: Retry,
    /// Each EAP exchange. Separate from the others: an authentication server may be slower than an access point.
    pub eap: Retry,
    /// Each half of the 4-way handshake.
    pub handshake: Retry,
    /// Each DHCP message.
    pub dhcp: Retry,
    /// What follows when nobody answered those, and no other access point is near that has not been tried: DHCP messages are sent
    /// again like this. A server may probe an address before it offers it (dnsmasq: for 3 s). `None`: the attempt has failed.
    pub dhcp_patience: Option<Retry>,
    /// With a lease that has not expired the client asks for its address at once (INIT-REBOOT, RFC 2131 section 3.2), this often,
    /// before it begins with DISCOVER. `None`: it always begins with DISCOVER.
    pub reboot: Option<Retry>,
    /// Whether the new address is probed by ARP before it is used (RFC 5227 section 2.1.1): four to seven seconds.
    pub probes_address: bool,
    /// Whether EAP resumes an earlier session where the network lets it.
    pub resumes_eap: bool,
}

impl Profile {
    /// X-Fi: 100 ms and five re-sends for each exchange, no probing.
    pub const FAST: Profile = Profile {
        name: "xfi",
        passive_dwell: ms(100),
        active_dwell: ms(20),
        active_scan_within: Some(ms(5000)),
        authenticate: Retry::fixed(ms(100), 5),
        associate: Retry::fixed(ms(100), 5),
        eap: Retry::fixed(ms(100), 5),
        handshake: Retry::fixed(ms(100), 5),
        dhcp: Retry::fixed(ms(100), 5),
        dhcp_patience: None,
        reboot: None,
        probes_address: false,
        resumes_eap: false,
    };

    /// The same, and what the thesis' client does not do: it asks for the address of an earlier lease first, and resumes EAP sessions.
    pub const FAST_RESUMING: Profile = Profile {
        name: "xfi-resuming",
        reboot: Some(Retry::fixed(ms(100), 1)),
        resumes_eap: true,
        ..Profile::FAST
    };

    /// The defaults of wpa_supplicant and dhcpcd: 200 ms three times, EAP and keys after 3 s and then twice as long, DHCP after 4, 8 and 16 s,
    /// three ARP probes.
    pub const STOCK: Profile = Profile {
        name: "stock",
        passive_dwell: ms(100),
        active_dwell: ms(20),
        active_scan_within: None,
        authenticate: Retry::fixed(ms(200), 2),
        associate: Retry::fixed(ms(200), 2),
        eap: Retry::doubling(ms(3000), 3),
        handshake: Retry::doubling(ms(3000), 3),
        dhcp: Retry { timeout: ms(4000), resends: 3, doubling: true, jitter: ms(1000) },
        dhcp_patience: None,
        reboot: None,
        probes_address: true,
        resumes_eap: false,
    };

    /// The stock client without ARP probes: how much of the difference they are.
    pub const STOCK_WITHOUT_PROBES: Profile =
        Profile { name: "stock-without-probes", probes_address: false, ..Profile::STOCK };

    /// With wpa_supplicant in charge of everything up to the keys: a limit for each phase as a whole (what the fast
    /// profile would wait at most), and the fast DHCP client, which begins with the lease of last time and, where there is no other
    /// access point to go to, waits 6 s for a slow server.
    pub const SUPPLICANT: Profile = Profile {
        name: "supplicant",
        authenticate: Retry::fixed(ms(1200), 0),
        associate: Retry::fixed(ms(600), 0),
        eap: Retry::fixed(ms(6000), 0),
        handshake: Retry::fixed(ms(1200), 0),
        dhcp_patience: Some(Retry::fixed(ms(400), 13)),
        ..Profile::FAST_RESUMING
    };

    /// Those that are compared with each other.
    pub const ALL: [Profile; 4] =
        [Profile::FAST, Profile::FAST_RESUMING, Profile::STOCK, Profile::STOCK_WITHOUT_PROBES];

    /// One of [`Profile::ALL`] by its name.
    pub fn named(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|profile| profile.name == name)
    }
}
