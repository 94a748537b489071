//! `hawser wifi`: fast attachment to WiFi, after X-Fi (F. Yang, thesis, chapter 3.1).

mod address;
mod attach;
mod control;
mod driver;
mod fake;
mod interface;
mod leases;
mod names;
mod packets;
mod record;
mod report;
mod show;
mod trouble;
mod watch;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use hawser_wifi::Choice;
use hawser_wifi::air::City;

use hawser_command::exit::Failure;
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;

const EXAMPLES: &str = "\
A client that passes access points within seconds cannot wait for the timers of a stock one. X-Fi waits 100 ms for each answer, sends \
five times again, does not probe its address, and scans only where it has seen something. docs/wifi.md says what is there and what is not.

Examples:
  hawser wifi fake                                                  encounters of a drive in virtual time, as they come
  hawser wifi fake --client xfi,stock -o drive.jsonl && hawser wifi report drive.jsonl   time budgets next to a stock client's
  hawser wifi fake --city macao --pace 10                           ten times as fast as it would be
  hawser wifi attach wlan0 -o car.jsonl                             a real interface, until Ctrl-C
  hawser wifi watch wlan0 > /run/links.jsonl                        access point, channel and signal, for `hawser measure --link-state`
  hawser wifi fake --json | jq '{client, at_s, ssid, failed_in, phases_ms}'";

/// `hawser wifi`.
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLES)]
pub enum Wifi {
    /// Drive through a city in virtual time, with access points that come and go, and show each attempt to attach
    Fake(Fake),
    /// Attach an interface, and get its address by DHCP, whenever an access point is in reach; needs a wpa_supplicant
    Attach(Box<Attach>),
    /// Print what the kernel knows of the access point (nl80211), ten times a second: link states for --link-state
    Watch(Watch),
    /// Make a page of attempts: time budgets by phase and client
    Report(Report),
}

/// Arguments of `hawser wifi fake`.
#[derive(Args, Debug)]
pub struct Fake {
    /// The city whose encounters there are
    #[arg(long, value_enum, value_name = "CITY", default_value = "bologna")]
    city: CityName,
    /// Length of the drive, hours
    #[arg(long, value_name = "HOURS", default_value = "0.25", value_parser = hours)]
    hours: f64,
    /// Seed of the drive: the same one gives every client the same access points
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Clients that drive, one after the other: xfi, xfi-resuming (leases and EAP sessions of earlier visits), stock (wpa_supplicant and
    /// dhcpcd), stock-without-probes
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "xfi")]
    client: Vec<String>,
    /// Which of several access points is taken
    #[arg(long, value_enum, value_name = "RULE", default_value = "strongest")]
    choose: ChoiceName,
    /// Show encounters this many times as fast as they take place. Default: as soon as they are computed
    #[arg(long, value_name = "FACTOR", value_parser = pace)]
    pace: Option<f64>,
    /// Keep the attempts in this file, a JSON object per line
    #[arg(short, long, alias = "out", value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Arguments of `hawser wifi attach`.
