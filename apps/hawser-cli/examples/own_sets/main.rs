//! The command `hawser` with three policy sets of one's own, written from `docs/policy-seam.md`:
//!
//! ```text
//! cargo run --example own_sets -- policies top-up
//! cargo run --example own_sets -- sim run scenarios/two-equal.toml --set transport.policy=top-up,rate=70Mbit
//! ```

mod quota;
mod top_up;
mod whole_frames;

use std::process::ExitCode;
use std::sync::Arc;

use hawser_policy::{Composed, PolicyError, PolicySetFactory, Registry};

fn main() -> ExitCode {
    let mut registry = hawser::policies();
    top_up::register(&mut registry).expect("the usual parts are registered");
    quota::register(&mut registry).expect("the usual parts are registered");
    whole_frames::register(&mut registry).expect("the usual parts are registered");
    hawser_cli::run(registry)
}

/// What a set leaves to the usual parts.
fn usual(registry: &Registry) -> Result<Arc<dyn PolicySetFactory>, PolicyError> {
    Ok(Arc::new(Composed::new(
        registry.scheduler("default")?,
        registry.congestion("cubic")?,
        registry.acks("default")?,
    )))
}
