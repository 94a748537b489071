//! Ctrl-C: the first asks politely, the second insists.

use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::exit::Exit;

/// Tells when the user wants the command to end. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Interrupt {
    receiver: watch::Receiver<bool>,
}

impl Interrupt {
    /// Listens for SIGINT and SIGTERM from now on. The second one ends the process at once.
    pub fn listen() -> std::io::Result<Self> {
        let mut interrupts = signal(SignalKind::interrupt())?;
        let mut terminations = signal(SignalKind::terminate())?;
        let (sender, receiver) = watch::channel(false);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = interrupts.recv() => {}
                    _ = terminations.recv() => {}
                }
                if sender.send_replace(true) {
                    std::process::exit(i32::from(Exit::Signal as u8));
                }
            }
        });
        Ok(Interrupt { receiver })
    }

    /// One that is raised with this one, or by calling the function returned with it.
    pub fn child(&self) -> (impl Fn() + use<>, Interrupt) {
        let (sender, receiver) = watch::channel(false);
        let sender = Arc::new(sender);
        let (raise, mut parent) = (sender.clone(), self.clone());
        tokio::spawn(async move {
            parent.raised().await;
            sender.send_replace(true);
        });
        let raise = move || {
            raise.send_replace(true);
        };
        (raise, Interrupt { receiver })
    }

    /// Whether the user has asked.
    pub fn is_raised(&self) -> bool {
        *self.receiver.borrow()
    }

    /// Waits until the user asks.
    pub async fn raised(&mut self) {
        // The sender lives as long as the runtime; without it nobody can ask any more.
        if self.receiver.wait_for(|raised| *raised).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
