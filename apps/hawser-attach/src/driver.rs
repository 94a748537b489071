//! A session with wpa_supplicant, which does the exchanges of layer 2: Hawser does the rest.

use std::collections::BTreeMap;
use std::future::pending;
use std::time::Duration;

use hawser_policy::Time;
use hawser_wifi::air::Encounter;
use hawser_wifi::dhcp::Lease;
use hawser_wifi::supplicant::{self, networks, scan_commands, scan_results};
use hawser_wifi::{
    Action, Answer, Attachment, Bssid, Event, Exchange, Profile, Report, ScanKind, Settings, Sighting,
};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::address::Configurator;
use super::control::{Control, ControlError};
use super::interface::number;
use super::leases::LeaseFile;
use super::names::Names;
use super::packets::Packets;
use super::trouble::{Trouble, cannot};
use super::{Attach, show};
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;
use hawser_command::report::{print, to_json};

/// How often wpa_supplicant is asked whether it is alive, and the kernel whether the interface is the one of before.
const PING: Duration = Duration::from_secs(1);
/// To whom 802.1X over a cable speaks (the PAE group address).
const CABLE: Bssid = Bssid([0x01, 0x80, 0xc2, 0x00, 0x00, 0x03]);
/// A cable has nothing to scan; after a failure the next attempt begins this much later.
const CABLE_PAUSE: Duration = Duration::from_millis(100);

/// A session with a wpa_supplicant.
pub(super) struct Driver<'a> {
    arguments: &'a Attach,
    output: Output,
    leases: &'a mut LeaseFile,
    start: Instant,
    control: Control,
    packets: Packets,
    configurator: Configurator,
    /// `None`: name servers stay as they are.
    names: Option<&'a Names>,
    client: Attachment,
    networks: Vec<(u32, String)>,
    /// Access points of the newest scan, and whether they want access authentication.
    seen: BTreeMap<Bssid, (String, bool)>,
    with: Option<Bssid>,
    up: Option<Encounter>,
    /// When the scan of a cable is over.
    cable_scan: Option<Instant>,
}

impl<'a> Driver<'a> {
    pub(super) async fn connect(
        arguments: &'a Attach,
        output: Output,
        leases: &'a mut LeaseFile,
        start: Instant,
        names: Option<&'a Names>,
    ) -> Result<Self, Trouble> {
        let interface = &arguments.interface;
        let mut control = Control::connect(&arguments.control, interface)?;
        control.tell("ATTACH").await?;
        let known = networks(&control.ask("LIST_NETWORKS").await?);
        let wanted: Vec<String> = known.iter().map(|(_, ssid)| ssid.clone()).collect();
        if wanted.is_empty() {
            let hint = format!("{interface}: wpa_supplicant has no networks: add them to its configuration");
            return Err(Trouble::Failure(Failure::new(Exit::Failure, hint)));
        }
        let packets =
            Packets::open(interface).map_err(|error| cannot(interface, "watch for addresses", &error))?;
        let link = number(interface).ok_or(Trouble::Removed)?;
        let record = arguments.record_file("changed");
        let mut configurator = Configurator::new(link, arguments.metric, record)
            .map_err(|error| cannot(interface, "ask the kernel", &error))?;
        configurator.recover().await;
        if !arguments.cable {
            // From here on the choice is Hawser's.
            control.tell("DISCONNECT").await?;
        }
        output.remark(format_args!(
            "{interface}: wpa_supplicant does scans and exchanges of layer 2, with its own timers; choice and DHCP are hawser's"
        ));
        let settings = Settings {
            profile: Profile::SUPPLICANT,
            networks: wanted,
            choice: arguments.choose.into(),
            channels: arguments.channels.clone(),
            mac: packets.mac(),
        };
        let now = Time::ZERO + start.elapsed();
        Ok(Driver {
            arguments,
            output,
            leases,
            start,
            control,
            packets,
            configurator,
            names,
            client: Attachment::new(now, settings, rand::random()),
            networks: known,
            seen: BTreeMap::new(),
            with: None,
            up: None,
            cable_scan: None,
        })
    }

    fn now(&self) -> Time {
        Time::ZERO + self.start.elapsed()
    }

