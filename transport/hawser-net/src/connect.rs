//! Connecting: the handshake is raced over all links.
//!
//! Which link works is not known before one has worked: an interface that is up may lead nowhere. So the links start one
//! after the other with a short delay, as RFC 8305 does with addresses, and the first handshake that completes is the
//! connection; the others are closed. A link that fails at once hands its turn to the next at once.
//!
//! Whichever address of the server it is that answers, the one of the other family is kept for paths over links that do not
//! have the first.
//!
//! ICMP says that a server refuses, but anybody who guesses two ports can say so. The next link starts at once then, and
//! the server is given some time more: what it sends is authentic, and counts for more.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hawser_core::{Code, ConnectError as CoreConnectError, ConnectionError, EarlyData, FourTuple};
use hawser_policy::PathId;
use rustls_pki_types::ServerName;
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use crate::connection::{AttemptError, ConnectionState, Phase};
use crate::links::Candidate;
use crate::worker::{Worker, concrete};
use crate::{ClientConfig, ConnectError, Connection};

/// A link and a server address to try.
struct Attempt {
    candidate: Candidate,
    remote: SocketAddr,
}

/// An attempt that was started.
struct Runner {
    connection: Connection,
    link: String,
    remote: SocketAddr,
    started: Instant,
    /// Until when the server may prove an ICMP error wrong.
    refused: Option<Pin<Box<Sleep>>>,
}

impl Runner {
    /// Whether the server has answered: only a host that saw our packets can acknowledge them.
    fn is_heard(state: &ConnectionState) -> bool {
        state.core.path_stats(PathId(0)).is_some_and(|stats| stats.packets_acked > 0)
    }

    /// `Ok` when it has won.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        config: &ClientConfig,
        name: &str,
    ) -> Poll<Result<(), ConnectError>> {
        let mut state = self.connection.shared().lock();
        if state.phase >= Phase::Connected {
            return Poll::Ready(Ok(()));
        }
        match state.attempt_error.take() {
            Some(AttemptError::Refused) if !Runner::is_heard(&state) => {
                self.refused.get_or_insert_with(|| Box::pin(sleep(config.refusal_patience)));
            }
            Some(AttemptError::Unreachable(source)) => {
                let (remote, link) = (self.remote, self.link.clone());
                return Poll::Ready(Err(ConnectError::Unreachable { remote, link, source }));
            }
            _ => {}
        }
        // The idle timeout is as good a limit as that of handshakes.
        if state.outcome == Some(ConnectionError::TimedOut) && !Runner::is_heard(&state) {
            let (remote, links) = (self.remote, vec![self.link.clone()]);
            return Poll::Ready(Err(ConnectError::TimedOut { remote, links, after: self.started.elapsed() }));
        }
        if let Some(outcome) = state.outcome.clone() {
            return Poll::Ready(Err(explain(config, name, outcome)));
        }
        state.wait_for_handshake(cx);
        if self.refused.as_mut().is_some_and(|until| until.as_mut().poll(cx).is_ready()) {
            self.refused = None;
            if !Runner::is_heard(&state) {
                return Poll::Ready(Err(ConnectError::Refused { remote: self.remote }));
            }
        }
        Poll::Pending
    }
}

fn explain(config: &ClientConfig, name: &str, outcome: ConnectionError) -> ConnectError {
    if matches!(outcome, ConnectionError::Transport(_))
        && let Some(problem) = config.certificate_problem(name)
    {
        return ConnectError::Certificate(problem);
    }
    match &outcome {
        ConnectionError::PeerTransport(error) if error.code == NO_APPLICATION_PROTOCOL => {
            ConnectError::ApplicationProtocol { offered: config.alpn.clone() }
        }
        _ => ended(outcome),
    }
}

/// The TLS alert no_application_protocol (RFC 7301 section 3.2).
const NO_APPLICATION_PROTOCOL: Code = Code::crypto(120);

fn ended(outcome: ConnectionError) -> ConnectError {
    match outcome {
        ConnectionError::LocallyClosed => ConnectError::EndpointClosed,
        other => ConnectError::Handshake(other),
    }
}

/// When the application gets the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// When the handshake is complete.
    Connected,
    /// At once, if it can send 0-RTT.
    Early,
}

/// Connects to whichever of `remotes` answers first over whichever link.
pub(crate) async fn connect(
    worker: &Arc<Worker>,
    config: &ClientConfig,
    remotes: &[SocketAddr],
    name: &str,
    start: Start,
) -> Result<Connection, ConnectError> {
    let first = *remotes.first().ok_or(ConnectError::NoAddress)?;
    if ServerName::try_from(name).is_err() {
        return Err(ConnectError::InvalidServerName(name.to_owned()));
    }
    let attempts = plan(worker, remotes)?;
    let mut race = Race {
        worker,
        config,
        remotes,
        name,
        waiting: attempts,
        running: Vec::new(),
        tried: Vec::new(),
        worst: None,
        next_start: Box::pin(sleep_until(Instant::now())),
        delay: config.attempt_delay,
    };
    if start == Start::Early
        && let Some(connection) = race.start_early()
    {
        return Ok(connection);
    }
    match tokio::time::timeout(config.handshake_timeout, poll_fn(|cx| race.poll(cx))).await {
        Ok(result) => result,
        Err(_) => Err(race.worst.take().unwrap_or(ConnectError::TimedOut {
            remote: first,
            links: race.tried.clone(),
            after: config.handshake_timeout,
        })),
    }
}

