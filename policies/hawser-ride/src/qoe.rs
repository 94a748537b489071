//! Quality of experience of a chunk (equations 5.4 and 5.5).

/// A tile-frame of a chunk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TileQuality {
    /// Whether it is in the field of view.
    pub viewed: bool,
    /// Index of its representation, 1 to 8.
    pub quality: f64,
    /// How long its decoding took, seconds (d).
    pub decode: f64,
    /// Play time that its tile had left, seconds ([`remaining_play_time`]).
    pub remaining: f64,
    /// Whether it was decoded before its playback ended.
    pub in_time: bool,
}

/// Quality and re-buffering of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChunkQuality {
    /// Mean quality over all tile-frames, viewed or not, as printed.
    pub quality: f64,
    /// Mean re-buffering over all tile-frames, seconds.
    pub rebuffering: f64,
    /// Mean quality over viewed tile-frames.
    pub quality_of_viewed: f64,
    /// Mean re-buffering over viewed tile-frames, seconds.
    pub rebuffering_of_viewed: f64,
}

impl ChunkQuality {
    /// Of all tile-frames of a chunk.
    pub fn of(tiles: &[TileQuality]) -> Self {
        let viewed = tiles.iter().filter(|tile| tile.viewed);
        let count = viewed.clone().count().max(1) as f64;
        let quality: f64 = viewed.clone().filter(|tile| tile.in_time).map(|tile| tile.quality).sum();
        let rebuffering: f64 = viewed.map(|tile| (tile.decode - tile.remaining).max(0.0)).sum();
        let all = tiles.len().max(1) as f64;
        ChunkQuality {
            quality: quality / all,
            rebuffering: rebuffering / all,
            quality_of_viewed: quality / count,
            rebuffering_of_viewed: rebuffering / count,
        }
    }

    /// What is maximised: quality less weighted re-buffering. The dissertation gives no weight; 1 with quality 1 to 8.
    pub fn objective(&self, weight: f64) -> f64 {
        self.quality - weight * self.rebuffering
    }
}

/// Play time of `buffered` bytes at `bit_rate` (bit/s), seconds. The printed form rounds down to whole seconds, which makes
/// nothing of less than one; it is there as [`printed_play_time`].
pub fn remaining_play_time(buffered: u64, bit_rate: f64) -> f64 {
    8.0 * buffered as f64 / bit_rate
}

/// The same rounded down, as printed.
pub fn printed_play_time(buffered: u64, bit_rate: f64) -> f64 {
    remaining_play_time(buffered, bit_rate).floor()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Specification, section 10.
    #[test]
    fn golden_vectors() {
        let tile =
            |viewed, quality| TileQuality { viewed, quality, decode: 0.0, remaining: 0.0, in_time: true };
        let chunk = ChunkQuality::of(&[tile(true, 4.0), tile(false, 5.0), tile(true, 8.0), tile(false, 1.0)]);
        assert_eq!((chunk.quality, chunk.quality_of_viewed), (3.0, 6.0));
        assert_eq!(printed_play_time(150_000, 2e6), 0.0);
        assert!((remaining_play_time(150_000, 2e6) - 0.6).abs() < 1e-12);
    }

    #[test]
    fn waiting_costs_quality() {
        let late = TileQuality { viewed: true, quality: 8.0, decode: 1.0, remaining: 0.6, in_time: false };
        let chunk = ChunkQuality::of(&[late]);
        assert_eq!(chunk.quality, 0.0);
        assert!((chunk.objective(1.0) + 0.4).abs() < 1e-12);
    }
}
