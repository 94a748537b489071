//! What is remembered of each path: its loss, and its place among the features.

use hawser_policy::{PathId, PathView, Time};

use super::features::MAX_PATHS;
use super::loss::LossWindow;
use super::parameters::FourDMapParameters;

/// The paths that were ever used and are not abandoned.
#[derive(Debug)]
pub(super) struct Paths {
    known: Vec<Known>,
    /// Places among the features.
    slots: usize,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    id: PathId,
    loss: LossWindow,
    /// As it was last asked for.
    loss_rate: f64,
    /// Kept for life, so that a model does not see paths change places; `None` if all were taken.
    slot: Option<usize>,
}

impl Paths {
    pub(super) fn new(slots: usize) -> Self {
        Paths { known: Vec::new(), slots: slots.min(MAX_PATHS) }
    }

    fn known(&mut self, id: PathId) -> &mut Known {
        let at = self.known.iter().position(|known| known.id == id).unwrap_or_else(|| {
            let is_free = |slot: &usize| self.known.iter().all(|known| known.slot != Some(*slot));
            let slot = (0..self.slots).find(is_free);
            self.known.push(Known { id, loss: LossWindow::default(), loss_rate: 0.0, slot });
            self.known.len() - 1
        });
        &mut self.known[at]
    }

    /// Where packets of a path are counted.
    pub(super) fn loss_of(&mut self, id: PathId) -> &mut LossWindow {
        &mut self.known(id).loss
    }

    /// Brings the loss rate of a path up to date.
    pub(super) fn measure(&mut self, now: Time, path: &PathView, parameters: &FourDMapParameters) {
        let length = parameters.loss_window.max(path.smoothed_rtt.saturating_mul(2));
        let known = self.known(path.id);
        known.loss_rate = known.loss.rate(now, length, parameters.loss_packets);
    }

    /// From 0 to 1, as it was last measured.
    pub(super) fn loss_rate(&self, id: PathId) -> f64 {
        self.known.iter().find(|known| known.id == id).map_or(0.0, |known| known.loss_rate)
    }

    /// The place of a path among the features, if it has one.
    pub(super) fn slot(&self, id: PathId) -> Option<usize> {
        self.known.iter().find(|known| known.id == id)?.slot
    }

    /// The path is gone; another one may take its place.
    pub(super) fn forget(&mut self, id: PathId) {
        self.known.retain(|known| known.id != id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_keeps_its_place_until_it_is_gone() {
        let mut paths = Paths::new(2);
        [3, 5, 7].into_iter().for_each(|id| paths.loss_of(PathId(id)).on_lost());
        let slots = |paths: &Paths| [3, 5, 7, 9].map(|id| paths.slot(PathId(id)));
        assert_eq!(slots(&paths), [Some(0), Some(1), None, None]);
        paths.forget(PathId(3));
        paths.loss_of(PathId(9)).on_lost();
        assert_eq!(slots(&paths), [None, Some(1), None, Some(0)]);
    }
}
