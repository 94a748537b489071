//! Ctrl-C: everything started is stopped, every file removed, then the program ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio::signal::unix::{SignalKind, signal};

use super::DemoError;

/// Whether the user wants to stop.
#[derive(Debug)]
pub(crate) struct Interrupt {
    raised: Arc<AtomicBool>,
}

impl Interrupt {
    /// Takes note of SIGINT and SIGTERM from now on; the second one ends the process at once.
    pub(crate) fn listen() -> Result<Self, DemoError> {
        let failed = || DemoError::io("listening for Ctrl-C");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed())?;
        let raised = Arc::new(AtomicBool::new(false));
        let flag = raised.clone();
        let signals = runtime
            .block_on(async { Ok((signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)) });
        let (mut interrupts, mut terminations) = signals.map_err(failed())?;
        let wait = move || {
            runtime.block_on(async {
                loop {
                    tokio::select! {
                        _ = interrupts.recv() => {}
                        _ = terminations.recv() => {}
                    }
                    if flag.swap(true, Ordering::Relaxed) {
                        std::process::exit(130);
                    }
                }
            });
        };
        thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(failed())?;
        Ok(Self { raised })
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed)
    }
}
