//! Random courses: links that go, come back, take turns and reorder, addresses that change.

use hawser_core::LossRecovery;
use hawser_sim::soak::Course;

use super::programs::DIGITS;
use crate::data::sweep::digest;
use crate::experiments::verify::{Measured, Request};

/// The random course of the seed. Its policies are its own; what is verified is the core below them.
pub(super) fn course(request: &Request<'_>) -> Result<Measured, String> {
    let mut course = Course::of(request.seed, request.registry);
    if request.setting("transport.recovery") == Some("rfc9002") {
        course.recovery = LossRecovery::Rfc9002;
    }
    let outcome = course.run(request.registry);
    let hash = digest(format!("{outcome:?}").as_bytes());
    let measured = Measured::new(&hash[..DIGITS]);
    Ok(match outcome {
        Ok(account) => {
            measured.with("failures", 0.0).with("longest_pause_ms", account.longest_pause.as_secs_f64() * 1e3)
        }
        Err(_) => measured.with("failures", 1.0),
    })
}
