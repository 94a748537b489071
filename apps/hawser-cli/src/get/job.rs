//! One file, until it is there or is given up.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::Common;
use super::attempt::{Attempt, Finished};
use super::batches::{Destination, Target};
use super::partial::Partial;
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;
use hawser_command::paths::{PathReport, by_interface};
use hawser_command::transfer::TransferReport;
use hawser_command::transfer::{Goodput, Progress};
use hawser_command::units;
use hawser_command::url::Url;

/// One file.
pub(super) struct Job {
    common: Arc<Common>,
    target: Target,
    /// Of all files that are fetched with it, if there are others.
    of_all: Option<Progress>,
    retries: u32,
    /// Whether 0-RTT was sent, and nobody answered.
    unanswered: bool,
    /// Bytes that were there when the server stopped sending the last time.
    stalled_at: Option<u64>,
}

impl Job {
    pub(super) fn new(common: Arc<Common>, target: Target, of_all: Option<Progress>) -> Self {
        Job { common, target, of_all, retries: 0, unanswered: false, stalled_at: None }
    }

    pub(super) fn url(&self) -> &Url {
        &self.target.url
    }

    /// Tries until it works, the failure is final, or the attempts are used up.
    pub(super) async fn run(&mut self, interrupt: &mut Interrupt) -> Result<Finished, Failure> {
        let common = self.common.clone();
        let Common { arguments, output, .. } = &*common;
        let mut partial = match &self.target.destination {
            Destination::Stdout => None,
            Destination::File(path) => Some(Partial::open(path, arguments.continue_at.is_some())?),
        };
        let mut stdout_used = false;
        loop {
            let failure = match self.attempt(&mut partial, &mut stdout_used, interrupt).await {
                Ok(finished) => {
                    self.of_all.iter().for_each(Progress::complete);
                    return Ok(finished);
                }
                Err(failure) => failure,
            };
            if std::mem::take(&mut self.unanswered) && !interrupt.is_raised() {
                output.remark("nobody answered over the first link; connecting over all links");
                continue;
            }
            // A new connection is tried as long as each brings the file on.
            let have = partial.as_ref().map(Partial::length);
            if failure.is_stalled && have > self.stalled_at && !interrupt.is_raised() {
                self.stalled_at = have;
                output.remark(format_args!("{failure}; connecting again"));
                continue;
            }
            let failure = explain(failure, partial.as_ref());
            if self.retries >= arguments.retry || !failure.is_transient() || interrupt.is_raised() {
                return Err(failure);
            }
            let pause = Duration::from_secs(1 << self.retries.min(6));
            self.retries += 1;
            output.remark(format_args!("{failure}\ntrying again in {} s", pause.as_secs()));
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = interrupt.raised() => return Err(Failure::new(Exit::Signal, failure.message)),
            }
        }
    }

    async fn attempt(
        &mut self,
        partial: &mut Option<Partial>,
        stdout_used: &mut bool,
        interrupt: &mut Interrupt,
    ) -> Result<Finished, Failure> {
        let common = self.common.clone();
        let Common { arguments, client, output, sessions, limit } = &*common;
        let leased = sessions.take(&self.target.url, &common, self.of_all.as_ref(), interrupt).await?;
        let attempt = Attempt {
            session: &leased.session,
            url: &self.target.url,
            moved: OnceLock::new(),
            stall: client.stall,
            started: leased.started,
            before: leased.before.clone(),
            progress: self.of_all.as_ref().map(Progress::of_one).unwrap_or_default(),
            hides_progress: self.of_all.is_some() || output.hides_progress(),
            limit: limit.clone(),
            output: *output,
            bins: arguments.bins,
        };
        let result = match (partial, arguments.parallel) {
            (Some(partial), Some(streams)) if streams > 1 && partial.is_regular() => {
                attempt.fetch_in_parts(partial, streams.into(), interrupt).await
            }
            (Some(partial), _) => attempt.fetch_to_file(partial, interrupt).await,
            (None, _) => attempt.fetch_to_stdout(stdout_used, interrupt).await,
        };
        let result = result.map_err(|failure| {
            self.unanswered = leased.session.connection.is_handshaking();
            client.explain(failure, &leased.session.connection)
        });
        let is_usable = result.as_ref().err().is_none_or(concerns_file_only);
        sessions.give_back(&self.target.url, leased.session, is_usable).await;
        result
    }

    /// Says that the file is there.
    pub(super) fn report(&self, finished: &Finished) {
        let Finished { goodput, digest, verified, .. } = finished;
        let file = match &self.target.destination {
            Destination::Stdout if !self.common.output.json => "standard output".to_owned(),
            Destination::Stdout => "-".to_owned(),
            Destination::File(path) => path.display().to_string(),
        };
        if self.common.output.json {
            let report = TransferReport {
                url: self.target.url.to_string(),
                file,
                status: finished.status.as_u16(),
                sha256: digest.to_string(),
                verified: *verified,
                resumed_from: finished.resumed_from,
                retries: self.retries,
                connect_seconds: finished.connect_seconds,
                goodput: goodput.clone(),
                paths: finished.paths.clone(),
                connection: finished.connection.clone(),
                server_scheduler: finished.server_scheduler.clone(),
                resumed: finished.resumed,
                early_data: self.common.arguments.early_data.then_some(finished.early_data),
                caps: self.common.client.cap_reports(),
            };
            self.common.arguments.results().print(&report);
        } else {
            let checked =
                if *verified { "checked against the server's" } else { "the server gave none to check" };
            let was_complete = goodput.bytes == 0 && finished.resumed_from > 0;
            if was_complete {
                self.common.output.remark(format_args!("{file}: was complete already"));
            } else {
                self.common.output.remark(format_args!("{}", summary(&file, goodput)));
            }
            // What others got at the same time went over the same paths: it is told once for all of them.
            if self.of_all.is_none() {
                tell_paths(&finished.paths, self.common.output);
            }
            for line in self.common.client.cap_lines() {
                self.common.output.remark(line);
            }
            self.common.output.remark(format_args!("  sha256 {digest} ({checked})"));
        }
    }
}

