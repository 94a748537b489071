//! Seeds that keep training apart from judging.

use hawser_numbers::{SplitMix64, fnv1a};

/// What a session is for. Videos, viewers and networks of different purposes come from different seeds, whatever number is
/// given: nothing that judges was seen in training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// Training: four videos.
    #[default]
    Training,
    /// Choosing among weights: the training videos with reserved viewers and networks.
    Selection,
    /// Judging: another video, other viewers and networks.
    Judging,
}

impl Purpose {
    /// Numbers of the videos.
    pub fn videos(self) -> std::ops::Range<u64> {
        match self {
            Purpose::Training | Purpose::Selection => 0..4,
            Purpose::Judging => 4..5,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Purpose::Training => "training",
            Purpose::Selection => "selection",
            Purpose::Judging => "judging",
        }
    }

    pub(crate) fn seed(self, seed: u64, part: &str) -> u64 {
        derive(seed, self.name().bytes().chain(*b"/").chain(part.bytes()))
    }
}

/// A seed of a part: FNV-1a over its name, then a step of SplitMix64. Published weights were trained with seeds that are made so.
pub(crate) fn derive(seed: u64, name: impl IntoIterator<Item = u8>) -> u64 {
    SplitMix64::new(fnv1a(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), name)).next_random()
}
