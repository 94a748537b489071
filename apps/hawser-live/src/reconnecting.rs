//! Attempts to reach a relay, one after the other.

use std::time::{Duration, Instant};

use super::Address;
use hawser_command::exit::Failure;
use hawser_command::output::Output;

/// Pauses between attempts to reach the relay: of an encoder and a player nobody wants to wait for minutes.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
];

/// Attempts to reach a relay, and what is said of them.
pub(super) struct Reconnecting {
    output: Output,
    /// Attempts since the last connection.
    attempts: usize,
    has_connected: bool,
    told: Option<String>,
    /// Since when there is no connection.
    lost_at: Option<Instant>,
}

impl Reconnecting {
    pub(super) fn new(output: Output) -> Self {
        Reconnecting { output, attempts: 0, has_connected: false, told: None, lost_at: None }
    }

    /// There is a connection.
    pub(super) fn connected(&mut self, relay: &Address) {
        let again = if self.has_connected { " again" } else { "" };
        self.output.remark(format_args!("hawser: connected to {relay}{again}"));
        (self.attempts, self.has_connected, self.told, self.lost_at) = (0, true, None, None);
    }

    /// Waits before the next attempt.
    ///
    /// # Errors
    /// The failure itself if another attempt would fail in the same way, or if there has been no connection for `patience`.
    pub(super) async fn pause(
        &mut self,
        failure: Failure,
        patience: Option<Duration>,
    ) -> Result<(), Failure> {
        if !failure.is_transient() {
            return Err(failure);
        }
        let lost_at = *self.lost_at.get_or_insert_with(Instant::now);
        if patience.is_some_and(|patience| lost_at.elapsed() >= patience) {
            let text =
                format!("{}; given up after {:.0} s", failure.message, lost_at.elapsed().as_secs_f64());
            return Err(Failure { message: text, ..failure });
        }
        // Said once, not every second.
        if self.told.as_ref() != Some(&failure.message) {
            self.output.remark(format_args!("hawser: {failure}; trying again"));
            self.told = Some(failure.message);
        }
        let pause = PAUSES[self.attempts.min(PAUSES.len() - 1)];
        self.attempts += 1;
        tokio::time::sleep(pause).await;
        Ok(())
    }
}