#[derive(Args, Debug)]
pub struct Attach {
    /// The interface. No other DHCP client may configure it
    interface: String,
    /// Folder with the control sockets of wpa_supplicant (its `ctrl_interface`)
    #[arg(long, value_name = "DIR", default_value = "/run/wpa_supplicant")]
    control: PathBuf,
    /// Which of several access points is taken
    #[arg(long, value_enum, value_name = "RULE", default_value = "strongest")]
    choose: ChoiceName,
    /// Frequencies to scan, MHz. Default: all that the radio may use
    #[arg(long, value_name = "MHZ,..", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(2000..=7200))]
    channels: Vec<u16>,
    /// The interface is a cable with 802.1X: there is nothing to scan
    #[arg(long, conflicts_with_all = ["channels", "choose"])]
    cable: bool,
    /// File with the leases of earlier visits, whose addresses are asked for first; next to it stands what has to be undone after a crash.
    /// Default: hawser/IFACE.leases.json in $XDG_STATE_HOME or ~/.local/state
    #[arg(long, value_name = "FILE")]
    leases: Option<PathBuf>,
    /// Metric of routes over it: larger ones are used less
    #[arg(long, value_name = "N", default_value = "600")]
    metric: u32,
    /// File with which programs find name servers. Where it names systemd-resolved, that gets them instead; else a program `resolvconf`,
    /// where there is one
    #[arg(long, value_name = "FILE", default_value = names::RESOLV_CONF)]
    resolv_conf: PathBuf,
    /// Leave name servers as they are
    #[arg(long, conflicts_with = "resolv_conf")]
    no_names: bool,
    /// Append each attempt to this file, a JSON object per line: for `hawser wifi report`
    #[arg(short, long, alias = "out", value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Attach {
    /// Where leases are kept.
    fn lease_file(&self) -> PathBuf {
        self.leases.clone().unwrap_or_else(|| {
            let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
            let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).or_else(home);
            state.unwrap_or_default().join("hawser").join(format!("{}.leases.json", self.interface))
        })
    }

    /// Where it stands what has to be undone of this kind: next to the leases.
    fn record_file(&self, kind: &str) -> PathBuf {
        self.lease_file().with_file_name(format!("{}.{kind}.json", self.interface))
    }
}

/// Arguments of `hawser wifi watch`.
#[derive(Args, Debug)]
pub struct Watch {
    /// The interface, of a WiFi card
    interface: String,
    /// Tell rates too: the radio's bit rates times this share, 0 to 1, as an estimate of what is left for IP packets. Default: no rates
    #[arg(long, value_name = "SHARE", value_parser = share)]
    airtime: Option<f64>,
}

/// Arguments of `hawser wifi report`.
#[derive(Args, Debug)]
pub struct Report {
    /// Files with attempts: what -o of the other commands writes
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The page
    #[arg(short, long, alias = "out", value_name = "FILE", default_value = "wifi.html")]
    output: PathBuf,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum CityName {
    /// 2.4 GHz only, short encounters, silent DHCP servers
    Paris,
    /// Many short encounters
    Bologna,
    /// Long encounters, slow authentication
    LosAngeles,
    /// Few encounters
    Macao,
}

impl From<CityName> for City {
    fn from(name: CityName) -> City {
        match name {
            CityName::Paris => City::Paris,
            CityName::Bologna => City::Bologna,
            CityName::LosAngeles => City::LosAngeles,
            CityName::Macao => City::Macao,
        }
    }
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum ChoiceName {
    /// The one that is heard best
    Strongest,
    /// One at 5 GHz above -75 dBm first
    #[value(name = "prefer_5ghz")]
    Prefer5Ghz,
    /// The one with the best goodput so far
    History,
}

impl From<ChoiceName> for Choice {
    fn from(name: ChoiceName) -> Choice {
        match name {
            ChoiceName::Strongest => Choice::Strongest,
            ChoiceName::Prefer5Ghz => Choice::Prefer5Ghz,
            ChoiceName::History => Choice::History,
        }
    }
}

/// Attaches, drives, or makes a page.
pub async fn run(command: Wifi, output: Output, interrupt: Interrupt) -> Result<(), Failure> {
    match command {
        Wifi::Fake(arguments) => fake::run(&arguments, output, interrupt).await,
        Wifi::Attach(arguments) => attach::run(&arguments, output, interrupt).await,
        Wifi::Watch(arguments) => watch::run(&arguments, interrupt).await,
        Wifi::Report(arguments) => report::run(&arguments, output),
    }
}

fn hours(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|hours| *hours > 0.0 && *hours <= 1000.0);
    value.ok_or_else(|| format!("`{text}`: expected hours above 0, 1000 at most"))
}

fn share(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|share| *share > 0.0 && *share <= 1.0);
    value.ok_or_else(|| format!("`{text}`: expected a share above 0, 1 at most, such as 0.6"))
}

fn pace(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|factor| *factor >= 0.01 && factor.is_finite());
    value.ok_or_else(|| format!("`{text}`: expected a factor of 0.01 or more, such as 1 or 10"))
}
