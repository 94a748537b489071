/// Starlink reassigns its resources this often, seconds.
pub const SLOT_SECONDS: f64 = 15.0;

/// The first reassignment of each minute (then 27, 42, 57).
const FIRST_OF_MINUTE: f64 = 12.0;

/// When resources are reassigned: at 12, 27, 42 and 57 s of each minute, as nanoseconds of a scene that starts
/// `second_of_minute` seconds after a full minute. Only times after 0 and before `duration_ns`.
pub fn slot_edges(second_of_minute: f64, duration_ns: u64) -> Vec<u64> {
    let slot = (SLOT_SECONDS * 1e9) as u64;
    let since = (second_of_minute - FIRST_OF_MINUTE).rem_euclid(SLOT_SECONDS);
    let first = match crate::math::nanos(SLOT_SECONDS - since) % slot {
        0 => slot,
        first => first,
    };
    (0..).map(|index| first + index * slot).take_while(|at| *at < duration_ns).collect()
}
