//! What attempts amount to.

use std::collections::BTreeMap;

use hawser_wifi::Phase;
use hawser_wifi::air::Encounter;
use serde::Serialize;

use crate::data::statistics::Spread;

/// A phase of the attempts of a client that had it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseReport {
    /// Which.
    pub phase: Phase,
    /// How long it took in successful attempts, seconds.
    pub times: Option<Spread>,
    /// Attempts that failed in it.
    pub failed: usize,
}

/// The attempts of a client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientReport {
    /// Its name.
    pub client: String,
    /// Attempts.
    pub attempts: usize,
    /// Those that succeeded.
    pub attached: usize,
    /// Of these, how many got the address of an earlier visit at once.
    pub known_addresses: usize,
    /// From the start of the authentication to a usable address, seconds.
    pub to_address_s: Option<Spread>,
    /// From the start of the authentication to keys, seconds.
    pub association_s: Option<Spread>,
    /// By phase, in their order; only phases that an attempt had.
    pub phases: Vec<PhaseReport>,
    /// How long addresses could be used, seconds in all.
    pub usable_s: f64,
}

/// What attempts amount to, by client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WifiReport {
    /// Clients by name.
    pub clients: Vec<ClientReport>,
}

impl WifiReport {
    /// Of these attempts.
    pub fn of(encounters: &[Encounter]) -> WifiReport {
        let mut by_client: BTreeMap<&str, Vec<&Encounter>> = BTreeMap::new();
        for encounter in encounters {
            by_client.entry(&encounter.client).or_default().push(encounter);
        }
        let clients = by_client.into_iter().map(|(client, attempts)| ClientReport::of(client, &attempts));
        WifiReport { clients: clients.collect() }
    }

    /// A client by its name.
    pub fn client(&self, name: &str) -> Option<&ClientReport> {
        self.clients.iter().find(|client| client.client == name)
    }

    /// The page.
    pub fn html(&self) -> String {
        super::page::page(self)
    }
}

impl ClientReport {
    fn of(client: &str, attempts: &[&Encounter]) -> ClientReport {
        let attached = || attempts.iter().copied().filter(|it| it.failed_in.is_none());
        let phase = |phase: Phase| {
            let times = Spread::of(attached().filter_map(|it| it.phase_s(phase)));
            let failed = attempts.iter().filter(|it| it.failed_in == Some(phase)).count();
            let is_there = times.is_some() || failed > 0;
            is_there.then_some(PhaseReport { phase, times, failed })
        };
        ClientReport {
            client: client.to_owned(),
            attempts: attempts.len(),
            attached: attached().count(),
            known_addresses: attached().filter(|it| it.is_known_address).count(),
            to_address_s: Spread::of(attached().map(Encounter::total_s)),
            association_s: Spread::of(attached().map(Encounter::association_s)),
            phases: Phase::ALL.into_iter().filter_map(phase).collect(),
            usable_s: attached().map(|it| it.up_s).sum(),
        }
    }

    /// What is known of a phase.
    pub fn phase(&self, phase: Phase) -> Option<&PhaseReport> {
        self.phases.iter().find(|known| known.phase == phase)
    }

    /// Mean seconds of a successful attempt in a phase; 0 in those that did not have it.
    pub(super) fn budget_s(&self, phase: Phase) -> f64 {
        let times = self.phase(phase).and_then(|known| known.times.as_ref());
        times.map_or(0.0, |times| times.mean * times.count as f64 / self.attached.max(1) as f64)
    }
}
