//! `quota`: the receiver says which share of the data it wants on one path, and corrects what it says until it is so.
//!
//! The receiver is the one who pays for its modem, and only it counts what arrived. The sender has no share of its
//! own: its scheduler does what the last message says, and knows no limit before the first. It does not hold the other
//! paths back for one that is full, so a share is reached only as far as the path can carry it.

use std::sync::Arc;
use std::time::Duration;

use hawser_policy::{
    Agent, Assignment, Command, Commands, Decision, Event, FeatureId, FeatureSet, Interests, Message,
    MessageOrigin, ParameterInfo, PathId, PolicyError, PolicyInfo, PolicySet, PolicySetFactory, Registry,
    Scheduler, SendView, SetInit, Time,
};

/// The share that the sender is to give the path of the message: two bytes, big endian, in 1/10,000.
const SHARE: FeatureId = FeatureId(64);
const WHOLE: f64 = 10_000.0;
/// Bytes by which the sender may be ahead of the share, or behind it.
const SLACK: f64 = 64_000.0;
/// What of the past counts after another window.
const MEMORY: f64 = 0.9;

/// At the receiver: counts, and says what is to be changed.
struct Meter {
    path: PathId,
    share: f64,
    window: Duration,
    window_start: Time,
    /// Bytes that arrived, on all paths and on the one; older ones count less.
    total: f64,
    on_path: f64,
}

impl Agent for Meter {
    fn interests(&self) -> Interests {
        Interests::RECEIVED
    }

    fn on_event(&mut self, event: &Event<'_>, commands: &mut Commands) {
        let Event::Received(packet) = event else { return };
        self.total += packet.bytes as f64;
        if packet.path == self.path {
            self.on_path += packet.bytes as f64;
        }
        if packet.now < self.window_start + self.window {
            return;
        }
        // By as much too high as it has been too low.
        let measured = self.on_path / self.total;
        let told = (2.0 * self.share - measured).clamp(0.0, 1.0);
        let payload = ((told * WHOLE) as u16).to_be_bytes().to_vec();
        commands.push(Command::Send(Message::latest(SHARE, payload).about(self.path)));
        self.window_start = packet.now;
        (self.total, self.on_path) = (self.total * MEMORY, self.on_path * MEMORY);
    }
}

/// At the sender: holds the share that it was told.
#[derive(Default)]
struct Obedient {
    told: Option<(PathId, f64)>,
    /// Bytes that the path has been given too few.
    owed: f64,
}

impl Scheduler for Obedient {
    fn name(&self) -> &'static str {
        "quota"
    }

    fn interests(&self) -> Interests {
        Interests::SENT | Interests::MESSAGES
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        match event {
            Event::Sent(packet) => {
                let Some((path, share)) = self.told else { return };
                let bytes = packet.bytes as f64;
                let change = if packet.path == path { bytes * (share - 1.0) } else { bytes * share };
                self.owed = (self.owed + change).clamp(-SLACK, SLACK);
            }
            // A peer may send anything: what has no meaning is ignored.
            Event::Message { origin: MessageOrigin::Peer, message, .. } if message.feature == SHARE => {
                let Ok(share) = <[u8; 2]>::try_from(message.payload.as_slice()) else { return };
                let share = f64::from(u16::from_be_bytes(share)) / WHOLE;
                if let Some(path) = message.path.filter(|_| share <= 1.0) {
                    self.told = Some((path, share));
                }
            }
            _ => {}
        }
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        let limited = self.told.map(|(path, _)| path);
        let is_alone = view.preferred().all(|path| Some(path.id) == limited);
        let may_use = self.owed >= 0.0 || is_alone;
        let usable = view.preferred().filter(|path| path.sendable() > 0);
        let usable = usable.filter(|path| may_use || Some(path.id) != limited);
        let best = usable.min_by_key(|path| (Some(path.id) != limited, path.smoothed_rtt));
        best.map_or(Decision::Wait(None), |path| Decision::Send(Assignment::next(path.id)))
    }
}

struct Quota {
    path: PathId,
    share: f64,
    window: Duration,
    usual: Arc<dyn PolicySetFactory>,
}

impl PolicySetFactory for Quota {
    fn build(&self, init: &SetInit) -> PolicySet {
        let meter = Meter {
            path: self.path,
            share: self.share,
            window: self.window,
            window_start: init.now,
            total: 0.0,
            on_path: 0.0,
        };
        self.usual.build(init).with(|set| {
            set.scheduler = Box::new(Obedient::default());
            set.agent = Some(Box::new(meter));
            set.features = self.features();
        })
    }

    fn features(&self) -> FeatureSet {
        FeatureSet::NONE.with(SHARE)
    }
}

/// Makes it known as `quota`.
pub(crate) fn register(registry: &mut Registry) -> Result<(), PolicyError> {
    let (shortest, longest) = (Duration::from_millis(10), Duration::from_secs(10));
    let info = PolicyInfo::new("quota", "the receiver says which share of the data one path carries")
        .parameter(ParameterInfo::integer("path", 0..=7, 1).meaning("id of the path"))
        .parameter(
            ParameterInfo::number("share", 0.0..=1.0, 0.5).meaning("what is to arrive on it of all bytes"),
        )
        .parameter(
            ParameterInfo::duration("window", shortest..=longest, Duration::from_millis(50))
                .meaning("time between two messages to the sender"),
        );
    let usual = super::usual(registry)?;
    registry.add_sets(info, move |parameters| {
        Arc::new(Quota {
            // The range of the parameter has been checked.
            path: PathId(parameters.integer("path") as u32),
            share: parameters.number("share"),
            window: parameters.duration("window"),
            usual: usual.clone(),
        })
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_policy::PacketReceived;

    /// Nothing came on path 1: the receiver asks for more than its share, and the sender does as it is told.
    #[test]
    fn what_the_receiver_says_is_what_the_sender_does() {
        let (path, window) = (PathId(1), Duration::from_millis(50));
        let mut meter =
            Meter { path, share: 0.2, window, window_start: Time::ZERO, total: 0.0, on_path: 0.0 };
        let now = Time::from_millis(60);
        let packet = PacketReceived::default().with(|packet| {
            packet.now = now;
            packet.received_at = now;
            packet.path = PathId(0);
            packet.packet_number = 1;
            packet.bytes = 1_200;
            packet.gap = 0;
            packet.congestion_marked = false;
        });
        let mut commands = Vec::new();
        meter.on_event(&Event::Received(&packet), &mut commands);
        let [Command::Send(message)] = commands.as_slice() else { panic!("{commands:?}") };
        let mut scheduler = Obedient::default();
        let event = Event::Message { now, origin: MessageOrigin::Peer, message };
        scheduler.on_event(&event, &mut Vec::new());
        assert_eq!(scheduler.told, Some((path, 0.4)));
    }
}