/// What went over each path.
pub(super) fn tell_paths(paths: &[PathReport], output: Output) {
    for path in by_interface(paths) {
        output.remark(format_args!(
            "  {:<12} {:>10} ({:.0} %), rtt {:.1} ms, {}",
            path.interface,
            units::bytes(path.bytes_received),
            path.share * 100.0,
            path.rtt_ms,
            path.state
        ));
    }
}

/// Whether the connection is as good as before, so that other files can go on with it. After other failures the next attempt
/// begins with a new one.
fn concerns_file_only(failure: &Failure) -> bool {
    matches!(
        failure.exit,
        Exit::HttpStatus
            | Exit::Forbidden
            | Exit::NotFound
            | Exit::ServerDiskFull
            | Exit::NotResumable
            | Exit::Digest
            | Exit::NotRead
            | Exit::NotWritten
            | Exit::DiskFull
    )
}

/// Adds how to go on to a failure that left a part of the file.
fn explain(mut failure: Failure, partial: Option<&Partial>) -> Failure {
    let Some(partial) = partial else { return failure };
    let keeps = matches!(
        failure.exit,
        Exit::Interrupted
            | Exit::Signal
            | Exit::DiskFull
            | Exit::ConnectionLost
            | Exit::NoAnswer
            | Exit::NoBudget
    );
    if keeps && partial.length() > 0 {
        failure.message.push_str(&format!(
            "\n{} are kept in {}; go on with the same command and `-C -`",
            units::bytes(partial.length()),
            partial.path().display(),
        ));
    }
    failure
}

fn summary(file: &str, goodput: &Goodput) -> String {
    format!(
        "{file}: {} in {:.2} s, {}, longest stall {:.0} ms",
        units::bytes(goodput.bytes),
        goodput.seconds,
        units::bit_rate(goodput.goodput_bps),
        goodput.longest_stall_ms
    )
}
