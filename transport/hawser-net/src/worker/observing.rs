use std::sync::Weak;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::Worker;
use crate::link_state::Observer;

/// How often the observer is asked, as in the simulator.
const INTERVAL: Duration = Duration::from_millis(100);

/// Keeps a worker informed of what an observer says of links for as long as the worker lives, from when it knows its links.
pub(crate) async fn inform(
    mut observer: Observer,
    worker: Weak<Worker>,
    mut links_known: watch::Receiver<bool>,
) {
    // An error says that they will never be known, and then there is nobody to be told either.
    let _ = links_known.wait_for(|known| *known).await;
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(worker) = worker.upgrade() else { return };
        let links = worker.lock().links.known().cloned().collect();
        let news = observer.ask(worker.clock.now(), links);
        if !news.is_empty() {
            worker.tell_of_links(news);
        }
    }
}
