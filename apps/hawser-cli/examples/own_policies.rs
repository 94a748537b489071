//! The `hawser` command with a scheduler and a congestion controller of one's own.
//!
//! ```text
//! cargo run --example own_policies -- policies one-path
//! cargo run --example own_policies -- sim run scenarios/two-equal.toml \
//!     --set transport.scheduler=one-path,path=1 --set transport.controller=constant,window=200000
//! cargo run --example own_policies -- serve . --allow-scheduler one-path
//! cargo run --example own_policies -- get -O URL --pin PIN --scheduler one-path,path=1
//! ```

use std::process::ExitCode;

use hawser::policy::{
    Ack, Assignment, Commands, CongestionController, ControllerInit, Decision, Loss, ParameterInfo,
    Parameters, PathId, PolicyInfo, Registry, Scheduler, SchedulerInit, SendView, Siblings,
};

fn main() -> ExitCode {
    let mut registry = hawser::policies();
    register(&mut registry);
    hawser_cli::run(registry)
}

/// Makes both policies known by their names.
fn register(registry: &mut Registry) {
    let path = ParameterInfo::integer("path", 0..=7, 0).meaning("id of the path");
    let info = PolicyInfo::new("one-path", "everything on one path, others only where it cannot be used");
    registry.add_scheduler_with(info.parameter(path), |init, parameters| OnePath::build(init, parameters));

    let window = ParameterInfo::integer("window", 10_000..=100_000_000, 100_000).unit("bytes");
    let info = PolicyInfo::new("constant", "a window that stays, for links whose rate is known");
    let info = info.parameter(window.meaning("bytes that may be in flight on a path"));
    registry.add_controller_with(info, |init, parameters| Constant::build(init, parameters));
}

/// Everything on the path with this id.
struct OnePath(PathId);

impl OnePath {
    fn build(_: &SchedulerInit, parameters: &Parameters) -> Box<dyn Scheduler> {
        // The range of the parameter has been checked.
        Box::new(OnePath(PathId(parameters.integer("path") as u32)))
    }
}

impl Scheduler for OnePath {
    fn name(&self) -> &'static str {
        "one-path"
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        let path = view.preferred().find(|path| path.id == self.0).or_else(|| view.preferred().next());
        match path.filter(|path| path.sendable() > 0) {
            Some(path) => Decision::Send(Assignment::next(path.id)),
            // Asked again when an acknowledgement opens the window.
            None => Decision::Wait(None),
        }
    }
}

/// A window that does not react to anything. Where others share the link, use another controller.
#[derive(Debug)]
struct Constant {
    window: u64,
}

impl Constant {
    fn build(_: &ControllerInit, parameters: &Parameters) -> Box<dyn CongestionController> {
        Box::new(Constant { window: parameters.integer("window") })
    }
}

impl CongestionController for Constant {
    fn name(&self) -> &'static str {
        "constant"
    }

    fn on_ack(&mut self, _ack: &Ack, _siblings: &Siblings<'_>) {}

    fn on_loss(&mut self, _loss: &Loss, _siblings: &Siblings<'_>) {}

    fn on_max_datagram_size(&mut self, _bytes: u16) {}

    fn window(&self) -> u64 {
        self.window
    }
}
