//! Keeps a connection to the gateway: when one is lost or the gateway wants no more tunnels on it, the next is made.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::session::Session;
use super::{Dialer, OpenError, Say};

/// The first pause after a failed attempt, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// Whether there is a connection.
#[derive(Clone)]
pub(super) enum State {
    /// This one.
    Up(Arc<Session>),
    /// None, and why.
    Down(String),
}

/// The task that keeps it, as long as this is not dropped.
pub(super) struct Keeper(JoinHandle<()>);

impl Keeper {
    pub(super) fn start(first: Arc<Session>, dialer: Dialer, say: Say) -> (Self, watch::Receiver<State>) {
        let (sender, receiver) = watch::channel(State::Up(first.clone()));
        (Keeper(tokio::spawn(keep(first, dialer, sender, say))), receiver)
    }
}

impl Keeper {
    /// Makes no connection any more.
    pub(super) fn stop(&self) {
        self.0.abort();
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn keep(mut session: Arc<Session>, dialer: Dialer, state: watch::Sender<State>, say: Say) {
    loop {
        let reason = tokio::select! {
            _ = session.connection.closed() => session.why_not_usable(),
            () = session.retiring.notified() => {
                tokio::spawn(see_off(session.clone()));
                session.why_not_usable()
            }
        };
        say(&format!("the connection to the gateway ends ({reason}); connecting again"));
        state.send_replace(State::Down(reason));
        drop(session);
        session = redial(&dialer, &state, &say).await;
        state.send_replace(State::Up(session.clone()));
        say("connected to the gateway again");
    }
}

async fn redial(dialer: &Dialer, state: &watch::Sender<State>, say: &Say) -> Arc<Session> {
    let mut pause = PAUSES.0;
    let mut told = None;
    loop {
        let failed = match dialer().await {
            Ok(dialed) => match Session::begin(dialed).await {
                Ok(session) => return Arc::new(session),
                Err(OpenError::GatewayDown(reason)) => reason,
                Err(error) => error.to_string(),
            },
            Err(error) => error.to_string(),
        };
        if told.as_ref() != Some(&failed) {
            say(&format!("no connection to the gateway: {failed}; trying on"));
            told = Some(failed.clone());
        }
        state.send_replace(State::Down(failed));
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Keeps a session that takes no new tunnels until the gateway closes it, which it does when the running ones have ended: a client that
/// closed it sooner would lose what their last bytes are.
async fn see_off(session: Arc<Session>) {
    session.connection.closed().await;
}
