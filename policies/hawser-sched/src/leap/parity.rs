//! How many repair symbols a block across paths needs.

/// A path's part in a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeapShare {
    /// Its weight: packets are split in proportion.
    pub weight: f64,
    /// Probability that a packet on it arrives in time.
    pub on_time: f64,
}

/// The fewest repair symbols with which a block of `sources` packets can be decoded in time with probability `reliability`, when
/// any `sources` of its packets suffice and all of them are split over the paths by weight: at most `most`, and no more than
/// there are source symbols.
///
/// With a single path it is the least `r` for which equation (4.1) of W. Yang 2024 is at most `1 - reliability`.
pub fn leap_parity(sources: u32, paths: &[LeapShare], reliability: f64, most: u32) -> u32 {
    let most = most.min(sources);
    let mut split = Split { paths, given: vec![0; paths.len()] };
    // Probability that so many packets are lost or late; more than can be made good are not told apart.
    let mut late = vec![0.0; most as usize + 1];
    late[0] = 1.0;
    let add = |late: &mut Vec<f64>, split: &mut Split<'_>| {
        let on_time = split.next().map_or(0.0, |share| share.on_time.clamp(0.0, 1.0));
        for count in (0..late.len()).rev() {
            let one_less = if count > 0 { late[count - 1] } else { 0.0 };
            late[count] = late[count] * on_time + one_less * (1.0 - on_time);
        }
    };
    (0..sources).for_each(|_| add(&mut late, &mut split));
    for repairs in 0..most {
        let decoded: f64 = late[..=repairs as usize].iter().sum();
        if decoded >= reliability {
            return repairs;
        }
        add(&mut late, &mut split);
    }
    most
}

/// Packets one by one in proportion to the weights of paths.
struct Split<'a> {
    paths: &'a [LeapShare],
    given: Vec<u32>,
}

impl Split<'_> {
    fn next(&mut self) -> Option<LeapShare> {
        // The path that would be the least ahead of its share with one more; equal shares if there are no weights.
        let all_zero = self.paths.iter().all(|path| path.weight <= 0.0);
        let load = |at: usize| {
            let weight = if all_zero { 1.0 } else { self.paths[at].weight };
            f64::from(self.given[at] + 1) / weight.max(f64::MIN_POSITIVE)
        };
        let at = (0..self.paths.len()).min_by(|one, other| load(*one).total_cmp(&load(*other)))?;
        self.given[at] += 1;
        Some(self.paths[at])
    }
}
