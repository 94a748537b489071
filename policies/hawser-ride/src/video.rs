//! Sizes of tile-frames.

use hawser_learn::Random;

use crate::{COLUMNS, FrameKind, Gop, ROWS, Sizes, TILES};

/// No tile-frame is smaller, bytes.
const SMALLEST: f64 = 64.0;

/// A video in tiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Video {
    gop: Gop,
    sizes: Vec<f32>,
}

impl Video {
    /// A video of so many frames. Sizes are log-normal; the mean of what a viewer sees is [`Sizes::mean`] if all tiles are
    /// alike, and of all tiles with saliency.
    pub fn synthetic(seed: u64, frames: usize, sizes: &Sizes) -> Self {
        let gop = Gop::of_fifty();
        let relative = |kind| match kind {
            FrameKind::I => sizes.ratio[0],
            FrameKind::P => sizes.ratio[1],
            FrameKind::B => sizes.ratio[2],
        };
        let mean = (0..gop.len()).map(|frame| relative(gop.kind(frame))).sum::<f64>() / gop.len() as f64;
        // The mean of a log-normal value lies above its median.
        let median = sizes.mean / mean * libm::exp(-sizes.sigma * sizes.sigma / 2.0);
        let mut random = Random::new(seed);
        let mut eyes = sizes.saliency.then(|| Saliency::new(&mut random));
        let mut all = Vec::with_capacity(frames * TILES);
        for frame in 0..frames {
            let typical = median * relative(gop.kind(frame % gop.len()));
            let weights = eyes.as_mut().map(|eyes| eyes.next(&mut random));
            for tile in 0..TILES {
                let weight = weights.as_ref().map_or(1.0, |weights| weights[tile]);
                let size = typical * weight * libm::exp(sizes.sigma * random.normal());
                all.push(size.max(SMALLEST).round() as f32);
            }
        }
        Video { gop, sizes: all }
    }

    /// How its frames depend on each other.
    pub fn gop(&self) -> &Gop {
        &self.gop
    }

    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.sizes.len() / TILES
    }

    /// Size of a tile-frame, bytes.
    pub fn size(&self, frame: usize, tile: usize) -> f64 {
        f64::from(self.sizes[frame * TILES + tile])
    }
}

/// Three Gaussians that drift over the tiles, on a floor.
struct Saliency {
    centres: [[f64; 2]; 3],
}

impl Saliency {
    fn new(random: &mut Random) -> Self {
        Saliency {
            centres: [(); 3].map(|()| [ROWS as f64 * random.fraction(), COLUMNS as f64 * random.fraction()]),
        }
    }

    /// Weights of the tiles with mean 1, and a frame's drift.
    fn next(&mut self, random: &mut Random) -> Vec<f64> {
        let columns = COLUMNS as f64;
        let weight = |tile: usize| {
            let (row, column) = ((tile / COLUMNS) as f64 + 0.5, (tile % COLUMNS) as f64 + 0.5);
            let near = self.centres.iter().map(|[y, x]| {
                let across = (column - x).abs().min(columns - (column - x).abs());
                libm::exp(-((row - y) * (row - y) + across * across) / 8.0)
            });
            0.2 + near.sum::<f64>()
        };
        let mut weights: Vec<f64> = (0..TILES).map(weight).collect();
        let mean = weights.iter().sum::<f64>() / TILES as f64;
        weights.iter_mut().for_each(|weight| *weight /= mean);
        for [y, x] in &mut self.centres {
            *y = (*y + 0.05 * random.normal()).clamp(0.0, ROWS as f64);
            *x = (*x + 0.05 * random.normal()).rem_euclid(columns);
        }
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Purpose};

    #[test]
    fn sizes_have_the_mean_and_the_ratio_that_were_asked_for() {
        for saliency in [false, true] {
            let sizes = Sizes { saliency, ..Config::continuous(Purpose::Judging).sizes };
            let video = Video::synthetic(3, 1_800, &sizes);
            let mean = |wanted: &dyn Fn(usize) -> bool| {
                let frames: Vec<usize> = (0..1_800).filter(|frame| wanted(frame % 50)).collect();
                let sum: f64 =
                    frames.iter().flat_map(|frame| (0..TILES).map(|tile| video.size(*frame, tile))).sum();
                sum / (frames.len() * TILES) as f64
            };
            let all = mean(&|_| true);
            assert!((all / sizes.mean - 1.0).abs() < 0.03, "{all}");
            let [i, b] = [mean(&|frame| frame == 0), mean(&|frame| frame == 1)];
            assert!((i / b / 8.0 - 1.0).abs() < 0.1, "{}", i / b);
        }
    }
}
