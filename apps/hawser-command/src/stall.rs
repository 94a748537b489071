//! A server that is there and sends nothing.

use std::future::Future;
use std::time::Duration;

use crate::exit::{Exit, Failure};

/// What is said of one that stopped in the middle of a file.
pub const STALLED: &str = "the server answers, but no byte of the file came";

/// What `wait` gives within the time; `None`: there is no limit.
///
/// # Errors
/// A [stalled](Failure::is_stalled) failure, which says `what` for how long.
pub async fn in_time<T>(
    limit: Option<Duration>,
    what: &str,
    wait: impl Future<Output = T>,
) -> Result<T, Failure> {
    let Some(limit) = limit else { return Ok(wait.await) };
    tokio::time::timeout(limit, wait).await.map_err(|_| {
        let text = format!("{what} for {} s (--stall-timeout)", limit.as_secs_f64());
        Failure { is_stalled: true, ..Failure::new(Exit::NoAnswer, text) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_takes_too_long_is_a_stall() {
        let soon = tokio::time::sleep(Duration::from_secs(9));
        assert!(in_time(Some(Duration::from_secs(10)), STALLED, soon).await.is_ok());
        let failure =
            in_time(Some(Duration::from_secs(10)), STALLED, std::future::pending::<()>()).await.unwrap_err();
        assert!(
            failure.is_stalled && failure.message.ends_with("came for 10 s (--stall-timeout)"),
            "{failure}"
        );
        let long = tokio::time::sleep(Duration::from_secs(100_000));
        assert!(in_time(None, STALLED, long).await.is_ok());
    }
}
