//! TCP ports.

use std::sync::Arc;
use std::time::Duration;

use hawser_masque::target::Target;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::client::{GatewayClient, Say};
use crate::local::open;
use crate::relay::reset;

/// Connections of one port at the same time; others wait in the kernel.
const MAX_CONNECTIONS: usize = 4_096;
/// How long to wait when this machine has no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// A TCP port that leads to a target.
#[derive(Clone)]
pub struct TcpForward {
    client: GatewayClient,
    target: Target,
    idle: Duration,
    say: Say,
}

impl TcpForward {
    /// Leads to this target.
    pub fn new(client: GatewayClient, target: Target, idle: Duration, say: Say) -> Self {
        TcpForward { client, target, idle, say }
    }

    /// Serves every program that connects, as long as it is waited for.
    pub async fn run(&self, listener: TcpListener) {
        let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let Ok(permit) = connections.clone().acquire_owned().await else { return };
            match listener.accept().await {
                Ok((program, _)) => {
                    let forward = self.clone();
                    tokio::spawn(async move {
                        forward.serve(program).await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    async fn serve(&self, program: TcpStream) {
        let _ = program.set_nodelay(true);
        match open::open(&self.client, &program, &self.target).await {
            Some(Ok(tunnel)) => {
                let closed = tunnel.relay(program, self.idle).await;
                tracing::info!(target = %self.target, up = closed.up, down = closed.down, broken = closed.broken, "closed");
            }
            // The connection was accepted before the target could be asked: all that can be said now is that it is broken.
            Some(Err(error)) => {
                (self.say)(&format!("{}: {error}", self.target));
                reset(&program);
            }
            None => reset(&program),
        }
    }
}