    /// Until Ctrl-C, or until wpa_supplicant has gone.
    pub(super) async fn drive(&mut self, interrupt: &mut Interrupt) -> Result<(), Trouble> {
        let mut ping = interval(PING);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            while let Some(action) = self.client.poll_action() {
                self.act(action).await?;
            }
            let timer = self.client.poll_timeout().map(|time| self.start + (time - Time::ZERO));
            tokio::select! {
                () = interrupt.raised() => return Ok(()),
                () = until(timer) => self.client.handle_timeout(self.now()),
                () = until(self.cable_scan) => self.end_cable_scan(),
                event = self.control.event() => self.handle(event?).await?,
                message = self.packets.receive() => {
                    let message = message.map_err(|error| self.failed("receive", &error))?;
                    self.client.handle(self.now(), Event::Dhcp(&message));
                }
                _ = ping.tick() => self.look().await?,
            }
        }
    }

    /// Looks whether wpa_supplicant and the interface are still there: neither says so when it goes.
    async fn look(&mut self) -> Result<(), Trouble> {
        if !self.has_interface() {
            return Err(Trouble::Removed);
        }
        self.control.ask("PING").await?;
        Ok(())
    }

    /// Returns true if the interface is the one of before: another one may have its name.
    fn has_interface(&self) -> bool {
        number(&self.arguments.interface) == Some(self.configurator.link())
    }

    fn failed(&self, what: &str, error: &std::io::Error) -> Trouble {
        if self.has_interface() { cannot(&self.arguments.interface, what, error) } else { Trouble::Removed }
    }

    /// What wpa_supplicant says, for the client.
    async fn handle(&mut self, event: supplicant::Event) -> Result<(), Trouble> {
        match event {
            supplicant::Event::ScanResults => {
                let text = self.control.ask("SCAN_RESULTS").await?;
                let now = self.now();
                self.seen.clear();
                for (sighting, has_eap) in scan_results(&text) {
                    self.seen.insert(sighting.bssid, (sighting.ssid.clone(), has_eap));
                    self.client.handle(now, Event::Heard(sighting));
                }
                self.client.handle(now, Event::ScanDone);
            }
            supplicant::Event::Associating => self.answer(Answer::Authenticated),
            supplicant::Event::Associated(_) => {
                self.answer(Answer::Authenticated);
                let known = self.with.and_then(|bssid| self.seen.get(&bssid));
                self.answer(Answer::Associated {
                    eap: self.arguments.cable || known.is_some_and(|known| known.1),
                });
            }
            supplicant::Event::EapSuccess => self.answer(Answer::Eap { number: 0, is_last: true }),
            supplicant::Event::EapFailure | supplicant::Event::Rejected => self.answer(Answer::Refused),
            supplicant::Event::Connected(_) => {
                // wpa_supplicant may give the interface another one for each network.
                match self.packets.read_mac() {
                    Ok(mac) => self.client.set_mac(mac),
                    Err(error) => tracing::debug!(%error, "the hardware address was not read"),
                }
                self.client.handle(self.now(), Event::LinkUp);
            }
            supplicant::Event::Disconnected if self.with.is_some() => {
                self.client.handle(self.now(), Event::LinkLost);
            }
            supplicant::Event::Terminating => {
                return Err(ControlError::Gone(std::io::Error::other("it says that it ends")).into());
            }
            supplicant::Event::Disconnected
            | supplicant::Event::ScanFailed
            | supplicant::Event::Authenticating
            | supplicant::Event::EapStarted => {}
        }
        Ok(())
    }

    fn answer(&mut self, answer: Answer) {
        if let Some(from) = self.with {
            self.client.handle(self.now(), Event::Answered { from, answer });
        }
    }

    async fn act(&mut self, action: Action) -> Result<(), Trouble> {
        match action {
            Action::Scan { .. } if self.arguments.cable => {
                self.cable_scan = Some(Instant::now() + CABLE_PAUSE)
            }
            Action::Scan { kind, channels, .. } => self.scan(kind, &channels).await?,
            Action::WantLease { ssid } => {
                if let Some(lease) = self.leases.get(&ssid) {
                    self.client.know_lease(&ssid, lease);
                }
            }
            Action::Send { to, exchange: Exchange::Authenticate } => self.select(to).await?,
            // wpa_supplicant goes on by itself.
            Action::Send { .. } => {}
            Action::Dhcp(message) => {
                let source = self.configurator.address().unwrap_or(std::net::Ipv4Addr::UNSPECIFIED);
                self.packets.send(source, &message).await;
            }
            Action::Disconnect => {
                self.with = None;
                self.unset().await;
                if !self.arguments.cable {
                    self.control.tell("DISCONNECT").await?;
                }
            }
            Action::Report(report) => self.note(report).await?,
        }
        Ok(())
    }

    /// One that is refused (the radio is busy) is over when its time is.
    async fn scan(&mut self, kind: ScanKind, channels: &[u16]) -> Result<(), Trouble> {
        for command in scan_commands(kind, channels) {
            match self.control.tell(&command).await {
                Err(ControlError::Refused { answer, .. }) => tracing::debug!(command, answer, "refused"),
                result => result?,
            }
        }
        Ok(())
    }

    fn end_cable_scan(&mut self) {
        self.cable_scan = None;
        let now = self.now();
        for (_, ssid) in self.networks.clone() {
            self.client.handle(now, Event::Heard(Sighting { bssid: CABLE, ssid, mhz: 0, dbm: 0.0 }));
        }
        self.client.handle(now, Event::ScanDone);
    }

    /// Has wpa_supplicant attach to this access point.
    async fn select(&mut self, to: Bssid) -> Result<(), Trouble> {
        self.with = Some(to);
        if self.arguments.cable {
            return Ok(self.control.tell("REASSOCIATE").await?);
        }
        let ssid = self.seen.get(&to).map(|known| &known.0);
        let network = self.networks.iter().find(|(_, name)| Some(name) == ssid);
        let Some((number, _)) = network else { return Ok(()) };
        self.control.tell(&format!("BSSID {number} {to}")).await?;
        Ok(self.control.tell(&format!("SELECT_NETWORK {number}")).await?)
    }

    async fn note(&mut self, report: Report) -> Result<(), Trouble> {
        let now_s = self.start.elapsed().as_secs_f64();
        let client = Profile::SUPPLICANT.name;
        match report {
            Report::Up(attached) => {
                self.set(&attached.lease).await?;
                let known =
                    Encounter::new(client, now_s, &attached.sighting, &attached.timeline, attached.resent);
                let encounter = Encounter {
                    address: Some(attached.lease.address),
                    is_known_address: attached.is_known_address,
                    ..known
                };
                self.show(&encounter);
                self.up = Some(encounter);
                self.leases.put(&attached.sighting.ssid, attached.lease);
            }
            Report::Renewed(lease) => self.set(&lease).await?,
            Report::Failed(failed) => {
                let known = Encounter::new(client, now_s, &failed.sighting, &failed.timeline, failed.resent);
                let encounter = Encounter { failed_in: Some(failed.phase), ..known };
                self.show(&encounter);
                self.keep(&encounter)?;
            }
            Report::Down { up, .. } => self.end_encounter(up)?,
        }
        Ok(())
    }

    async fn set(&mut self, lease: &Lease) -> Result<(), Trouble> {
        let interface = &self.arguments.interface;
        let what = format!("set the address {}", lease.address);
        let set = self.configurator.set(lease).await;
        let refused = set.map_err(|error| self.failed(&what, &error))?;
        if !refused.is_empty() {
            self.output.remark(format_args!("{interface}: {}", refused.join("; ")));
        }
        if let Some(names) = self.names {
            names.set(self.configurator.link(), &lease.name_servers);
        }
        Ok(())
    }

    /// Undoes what a lease has set.
    async fn unset(&mut self) {
        self.configurator.remove().await;
        if let Some(names) = self.names {
            names.remove();
        }
    }

    /// The attachment that was up is over.
    fn end_encounter(&mut self, up: Duration) -> Result<(), Trouble> {
        let Some(encounter) = self.up.take() else { return Ok(()) };
        let encounter = Encounter { up_s: up.as_secs_f64(), ..encounter };
        if !self.output.json && !self.output.quiet {
            print(format_args!(
                "{:9.2} s  {} down after {:.1} s",
                self.start.elapsed().as_secs_f64(),
                encounter.bssid,
                encounter.up_s
            ));
        }
        self.keep(&encounter)
    }

    fn show(&self, encounter: &Encounter) {
        if !self.output.json && !self.output.quiet {
            print(show::line(encounter));
        }
    }

    /// Prints a finished record, and appends it to the file.
    fn keep(&self, encounter: &Encounter) -> Result<(), Trouble> {
        let line = to_json(encounter);
        if self.output.json {
            print(&line);
        }
        self.arguments
            .output
            .as_deref()
            .map_or(Ok(()), |file| show::append(file, &line))
            .map_err(Trouble::Failure)
    }

    /// Removes the address, and gives the choice back to wpa_supplicant if it is there.
    pub(super) async fn leave(mut self) {
        self.unset().await;
        if let Some(up) = self.up.as_ref() {
            let up_s = self.start.elapsed().as_secs_f64() - up.at_s - up.total_s();
            let _ = self.end_encounter(Duration::from_secs_f64(up_s.max(0.0)));
        }
        if self.arguments.cable {
            return;
        }
        for (number, _) in self.networks.clone() {
            let _ = self.control.tell(&format!("BSSID {number} any")).await;
        }
        let _ = self.control.tell("ENABLE_NETWORK all").await;
        let _ = self.control.tell("RECONNECT").await;
    }
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}
