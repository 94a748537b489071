//! Paths that bring nothing any more, as the end sees it that only receives: it has nothing outstanding by which it could tell.
//!
//! A path that brings nothing may be dead, or not needed. It counts as silence only while the others of its connection bring about
//! as much as when the path was heard last: then there is as much to carry, and the path used to carry its part. What rests because
//! a program rests, or because less is to be carried, is no silence.

/// Time constant of what paths usually bring, seconds.
const USUAL_MEMORY: f64 = 2.0;
/// A path that brought less than this (bit/s) is not missed.
const USUAL_LEAST: f64 = 64e3;
/// Others are as busy as before with this share of what they brought.
const AS_BUSY: f64 = 0.5;
/// The shortest silence that is one, in ms, and in round trips; and the least that it should have brought, bytes.
const LEAST_SILENCE: f64 = 350.0;
const ROUND_TRIPS: f64 = 3.0;
const LEAST_MISSED: f64 = 16e3;
/// A path that rested while others did not, and then went on, may rest so many times longer: but an outage teaches nothing, so at
/// most so many ms. For so many seconds that is remembered.
const LONGER: f64 = 2.0;
const LONGEST_REST: f64 = 600.0;
const REST_MEMORY: f64 = 20.0;
/// Of a path that has been silent for so long (seconds) nobody knows what it should bring.
const LONGEST: f64 = 60.0;

/// What one look saw of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Since the look before, seconds.
    pub(crate) elapsed: f64,
    /// What the path brought meanwhile, bit/s.
    pub(crate) received: f64,
    /// What the other paths of its connection brought, bit/s.
    pub(crate) others: f64,
    pub(crate) smoothed_rtt_ms: f64,
}

/// How long a path has brought nothing that it should have brought.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Silence {
    /// What the path brought in the last seconds in which it brought anything, bit/s, and what others did.
    usual: f64,
    others: f64,
    /// How long it has been silent while others were as busy, ms; and how long in all, seconds.
    missed: f64,
    silent: f64,
    /// The longest such time after which it went on, ms.
    rest: f64,
    stalled: bool,
}

impl Silence {
    pub(crate) fn note(&mut self, look: &Look) {
        let gain = 1.0 - (-look.elapsed / USUAL_MEMORY).exp();
        if look.received > 0.0 {
            self.rest *= (-(look.elapsed + self.silent) / REST_MEMORY).exp();
            self.rest = self.rest.max(self.missed.min(LONGEST_REST));
            self.usual += gain * (look.received - self.usual);
            self.others += gain * (look.others - self.others);
            (self.missed, self.silent, self.stalled) = (0.0, 0.0, false);
            return;
        }
        self.silent += look.elapsed;
        if look.others > 0.0 && look.others >= AS_BUSY * self.others {
            self.missed += 1e3 * look.elapsed;
        }
        let patience = LEAST_SILENCE.max(ROUND_TRIPS * look.smoothed_rtt_ms).max(LONGER * self.rest);
        let missed_bytes = self.usual / 8.0 * self.missed / 1e3;
        let is_missed = self.usual > USUAL_LEAST && self.missed >= patience && missed_bytes >= LEAST_MISSED;
        self.stalled = (self.stalled || is_missed) && self.silent < LONGEST;
    }

    /// Whether it brings nothing any more, although it should.
    pub(crate) fn is_stalled(&self) -> bool {
        self.stalled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ELAPSED: f64 = 0.25;

    fn look(received: f64, others: f64) -> Look {
        Look { elapsed: ELAPSED, received, others, smoothed_rtt_ms: 40.0 }
    }

    /// One that has brought 5 Mbit/s for some seconds, and others 20.
    fn busy() -> Silence {
        let mut silence = Silence::default();
        (0..40).for_each(|_| silence.note(&look(5e6, 20e6)));
        silence
    }

    /// How long it takes until it is found silent, in seconds; none within a minute.
    fn found(silence: &mut Silence, others: f64) -> Option<f64> {
        let mut looks = 0..240;
        looks
            .find(|_| {
                silence.note(&look(0.0, others));
                silence.is_stalled()
            })
            .map(|looks| f64::from(looks + 1) * ELAPSED)
    }

    #[test]
    fn a_path_that_falls_silent_while_others_go_on_is_found_within_half_a_second() {
        assert_eq!(found(&mut busy(), 20e6), Some(0.5));
        assert_eq!(found(&mut busy(), 12e6), Some(0.5));
    }

    #[test]
    fn a_path_is_not_missed_where_less_is_to_be_carried() {
        assert_eq!(found(&mut busy(), 0.0), None, "the program rests");
        assert_eq!(found(&mut busy(), 3e6), None, "the others can do that alone");
        assert_eq!(found(&mut Silence::default(), 20e6), None, "it never brought anything");
    }

    #[test]
    fn an_idle_time_before_a_transfer_makes_nobody_patient() {
        let mut silence = Silence::default();
        for _ in 0..100 {
            silence.note(&look(800.0, 1_000.0));
            (0..8).for_each(|_| silence.note(&look(0.0, 0.0)));
        }
        (0..20).for_each(|_| silence.note(&look(5e6, 20e6)));
        assert_eq!(found(&mut silence, 20e6), Some(0.5));
    }

    #[test]
    fn a_path_that_rests_between_bursts_is_called_silent_once_at_most() {
        let mut silence = busy();
        let mut calls = 0;
        for _ in 0..100 {
            (0..2).for_each(|_| silence.note(&look(10e6, 20e6)));
            for _ in 0..3 {
                let before = silence.is_stalled();
                silence.note(&look(0.0, 20e6));
                calls += u32::from(silence.is_stalled() && !before);
            }
        }
        assert!(calls <= 1, "{calls}");
        assert_eq!(found(&mut silence, 20e6), Some(0.5), "on top of the 0.75 s after the last burst");
    }

    #[test]
    fn after_an_outage_the_next_one_is_found_as_soon() {
        let mut silence = busy();
        (0..80).for_each(|_| silence.note(&look(0.0, 20e6)));
        assert!(silence.is_stalled());
        silence.note(&look(5e6, 20e6));
        assert!(!silence.is_stalled(), "it is back");
        (0..40).for_each(|_| silence.note(&look(5e6, 20e6)));
        assert!(found(&mut silence, 20e6).is_some_and(|after| after <= 1.0));
    }

    #[test]
    fn what_is_silent_for_a_minute_is_no_news() {
        let mut silence = busy();
        (0..200).for_each(|_| silence.note(&look(0.0, 20e6)));
        assert!(silence.is_stalled());
        (0..100).for_each(|_| silence.note(&look(0.0, 20e6)));
        assert!(!silence.is_stalled());
    }
}
