//! Groups of congested paths by like statistics: one partition (RFC 8382 section 3.3).

use hawser_policy::PathId;

use super::detector_settings::{DetectorSettings, MAX_PATHS};

/// Statistics of a path's one-way delays, over the intervals that are held.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measure {
    /// The path.
    pub path: PathId,
    /// Share of samples below the mean of earlier ones less share above, -1 to 1 (skew_est).
    pub skewness: f64,
    /// Mean absolute deviation, microseconds (var_est).
    pub deviation: f64,
    /// Crossings of the mean for each interval, 0 to 1 (freq_est).
    pub crossings: f64,
    /// Lost packets for each delay sample.
    pub loss: f64,
}

/// Congested paths in groups of one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Partition {
    /// Path, number of its group.
    entries: [(PathId, u8); MAX_PATHS],
    len: usize,
}

impl Partition {
    /// The group of a path, or `None` if it is not congested.
    pub(super) fn of(&self, path: PathId) -> Option<u8> {
        self.entries[..self.len].iter().find(|(of, _)| *of == path).map(|(_, group)| *group)
    }
}

/// Groups congested paths: by crossings, then by deviation, then by losses where there are many, else by skewness. Neighbours
/// in the order of a statistic are compared, not each with a mean of its group.
///
/// # Panics
/// With more than [`MAX_PATHS`] paths.
pub(super) fn partition(settings: &DetectorSettings, congested: &mut [Measure]) -> Partition {
    let mut result = Partition::default();
    let mut group = 0;
    // Same order of equals, whatever the order of the paths was.
    congested.sort_unstable_by_key(|measure| measure.path);
    let gap = |high: f64, low: f64| high - low >= settings.crossing_gap;
    for_each_part(
        congested,
        |measure| measure.crossings,
        gap,
        |part| {
            let gap = |high: f64, low: f64| high - low >= settings.deviation_gap * high;
            for_each_part(
                part,
                |measure| measure.deviation,
                gap,
                |part| {
                    let mut take = |part: &mut [Measure]| {
                        for measure in part {
                            result.entries[result.len] = (measure.path, group);
                            result.len += 1;
                        }
                        group += 1;
                    };
                    if part.iter().any(|measure| measure.loss >= settings.loss) {
                        let gap = |high: f64, low: f64| high - low >= settings.loss_gap * high;
                        for_each_part(part, |measure| measure.loss, gap, &mut take);
                    } else {
                        let gap = |high: f64, low: f64| high - low >= settings.skewness_gap;
                        for_each_part(part, |measure| measure.skewness, gap, &mut take);
                    }
                },
            );
        },
    );
    result
}

/// Sorts by a statistic, largest first, and cuts where neighbours are apart.
fn for_each_part(
    measures: &mut [Measure],
    key: impl Fn(&Measure) -> f64,
    apart: impl Fn(f64, f64) -> bool,
    mut take: impl FnMut(&mut [Measure]),
) {
    // Insertion sort: few paths, and it keeps the order of equals without memory of its own.
    for end in 1..measures.len() {
        let mut at = end;
        while at > 0 && key(&measures[at]) > key(&measures[at - 1]) {
            measures.swap(at, at - 1);
            at -= 1;
        }
    }
    let mut rest = measures;
    while !rest.is_empty() {
        // Equal ones are never apart, not even where the gap is a share of zero.
        let cut = rest.windows(2).position(|pair| {
            let (high, low) = (key(&pair[0]), key(&pair[1]));
            high > low && apart(high, low)
        });
        let (part, behind) = rest.split_at_mut(cut.map_or(rest.len(), |cut| cut + 1));
        take(part);
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(path: u32, crossings: f64, deviation: f64, skewness: f64, loss: f64) -> Measure {
        Measure { path: PathId(path), skewness, deviation, crossings, loss }
    }

    /// Groups by path id 0, 1, ...; renamed in order of appearance.
    fn groups(mut measures: Vec<Measure>) -> Vec<usize> {
        let mut paths: Vec<PathId> = measures.iter().map(|measure| measure.path).collect();
        paths.sort_unstable();
        let partition = partition(&DetectorSettings::THESIS, &mut measures);
        let found: Vec<u8> = paths.iter().map(|path| partition.of(*path).expect("congested")).collect();
        found.iter().map(|group| found.iter().position(|other| other == group).expect("itself")).collect()
    }

    #[test]
    fn crossings_part_first() {
        let measures = vec![
            measure(0, 0.30, 1_000.0, -0.1, 0.0),
            measure(1, 0.21, 1_000.0, -0.1, 0.0),
            measure(2, 0.125, 1_000.0, -0.1, 0.0),
            measure(3, 0.0, 1_000.0, -0.1, 0.0),
        ];
        // The first and the third are further apart than 0.1, but a neighbour is between them.
        assert_eq!(groups(measures), [0, 0, 0, 3]);
    }

    #[test]
    fn then_deviations_by_their_ratio() {
        let at = |deviation| measure(deviation as u32, 0.2, deviation, -0.1, 0.0);
        assert_eq!(groups(vec![at(905.0), at(1_000.0)]), [0, 0]);
        assert_eq!(groups(vec![at(900.0), at(1_000.0)]), [0, 1]);
    }

    #[test]
    fn then_skewnesses_and_losses_in_their_place_where_one_has_many() {
        let with_loss = |first, second| {
            vec![measure(0, 0.2, 1_000.0, -0.1, first), measure(1, 0.2, 1_000.0, 0.25, second)]
        };
        assert_eq!(groups(with_loss(0.02, 0.05)), [0, 1], "skewness parts them, the losses are few");
        assert_eq!(groups(with_loss(0.105, 0.1)), [0, 0], "as many losses");
        assert_eq!(groups(with_loss(0.12, 0.1)), [0, 1]);
    }

    #[test]
    fn the_order_of_paths_does_not_matter() {
        let measures = [
            measure(0, 0.2, 1_000.0, -0.1, 0.0),
            measure(1, 0.2, 950.0, -0.15, 0.0),
            measure(2, 0.2, 700.0, -0.1, 0.0),
            measure(3, 0.2, 1_000.0, 0.1, 0.0),
        ];
        let straight = groups(measures.to_vec());
        assert_eq!(straight, [0, 0, 2, 3]);
        for turn in 1..4 {
            let mut turned = measures.to_vec();
            turned.rotate_left(turn);
            assert_eq!(groups(turned), straight);
        }
    }
}
