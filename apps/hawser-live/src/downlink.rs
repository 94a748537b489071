//! A stream from a relay, for players and for other relays.

use std::sync::Arc;
use std::time::Duration;

use super::Address;
use super::hub::Hub;
use super::protocol::{self, CODE_BROKEN, CODE_DONE, Request};
use super::reconnecting::Reconnecting;
use super::status::Status;
use super::transport::{ReceiveError, UnitReceiver};
use hawser::ReadError;
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::options::ClientSetup;
use hawser_command::output::Output;
use hawser_command::session::Session;

/// How long one that takes one stream tries to reach the relay again.
const PATIENCE: Duration = Duration::from_secs(30);

/// From the relay to the hub, over one connection after the other.
pub(super) struct Downlink<'a> {
    pub(super) relay: Address,
    pub(super) key: String,
    pub(super) client: &'a ClientSetup,
    pub(super) hub: &'a Arc<Hub>,
    pub(super) status: &'a Arc<Status>,
    /// Where its paths are shown, of a player, which also says how the relay is to send; a publisher shows those to its own relay.
    pub(super) shown: Option<Arc<Status>>,
    /// Whether the end of the stream is to be the end.
    pub(super) once: bool,
    pub(super) output: Output,
}

impl Downlink<'_> {
    /// Until the stream ends and that is to be the end.
    pub(super) async fn run(&self, interrupt: &mut Interrupt) -> Result<(), Failure> {
        let mut reconnecting = Reconnecting::new(self.output);
        loop {
            let failure = match self.attempt(&mut reconnecting, interrupt).await {
                Ok(()) => return Ok(()),
                Err(failure) => failure,
            };
            reconnecting.pause(failure, self.once.then_some(PATIENCE)).await?;
        }
    }

    async fn attempt(
        &self,
        reconnecting: &mut Reconnecting,
        interrupt: &mut Interrupt,
    ) -> Result<(), Failure> {
        let (host, port) = (&self.relay.host, self.relay.port);
        let mut session = Session::connect(host, port, self.client, interrupt).await?;
        if self.shown.is_some() {
            session.request_scheduler(self.client, self.output);
        }
        if let Err(failure) = protocol::ask(&session.connection, &Request::Play(self.key.clone())).await {
            let failure = self.client.explain(failure, &session.connection);
            session.close(CODE_DONE).await;
            return Err(failure);
        }
        reconnecting.connected(&self.relay);
        if let Some(shown) = &self.shown {
            shown.begin_connection(session.path_table());
        }
        let received = self.receive(&session).await;
        if let Some(shown) = &self.shown {
            shown.end_connection();
        }
        let code = if received.as_ref().is_err_and(|failure| failure.exit == Exit::Failure) {
            CODE_BROKEN
        } else {
            CODE_DONE
        };
        let received = received.map_err(|failure| self.client.explain(failure, &session.connection));
        session.close(code).await;
        received
    }

    async fn receive(&self, session: &Session) -> Result<(), Failure> {
        let receiver = UnitReceiver {
            connection: session.connection.clone(),
            hub: self.hub.clone(),
            status: self.status.clone(),
            deadline: None,
            stops_at_end: self.once,
            stall: self.client.stall,
        };
        let stream = session.connection.accept_uni().await.map_err(|error| protocol::ended(&error))?;
        match receiver.run(stream).await {
            Ok(true) if self.once => Ok(()),
            Ok(_) => Err(Failure::new(Exit::ConnectionLost, "the relay ended the stream")),
            Err(ReceiveError::Read(ReadError::ConnectionLost(error))) => Err(protocol::ended(&error)),
            Err(ReceiveError::Read(error)) => Err(Failure::new(Exit::ConnectionLost, error.to_string())),
            Err(ReceiveError::Stalled(stall)) => {
                let text = format!(
                    "the relay answers, but nothing came for {} s (--stall-timeout)",
                    stall.as_secs_f64()
                );
                Err(Failure::new(Exit::NoAnswer, text))
            }
            Err(ReceiveError::Wire(error)) => {
                Err(Failure::new(Exit::Failure, format!("the relay sends what makes no sense: {error}")))
            }
        }
    }
}
