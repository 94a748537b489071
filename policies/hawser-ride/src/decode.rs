//! When a tile-frame can be decoded.

use crate::gop::Gop;

/// The instant at which a frame is decoded that arrives at `arrival`, by when its references are: all are there.
/// Infinity stands for what never comes.
pub fn decode_time(gop: &Gop, frame: usize, arrival: f64, decoded: impl Fn(usize) -> f64) -> f64 {
    gop.references(frame).into_iter().flatten().fold(arrival, |latest, frame| latest.max(decoded(frame)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Specification, section 10: I1 10, B1 30, B2 25, P1 50, P2 45 ms.
    #[test]
    fn golden_vector() {
        let gop = Gop::of_nine();
        let arrivals = [(0, 10.0), (3, 50.0), (6, 45.0), (1, 30.0), (2, 25.0)];
        let mut decoded = [f64::INFINITY; 9];
        for (frame, arrival) in arrivals {
            decoded[frame] = decode_time(&gop, frame, arrival, |frame| decoded[frame]);
        }
        assert_eq!([0, 3, 6, 1, 2].map(|frame| decoded[frame]), [10.0, 50.0, 50.0, 50.0, 50.0]);
        assert_eq!(decode_time(&gop, 4, 1.0, |_| f64::INFINITY), f64::INFINITY);
    }
}
