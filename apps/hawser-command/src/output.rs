//! The options that say what is printed, and how.

use clap::Args;

/// What is printed, and how.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Output {
    /// Print results as JSON, on standard error if the file goes to standard output
    #[arg(long, global = true, help_heading = "Output")]
    pub json: bool,
    /// Increase verbosity: -v logs path events (in place of the progress), -vv details
    #[arg(short, long, global = true, help_heading = "Output", action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Print errors only
    #[arg(short, long, global = true, help_heading = "Output")]
    pub quiet: bool,
    /// Write addresses of clients into logs as they are, not only their networks (192.0.2.0, 2001:db8:1::)
    #[arg(long, global = true, help_heading = "Output", hide_short_help = true)]
    pub log_addresses: bool,
}

impl Output {
    /// Whether the progress of a transfer is not to be seen: not wanted, or in the way of the log.
    pub fn hides_progress(&self) -> bool {
        self.quiet || self.verbose > 0
    }

    /// Says something that is neither result nor error.
    pub fn remark(&self, text: impl std::fmt::Display) {
        if !self.quiet {
            crate::terminal::remark(text);
        }
    }
}
