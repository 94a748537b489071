//! What a source of link states says of a link during a session.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use hawser_lab::data::measure::Radio;

use hawser::LinkStateFile;
use hawser::policy::{AttachmentPoint, LinkInfo, LinkObserver, LinkState, Time};

/// The source, shared by the interfaces.
pub(super) struct RadioSource {
    began: Instant,
    asked: Mutex<Asked>,
}

struct Asked {
    file: LinkStateFile,
    links: Vec<LinkInfo>,
}

impl RadioSource {
    pub(super) fn new(path: &Path) -> Self {
        let asked = Asked { file: LinkStateFile::new(path), links: Vec::new() };
        RadioSource { began: Instant::now(), asked: Mutex::new(asked) }
    }

    /// What is known of a link now.
    pub(super) fn observe(&self, link: &LinkInfo) -> Option<LinkState> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if !asked.links.contains(link) {
            asked.links.retain(|known| known.id != link.id);
            asked.links.push(link.clone());
            let Asked { file, links } = &mut *asked;
            file.on_links(links);
        }
        asked.file.observe(Time::ZERO + self.began.elapsed(), link.id)
    }
}

/// What was said during a session.
#[derive(Default)]
pub(super) struct RadioLog {
    radio: Radio,
    mean: f64,
    /// Sum of the squared deviations from the mean (Welford).
    squares: f64,
}

impl RadioLog {
    pub(super) fn add(&mut self, state: &LinkState) {
        let radio = &mut self.radio;
        radio.point = radio.point.take().or_else(|| state.attached_to.map(name));
        radio.channel = radio.channel.or(state.channel);
        let Some(dbm) = state.signal.strength_dbm else { return };
        radio.first_dbm.get_or_insert(dbm);
        radio.count += 1;
        let before = dbm - self.mean;
        self.mean += before / radio.count as f64;
        self.squares += before * (dbm - self.mean);
    }

    /// `None` if nothing was said.
    pub(super) fn radio(&self) -> Option<Radio> {
        let mut radio = self.radio.clone();
        if radio.count > 0 {
            radio.mean_dbm = Some(self.mean);
            radio.deviation_db = Some((self.squares / radio.count as f64).sqrt());
        }
        (radio != Radio::default()).then_some(radio)
    }
}

/// A BSSID as such, anything else with a word.
fn name(point: AttachmentPoint) -> String {
    match point {
        AttachmentPoint::AccessPoint(_) => point.to_string().trim_start_matches("access point ").to_owned(),
        other => other.to_string(),
    }
}
