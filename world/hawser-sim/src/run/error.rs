use hawser_policy::PolicyError;

/// Why a scenario cannot be simulated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RunError {
    /// A policy that does not exist, or a parameter that it does not take.
    #[error("{0}")]
    Policy(#[from] PolicyError),
    /// Nothing would end the run.
    #[error(
        "nothing ends this scenario: give it a `duration`, or one of its flows a `size`, a `number` or a `stop`"
    )]
    Endless,
    /// More connections than addresses.
    #[error("{found} connections are more than the {most} that one simulation holds")]
    TooManyConnections {
        /// Those asked for.
        found: usize,
        /// The most there can be.
        most: usize,
    },
    /// TLS was asked for and cannot be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(String),
    /// A server of another stack does not run our applications.
    #[error("flow \"{flow}\" runs an application, which a foreign server does not have")]
    ForeignApplication {
        /// The flow.
        flow: String,
    },
    /// A server that knows real TLS only.
    #[error("a foreign server speaks TLS, expected `crypto = \"tls\"` in [transport] of the scenario")]
    ForeignNull,
}
