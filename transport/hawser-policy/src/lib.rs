//! The seam between the Hawser core and its policies.
//!
//! The core knows *how* to send byte range X of stream S on path P, to copy it, to skip it. A policy
//! decides *whether and where*. This crate holds everything the two sides share and nothing else: it
//! depends on neither the wire format nor the core, so a policy is plain Rust that can be tested with
//! a handful of values.
//!
//! * [`Time`], [`Rate`] and the ids are the vocabulary.
//! * [`PathView`] and [`SendView`] are read-only pictures of a connection at one moment. Policies never
//!   see the core's own types.
//! * A [`PolicySet`] is all that decides for one connection; its parts may share state.
//! * What policies note of their decisions, people and experiments read in a [`Trace`].
//! * [`Scheduler`], [`CongestionController`], [`PathManager`], [`LinkObserver`], [`AckPolicy`] and
//!   [`ProtectionPolicy`] are the questions the core asks. Schedulers and controllers are made by named
//!   factories held in a [`Registry`], so that the command line, the simulator and tests all choose by name.
//!
//! A scheduler that keeps off a path while its round-trip time is twice that of the best one, with a parameter, by name:
//!
//! ```
//! use hawser_policy::{
//!     Assignment, Commands, Decision, ParameterInfo, PathId, PathView, PolicyInfo, QueueView, Registry, Scheduler,
//!     SchedulerInit, SendView, Side, Time,
//! };
//! use std::time::Duration;
//!
//! struct Quick {
//!     factor: f64,
//! }
//!
//! impl Scheduler for Quick {
//!     fn name(&self) -> &'static str {
//!         "quick"
//!     }
//!
//!     fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
//!         let best = view.preferred().map(|path| path.smoothed_rtt).min().unwrap_or_default();
//!         let mut usable = view.preferred().filter(|path| path.smoothed_rtt <= best.mul_f64(self.factor));
//!         let path = usable.find(|path| path.sendable() > 0);
//!         path.map_or(Decision::Wait(None), |path| Decision::Send(Assignment::next(path.id)))
//!     }
//! }
//!
//! let mut registry = Registry::new();
//! let factor = ParameterInfo::number("factor", 1.0..=100.0, 2.0).meaning("of the best round-trip time");
//! registry.add_scheduler_with(PolicyInfo::new("quick", "paths that are quick").parameter(factor), |_, parameters| {
//!     Box::new(Quick { factor: parameters.number("factor") })
//! });
//!
//! // A test needs a view, nothing else: the quick path is full, the other one takes 60 ms.
//! let rtt = |id, milliseconds| {
//!     PathView::new(PathId(id)).with(|path| path.smoothed_rtt = Duration::from_millis(milliseconds))
//! };
//! let mut paths = [rtt(0, 20), rtt(1, 60)];
//! paths[0].bytes_in_flight = paths[0].congestion_window;
//! let queue = QueueView::default().with(|queue| queue.unsent = 50_000);
//! let view = SendView::new(Time::ZERO, &paths, queue, &());
//! let ask = |spec: &str| {
//!     let init = SchedulerInit::new(Side::Client, 0);
//!     registry.scheduler(spec).expect("it is registered").build(&init).schedule(&view, &mut Vec::new())
//! };
//! assert_eq!(ask("quick"), Decision::Wait(None));
//! assert_eq!(ask("quick,factor=4"), Decision::Send(Assignment::next(PathId(1))));
//! ```
//!
//! # Rules
//!
//! Sizes are bytes, rates bit/s, times nanoseconds. A policy cannot break the protocol: the core clamps
//! every answer to what congestion control, flow control and the state of a path allow. Policies have no
//! clock and no random source of their own: `now` comes with each view, seeds come with the factory call.
//!
//! `docs/policy-seam.md` walks through the published systems and names the method that serves each need.

mod ack;
mod composition;
mod congestion;
mod cost_cap;
mod event;
mod figures;
mod ids;
mod link;
mod message;
mod parameters;
mod path_manager;
mod protection;
mod rate;
mod registry;
mod scheduler;
mod scheduler_factory;
mod segment;
mod set;
mod spec;
mod time;
mod trace;
mod view;
mod with;
mod wrapped;

pub use ack::{AckDecision, AckFrequency, AckOpportunity, AckPolicy, AckPolicyFactory, ReturnPath};
pub use composition::Composition;
pub use congestion::{
    Ack, CongestionController, ControllerFactory, ControllerInit, DeliverySample, Loss, LossCause, Outage,
    Sent, Sibling, Siblings, Snapshot, SpuriousLoss,
};
pub use cost_cap::{CostCap, InvalidCostCap, LinkTraffic};
pub use event::{
    Event, Interests, LimitedBy, MessageOrigin, PacketReceived, PacketReport, PacketSent, StreamRange,
};
pub use figures::{Figure, Figures, MAX_FIGURES};
pub use ids::{GroupId, LinkId, PathId, Side, StreamId, Tag};
pub use link::{
    AttachReport, AttachRequest, AttachResult, AttachmentPoint, FORECAST_HORIZONS, Forecast, HandOver,
    LinkCandidate, LinkDirection, LinkInfo, LinkKind, LinkObserver, LinkState, LinkUpdate,
    MAX_LINK_CANDIDATES, Signal,
};
pub use message::{FeatureId, FeatureSet, MAX_FEATURES, MAX_MESSAGE_PAYLOAD, Message, MessageDelivery};
pub use parameters::{
    FileContents, ParameterError, ParameterInfo, ParameterRange, ParameterValue, Parameters, PolicyFile,
};
pub use path_manager::{PathAction, PathEvent, PathManager, PathManagerFactory, PathManagerInit};
pub use protection::{
    BlockReport, ErasureCode, MAX_REPAIR_SYMBOLS, MAX_SOURCE_SYMBOLS, Protection, ProtectionFactory,
    ProtectionInit, ProtectionPolicy, ProtectionView,
};
pub use rate::Rate;
pub use registry::{PolicyError, PolicyInfo, PolicyKind, Registry};
pub use scheduler::{
    Assignment, Command, Commands, Decision, Feedback, LayerPackets, MAX_COMMANDS, MAX_PACING_PERCENT,
    MIN_PACING_PERCENT, MIN_WAIT, PathChange, Scheduler, SchedulerInit, Selection,
};
pub use scheduler_factory::SchedulerFactory;
pub use segment::{DatagramInfo, FrameInfo, QueuedDatagram, Reliability, Segment, SegmentKind, SendQueue};
pub use set::{Agent, Composed, PolicySet, PolicySetFactory, SetInit};
pub use spec::{PolicySpec, SpecError};
pub use time::{Earliest, Time};
pub use trace::{Note, Notes, Trace, TraceSink};
pub use view::{PathMask, PathState, PathStatus, PathView, QueueView, SendView};
pub use wrapped::WrappedController;

/// The examples of the page on the seam are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/policy-seam.md")]
pub struct PolicySeamPage;
