//! Attachment to WiFi for a host that passes access points within seconds: X-Fi (F. Yang, thesis, Sorbonne Université and
//! UCAS 2022, chapter 3.1), and the stock client that it is compared with.
//!
//! ```text
//!            sightings, answers, DHCP messages                   scans, exchanges, DHCP messages
//!  driver ------------------------------------> Attachment ------------------------------------> driver
//!  (the fake air in virtual time, or            |  scan -> choose -> authenticate -> associate
//!   wpa_supplicant and a packet socket)         |  -> EAP -> 4-way handshake -> DHCP (-> probe) -> up
//!                                               +--> Report: up, failed, down; with a time for each phase
//! ```
//!
//! [`Attachment`] is a state machine without I/O: time is an argument, and randomness comes from a seed. What distinguishes a
//! fast client from a stock one is data, a [`Profile`]: how long each exchange waits for its answer, how often it is sent again,
//! whether the address is probed for duplicates, whether a lease and an authentication are resumed. [`dhcp`] is the DHCP client, with real
//! messages. [`air`] has access points that come and go as the encounters of `hawser-radio` do, lose and delay
//! exchanges, and hand out addresses; it runs a drive of hours in a fraction of a second. [`supplicant`] reads what
//! wpa_supplicant says on its control socket, [`nl80211`] what the kernel knows of the access point.
//!
//! ```
//! use hawser_wifi::{Profile, air};
//! use hawser_radio::City;
//!
//! let drive = air::Drive::in_city(City::Bologna, 0.1, 1).unwrap();
//! let fast = drive.run(&Profile::FAST);
//! let stock = drive.run(&Profile::STOCK);
//! assert!(air::usable(&fast) > air::usable(&stock));
//! ```

pub mod air;
mod attach;
mod choose;
pub mod dhcp;
pub mod nl80211;
mod phase;
mod profile;
mod retransmit;
pub mod supplicant;

pub use attach::{
    Action, Answer, Attached, Attachment, Event, Exchange, Failed, MAX_SIGHTINGS, Report, ScanKind, Settings,
};
pub use choose::{Band, Bssid, Choice, History, Sighting};
pub use phase::{Phase, Timeline};
pub use profile::{Profile, Retry};
