//! Which tiles are in the field of view.

use hawser_learn::Random;

use crate::gop::{FrameSet, bit};
use crate::{COLUMNS, FRAMES_PER_SECOND, ROWS, TILES, Viewing};

/// Half of the field of view, degrees.
const HALF_VIEW: f64 = 50.0;
/// Height and width of a tile, degrees.
const CELL: f64 = 18.0;

/// For each GoP and tile the frames in which the tile is viewed. Known ahead: the dissertation takes the true trajectory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Views {
    sets: Vec<FrameSet>,
}

/// Where a head looks, degrees.
struct Head {
    yaw: f64,
    pitch: f64,
    /// Standard values, of velocity and of pitch.
    yaw_velocity: f64,
    pitch_state: f64,
}

impl Head {
    fn new(random: &mut Random) -> Self {
        let (yaw_velocity, pitch_state) = (random.normal(), random.normal());
        Head { yaw: 360.0 * random.fraction(), pitch: clamp(15.0 * pitch_state), yaw_velocity, pitch_state }
    }

    /// A frame later: velocity of yaw with 30 degrees/s and pitch with 15 degrees of deviation, both correlated by 0.98.
    fn turn(&mut self, random: &mut Random) {
        let fresh = (1.0 - 0.98f64 * 0.98).sqrt();
        self.yaw_velocity = 0.98 * self.yaw_velocity + fresh * random.normal();
        self.pitch_state = 0.98 * self.pitch_state + fresh * random.normal();
        self.yaw = (self.yaw + 30.0 * self.yaw_velocity / FRAMES_PER_SECOND).rem_euclid(360.0);
        self.pitch = clamp(15.0 * self.pitch_state);
    }

    /// The tiles whose angular cell meets the window, which is wider where circles of latitude are smaller.
    fn tiles(&self, mut view: impl FnMut(usize)) {
        let half_width = HALF_VIEW / libm::cos(self.pitch.to_radians());
        for row in 0..ROWS {
            let top = 90.0 - CELL * row as f64;
            if self.pitch - HALF_VIEW >= top || self.pitch + HALF_VIEW <= top - CELL {
                continue;
            }
            for column in 0..COLUMNS {
                let centre = CELL * (column as f64 + 0.5);
                let apart = (centre - self.yaw + 180.0).rem_euclid(360.0) - 180.0;
                if apart.abs() < half_width + CELL / 2.0 {
                    view(row * COLUMNS + column);
                }
            }
        }
    }
}

fn clamp(pitch: f64) -> f64 {
    pitch.clamp(-60.0, 60.0)
}

impl Views {
    /// A viewer of so many frames in GoPs of `gop` frames.
    pub fn synthetic(seed: u64, frames: usize, gop: usize, viewing: Viewing) -> Self {
        let mut views = Views { sets: vec![0; frames.div_ceil(gop) * TILES] };
        if viewing == Viewing::Fixed {
            views.sets.iter_mut().enumerate().filter(|(at, _)| at % TILES < 40).for_each(|(_, set)| {
                *set = crate::gop::up_to(gop - 1);
            });
            return views;
        }
        let mut random = Random::new(seed);
        let mut head = Head::new(&mut random);
        for frame in 0..frames {
            if viewing == Viewing::Switching && frame % FRAMES_PER_SECOND as usize == 0 {
                head = Head::new(&mut random);
            }
            let (first, member) = (frame / gop * TILES, bit(frame % gop));
            head.tiles(|tile| views.sets[first + tile] |= member);
            head.turn(&mut random);
        }
        views
    }

    /// The frames of a GoP in which a tile is viewed.
    pub fn of(&self, gop: usize, tile: usize) -> FrameSet {
        self.sets[gop * TILES + tile]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Specification, section 5.1: a window of 100 degrees over tiles of 18 meets 36 to 49 of them where it is not widened.
    #[test]
    fn about_forty_tiles_are_viewed() {
        let views = Views::synthetic(1, 1_800, 50, Viewing::Head);
        let count: u32 = views.sets.iter().map(|set| set.count_ones()).sum();
        let mean = f64::from(count) / 1_800.0;
        assert!((36.0..52.0).contains(&mean), "{mean}");
        let straight = Head { yaw: 3.0, pitch: 1.0, yaw_velocity: 0.0, pitch_state: 0.0 };
        let mut tiles = 0;
        straight.tiles(|_| tiles += 1);
        assert!((36..=49).contains(&tiles), "{tiles}");
    }
}
