//! The controller of a path as the core sees it: the one that runs, and around it what watches and exchanges it.

use std::fmt;

use hawser_policy::{
    Ack, Command, Commands, CongestionController, GroupId, Loss, PathId, Siblings, Time, WrappedController,
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

impl WrappedController for Steered {
    fn inner(&self) -> &dyn CongestionController {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn CongestionController {
        &mut *self.inner
    }

    fn on_ack(&mut self, ack: &Ack, siblings: &Siblings<'_>) {
        self.inner.on_ack(ack, &coupled(siblings));
        self.replace = lock(&self.shared).on_ack(self.path, ack);
    }

    fn on_loss(&mut self, loss: &Loss, siblings: &Siblings<'_>) {
        self.inner.on_loss(loss, &coupled(siblings));
        lock(&self.shared).on_loss(self.path, loss);
    }

    fn on_path_reset(&mut self, now: Time) {
        self.inner.on_path_reset(now);
        lock(&self.shared).reset(self.path);
    }

    fn bottleneck_group(&self) -> GroupId {
        lock(&self.shared).group(self.path)
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
}
