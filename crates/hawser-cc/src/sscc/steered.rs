//! The controller of a path as the core sees it: the one that runs, and around it what watches and exchanges it.

use std::fmt;

use hawser_policy::{
    Ack, Command, Commands, CongestionController, GroupId, LinkUpdate, Loss, PathId, Rate, Sent, Siblings,
    Snapshot, Time,
};

use super::state::{Shared, lock};

/// The controller that runs on a path.
pub(super) struct Steered {
    pub(super) inner: Box<dyn CongestionController>,
    pub(super) shared: Shared,
    pub(super) path: PathId,
    pub(super) inner_commands: bool,
    /// Whether another one is to take its place.
    pub(super) replace: bool,
}

impl fmt::Debug for Steered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steered")
            .field("path", &self.path)
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

/// Whom the path is coupled with: its group, and nobody while it is in none. (Elsewhere group 0 is that of all paths.)
fn coupled<'a>(siblings: &Siblings<'a>) -> Siblings<'a> {
    let own = siblings.paths.iter().find(|sibling| sibling.path == siblings.own);
    match own {
        Some(own) if own.group == GroupId(0) => {
            Siblings { own: siblings.own, paths: std::slice::from_ref(own) }
        }
        _ => *siblings,
    }
}

impl CongestionController for Steered {
    /// Of the one that runs.
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.inner.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack, siblings: &Siblings<'_>) {
        self.inner.on_ack(ack, &coupled(siblings));
        self.replace = lock(&self.shared).on_ack(self.path, ack);
    }

    fn on_loss(&mut self, loss: &Loss, siblings: &Siblings<'_>) {
        self.inner.on_loss(loss, &coupled(siblings));
        lock(&self.shared).on_loss(self.path, loss);
    }

    fn on_spurious_loss(&mut self, now: Time) {
        self.inner.on_spurious_loss(now);
    }

    fn on_path_reset(&mut self, now: Time) {
        self.inner.on_path_reset(now);
        lock(&self.shared).reset(self.path);
    }

    fn on_path_return(&mut self, before: &Snapshot) {
        self.inner.on_path_return(before);
    }

    fn on_max_datagram_size(&mut self, bytes: u16) {
        self.inner.on_max_datagram_size(bytes);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn slow_start_threshold(&self) -> u64 {
        self.inner.slow_start_threshold()
    }

    fn in_slow_start(&self) -> bool {
        self.inner.in_slow_start()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.inner.pacing_rate()
    }

    fn on_probe_timeout(&mut self, now: Time, count: u32) {
        self.inner.on_probe_timeout(now, count);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.inner.next_timeout()
    }

    fn on_timeout(&mut self, now: Time) {
        self.inner.on_timeout(now);
    }

    fn on_link_update(&mut self, update: &LinkUpdate<'_>) {
        self.inner.on_link_update(update);
    }

    fn bottleneck_group(&self) -> GroupId {
        lock(&self.shared).group(self.path)
    }

    fn wants_siblings(&self) -> bool {
        self.inner.wants_siblings()
    }

    fn gives_commands(&self) -> bool {
        true
    }

    fn commands(&mut self, commands: &mut Commands) {
        if self.inner_commands {
            self.inner.commands(commands);
        }
        if std::mem::take(&mut self.replace) {
            commands.push(Command::ReplaceController { path: self.path });
        }
    }

    fn fill_snapshot(&self, snapshot: &mut Snapshot) {
        self.inner.fill_snapshot(snapshot);
    }
}
