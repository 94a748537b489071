//! An interface, its addresses one after the other, and the sessions of each.

use std::time::{Duration, Instant};

use hawser_lab::data::measure::Ending;

use super::context::Context;
use super::follower::Follower;
use super::session::{Plan, Running};
use hawser_command::exit::Failure;
use hawser_command::interrupt::Interrupt;

/// Before another session where one came to nothing, doubled each time up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Measures on an interface until the user stops it.
pub(super) async fn follow(
    context: &Context,
    mut follower: Follower,
    mut interrupt: Interrupt,
) -> Result<(), Failure> {
    let mut association = 0;
    loop {
        let remotes = context.server.known();
        let there = tokio::select! {
            there = follower.until_there(&remotes) => there,
            () = interrupt.raised() => return Ok(()),
        };
        let (link, address, since, present_at_start) = there;
        let mut plan = Plan {
            link,
            address,
            association,
            attempt: 0,
            present_at_start,
            began: since,
            pause: Duration::ZERO,
        };
        let mut pause = FIRST_PAUSE;
        loop {
            let (end, ok) = Running::new(context, &plan).run(&mut follower, &mut interrupt).await;
            match end {
                Ending::AddressGone => break,
                Ending::Stopped | Ending::Interrupted => return Ok(()),
                Ending::TimeOver => (plan.pause, pause) = (Duration::ZERO, FIRST_PAUSE),
                Ending::ServerLost | Ending::Refused => {
                    if ok {
                        pause = FIRST_PAUSE;
                    }
                    plan.pause = pause;
                    pause = (2 * pause).min(LONGEST_PAUSE);
                }
            }
            plan.attempt += 1;
            plan.began = Instant::now();
        }
        association += 1;
    }
}