/// Every link to every address: all links to the first address, then all links to the second.
fn plan(worker: &Worker, remotes: &[SocketAddr]) -> Result<VecDeque<Attempt>, ConnectError> {
    let state = worker.lock();
    if state.is_closed() {
        return Err(state.ended_by().cloned().map_or(ConnectError::EndpointClosed, ended));
    }
    let (mut attempts, mut used_up) = (VecDeque::new(), Vec::new());
    for remote in remotes {
        let (candidates, resting) = worker.usable_candidates(&state, *remote, worker.clock.now());
        used_up.extend(resting);
        attempts.extend(candidates.into_iter().map(|candidate| Attempt { candidate, remote: *remote }));
    }
    match (attempts.is_empty(), remotes.first()) {
        (true, _) if !used_up.is_empty() => {
            used_up.sort();
            used_up.dedup();
            Err(ConnectError::BudgetsUsedUp { links: used_up })
        }
        (true, Some(remote)) => Err(ConnectError::NoLink { remote: *remote, links: state.links.describe() }),
        _ => Ok(attempts),
    }
}

struct Race<'a> {
    worker: &'a Arc<Worker>,
    config: &'a ClientConfig,
    /// All addresses of the server.
    remotes: &'a [SocketAddr],
    name: &'a str,
    waiting: VecDeque<Attempt>,
    running: Vec<Runner>,
    /// Names of the links that were started.
    tried: Vec<String>,
    /// The failure that tells most.
    worst: Option<ConnectError>,
    next_start: Pin<Box<Sleep>>,
    delay: Duration,
}

impl Race<'_> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Connection, ConnectError>> {
        loop {
            let mut index = 0;
            while index < self.running.len() {
                match self.running[index].poll(cx, self.config, self.name) {
                    Poll::Pending => index += 1,
                    Poll::Ready(Ok(())) => {
                        let winner = self.running.swap_remove(index);
                        // Dropping the others closes them.
                        self.running.clear();
                        return Poll::Ready(Ok(winner.connection));
                    }
                    Poll::Ready(Err(error)) => {
                        self.running.swap_remove(index);
                        let is_final = matches!(error, ConnectError::Certificate(_));
                        self.note(error);
                        if is_final {
                            // The same server would show the same certificate over every link.
                            return Poll::Ready(Err(self.failure()));
                        }
                    }
                }
            }
            if self.waiting.is_empty() {
                return if self.running.is_empty() {
                    Poll::Ready(Err(self.failure()))
                } else {
                    Poll::Pending
                };
            }
            let is_hopeful = self.running.iter().any(|runner| runner.refused.is_none());
            if is_hopeful && self.next_start.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.start_next();
        }
    }

    /// Begins over the first link. A connection that can send 0-RTT is the application's from now on, and there is no race:
    /// every further one would send the same data once more. Any other takes part in the race.
    fn start_early(&mut self) -> Option<Connection> {
        self.start_next();
        let is_early = |runner: &Runner| runner.connection.early_data() == EarlyData::Offered;
        let at = self.running.iter().position(is_early)?;
        Some(self.running.swap_remove(at).connection)
    }

    fn start_next(&mut self) {
        let Some(attempt) = self.waiting.pop_front() else { return };
        let Attempt { candidate, remote } = attempt;
        self.tried.push(candidate.name.clone());
        match self.start(&candidate, remote) {
            Ok(connection) => {
                self.running.push(Runner {
                    connection,
                    link: candidate.name,
                    remote,
                    started: Instant::now(),
                    refused: None,
                });
                self.next_start.as_mut().reset(Instant::now() + self.delay);
            }
            Err(error) => self.note(error),
        }
    }

    fn start(&self, candidate: &Candidate, remote: SocketAddr) -> Result<Connection, ConnectError> {
        let link = || candidate.name.clone();
        let binding = concrete(candidate.binding.clone(), remote)
            .map_err(|source| ConnectError::Unreachable { remote, link: link(), source })?;
        let mut state = self.worker.lock();
        let local = self
            .worker
            .bind(&mut state, binding)
            .map_err(|source| ConnectError::Bind { link: link(), source })?;
        let tuple = FourTuple { local, remote };
        // Nothing but the handshake says who the server is. What is another server is found out by a path to it, which is
        // never validated: it has neither the keys nor the connection ids.
        let of_other_family = |other: &&SocketAddr| other.is_ipv4() != remote.is_ipv4();
        let other = self.remotes.iter().find(of_other_family).copied();
        let shared = self.worker.connect(&mut state, self.config, tuple, other, self.name).map_err(
            |error| match error {
                CoreConnectError::Tls(_) => ConnectError::InvalidServerName(self.name.to_owned()),
                other => ConnectError::Start(other.to_string()),
            },
        )?;
        Ok(Connection::new(shared))
    }

    fn note(&mut self, error: ConnectError) {
        tracing::debug!(%error, "an attempt to connect failed");
        if self.worst.as_ref().is_none_or(|worst| worst.weight() < error.weight()) {
            self.worst = Some(error);
        }
    }

    /// The failure to report; a server that never answered was silent over all links.
    fn failure(&mut self) -> ConnectError {
        match self.worst.take().unwrap_or(ConnectError::EndpointClosed) {
            ConnectError::TimedOut { remote, after, .. } => {
                ConnectError::TimedOut { remote, after, links: self.tried.clone() }
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests;
