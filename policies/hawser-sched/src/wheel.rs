//! Smooth weighted round robin.

use hawser_policy::PathId;

/// Weights are integers of this sum, so that every machine draws the same.
const WHOLE: i64 = 1 << 16;

/// The longest run of draws of one path that is counted.
const LONGEST_RUN: u64 = 1_000;

/// Draws paths in proportion to their weights, as evenly as can be: each draw adds to every path its weight, takes the path
/// with the most, and takes the whole from it (Li 2024, algorithm 9; nginx has the same).
#[derive(Clone, Debug, Default)]
pub(crate) struct Wheel {
    spokes: Vec<Spoke>,
    /// Drawn already, but not yet given out.
    ahead: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Spoke {
    path: PathId,
    weight: i64,
    current: i64,
}

impl Wheel {
    /// Restarts, with shares of the bytes; packets of a path have a size of their own.
    pub(crate) fn set(&mut self, shares: impl Iterator<Item = (PathId, f64, u64)> + Clone) {
        let per_packet = |share: f64, size: u64| share.max(0.0) / size.max(1) as f64;
        let sum: f64 = shares.clone().map(|(_, share, size)| per_packet(share, size)).sum();
        self.spokes.clear();
        self.ahead = None;
        let mut left = WHOLE;
        for (path, share, size) in shares {
            let weight = if sum > 0.0 { per_packet(share, size) / sum * WHOLE as f64 } else { 0.0 };
            let weight = (weight.round() as i64).min(left);
            left -= weight;
            self.spokes.push(Spoke { path, weight, current: 0 });
        }
        // What rounding left over.
        if let Some(last) = self.spokes.last_mut() {
            last.weight += left;
        }
    }

    /// The path of the next packet.
    pub(crate) fn draw(&mut self) -> Option<PathId> {
        let index = self.ahead.take().or_else(|| self.turn())?;
        self.spokes.get(index).map(|spoke| spoke.path)
    }

    /// The path of the next packets, and how many in a row.
    pub(crate) fn run(&mut self) -> Option<(PathId, u64)> {
        let path = self.draw()?;
        let mut length = 1;
        while length < LONGEST_RUN {
            let next = self.turn()?;
            if self.spokes[next].path != path {
                self.ahead = Some(next);
                break;
            }
            length += 1;
        }
        Some((path, length))
    }

    fn turn(&mut self) -> Option<usize> {
        let mut best: Option<(usize, i64)> = None;
        for (index, spoke) in self.spokes.iter_mut().enumerate() {
            spoke.current += spoke.weight;
            if best.is_none_or(|(_, most)| spoke.current > most) {
                best = Some((index, spoke.current));
            }
        }
        let (index, _) = best?;
        self.spokes[index].current -= WHOLE;
        Some(index)
    }

    /// The weight of a path, from 0 to 1.
    #[cfg(test)]
    fn weight(&self, path: PathId) -> f64 {
        let spoke = self.spokes.iter().find(|spoke| spoke.path == path);
        spoke.map_or(0.0, |spoke| spoke.weight as f64 / WHOLE as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_learn::Random;

    fn wheel(share: f64, sizes: [u64; 2]) -> Wheel {
        let mut wheel = Wheel::default();
        wheel.set([(PathId(0), share, sizes[0]), (PathId(1), 1.0 - share, sizes[1])].into_iter());
        wheel
    }

    fn draws(wheel: &mut Wheel, count: usize) -> Vec<u32> {
        (0..count).map(|_| wheel.draw().unwrap().0).collect()
    }

    #[test]
    fn draws_are_spread_evenly() {
        assert_eq!(draws(&mut wheel(0.75, [1_400; 2]), 8), [0, 0, 1, 0, 0, 0, 1, 0]);
        assert_eq!(draws(&mut wheel(0.625, [1_400; 2]), 8), [0, 1, 0, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn shares_of_bytes_are_corrected_by_packet_sizes() {
        assert!((wheel(0.6, [1_500, 1_400]).weight(PathId(0)) - 0.583_333).abs() < 1e-4);
    }

    /// Any first n draws are within one of n times the weight, any window within two.
    #[test]
    fn no_path_is_ever_far_from_its_share() {
        let mut random = Random::new(1);
        for _ in 0..200 {
            let share = random.fraction();
            let mut wheel = wheel(share, [1_400; 2]);
            let weight = wheel.weight(PathId(0));
            let mut ahead = vec![0.0];
            let mut first = 0.0;
            for (n, path) in draws(&mut wheel, 500).into_iter().enumerate() {
                first += f64::from(u8::from(path == 0));
                let deviation = first - (n + 1) as f64 * weight;
                assert!(deviation.abs() <= 1.0, "{share} {n}: {deviation}");
                ahead.push(deviation);
            }
            let (least, most) =
                ahead.iter().fold((0f64, 0f64), |(least, most), at| (least.min(*at), most.max(*at)));
            assert!(most - least <= 2.0, "{share}");
        }
    }

    #[test]
    fn runs_are_the_draws_counted() {
        let mut wheel = wheel(0.75, [1_400; 2]);
        let runs = [0; 5].map(|_| wheel.run().unwrap()).map(|(path, length)| (path.0, length));
        assert_eq!(runs, [(0, 2), (1, 1), (0, 3), (1, 1), (0, 3)]);
    }

    #[test]
    fn an_empty_wheel_and_odd_shares_do_no_harm() {
        assert_eq!(Wheel::default().run(), None);
        let mut wheel = wheel(f64::NAN, [0; 2]);
        assert!(wheel.run().is_some());
        let mut single = Wheel::default();
        single.set([(PathId(3), 1.0, 1_400)].into_iter());
        assert_eq!(single.run(), Some((PathId(3), LONGEST_RUN)));
    }
}
