use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::{Commands, Figures, GroupId, LimitedBy, LinkId, LinkUpdate, PathId, Rate, Side, Time};

/// A packet left.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Sent {
    /// When.
    pub now: Time,
    /// Its packet number.
    pub packet_number: u64,
    /// Its size.
    pub bytes: u64,
    /// Bytes in flight including it.
    pub bytes_in_flight: u64,
    /// Why the path was silent before this packet; [`LimitedBy::Nothing`] if it was not.
    pub limited_by: LimitedBy,
}

/// What the newest packet of an acknowledgement tells of the path (draft-ietf-ccwg-bbr section 4.1.1).
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct DeliverySample {
    /// Delivered bytes over the longer of send and acknowledgement interval; `None` if that is shorter than the path's
    /// round-trip time can be, so that the rate would be overestimated (section 4.1.2.3). The rest holds even then.
    pub rate: Option<Rate>,
    /// Bytes delivered from the sending of that packet until now.
    pub delivered: u64,
    /// Total bytes delivered on the path when the newest acknowledged packet was sent.
    pub prior_delivered: u64,
    /// Bytes in flight when that packet was sent, including it.
    pub inflight_at_send: u64,
    /// Bytes lost between its sending and now.
    pub lost: u64,
    /// What held the sender back while the sample was taken, if it was not the network: with
    /// [`leaves_window_unused`](LimitedBy::leaves_window_unused) the rate is a lower bound.
    pub limited_by: LimitedBy,
}

/// An acknowledgement that newly acknowledged something.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Bytes newly acknowledged.
    pub bytes: u64,
    /// Of these, bytes sent before the current recovery epoch began; they open no window (RFC 9002 section 7.3.2).
    pub bytes_in_recovery: u64,
    /// Packets newly acknowledged.
    pub packets: u64,
    /// Largest packet number newly acknowledged.
    pub largest_acked: u64,
    /// When that packet was sent.
    pub largest_sent_at: Time,
    /// Each packet before this number was acknowledged or is known to be lost.
    pub settled: u64,
    /// Bytes in flight after removal.
    pub bytes_in_flight: u64,
    /// The path on which it arrived. Often another one than its packets took: then the sample has that path's way back.
    pub received_on: PathId,
    /// Round-trip sample of this acknowledgement, if it gave one (peer's delay already taken off).
    pub latest_rtt: Option<Duration>,
    /// The same sample as it was measured, with the peer's delay.
    pub raw_rtt: Option<Duration>,
    /// Smoothed round-trip time, over acknowledgements that return on the path on which most do.
    pub smoothed_rtt: Duration,
    /// Mean deviation of the round-trip time (RFC 9002 section 5.3), with the same return path.
    pub rtt_variance: Duration,
    /// Smallest round-trip time of the path.
    pub min_rtt: Duration,
    /// Packets overtake each other: round-trip times differ without a queue, and the smallest is that of the luckiest packet.
    pub reorders: bool,
    /// One-way delay of the newest packet, offset unknown but constant.
    pub one_way_delay: Option<Duration>,
    /// Why sending on the path last stopped. If that [`leaves_window_unused`](LimitedBy::leaves_window_unused), the window
    /// must not grow (RFC 9002 section 7.8). In slow start half a window is use enough: then this is not said.
    pub limited_by: LimitedBy,
    /// Total bytes delivered on the path so far.
    pub delivered: u64,
    /// Delivery-rate sample; `None` if none of the packets was sent on the present 4-tuple.
    pub delivery: Option<DeliverySample>,
    /// Packets newly reported with an ECN congestion mark.
    pub ecn_ce: u64,
}

/// Why the window must react.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossCause {
    /// Packets were declared lost.
    Loss,
    /// The peer reported ECN congestion marks on a validated path.
    EcnMark,
    /// Persistent congestion (RFC 9002 section 7.6).
    Persistent,
}

/// A congestion signal.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Loss {
    /// When it was found.
    pub now: Time,
    /// Why.
    pub cause: LossCause,
    /// Bytes lost (zero for a mark).
    pub bytes: u64,
    /// Packets lost (zero for a mark).
    pub packets: u64,
    /// When the newest lost or marked packet was sent.
    pub largest_sent_at: Time,
    /// Its number.
    pub largest_lost: u64,
    /// The number of the oldest one; between them lie others that arrived, or were lost.
    pub smallest_lost: u64,
    /// Bytes in flight after removal.
    pub bytes_in_flight: u64,
    /// Bytes in flight when the newest lost packet was sent, including it (draft-ietf-ccwg-bbr section 5.5.10.2:
    /// the volume at which loss sets in). Zero for a mark.
    pub inflight_at_send: u64,
    /// Bytes lost on the path since that packet was sent, this detection included. Zero for a mark.
    pub lost_since_sent: u64,
    /// What held the sender back when that packet was sent, if it was not the network.
    pub limited_by: LimitedBy,
    /// Whether this opens a new recovery epoch. The epoch belongs to the path, not to the controller, so that a
    /// controller swapped in during recovery does not cut a second time. Reduce once per epoch.
    pub new_epoch: bool,
}

impl Loss {
    /// Returns a signal of a cause at a moment, with all counts zero, inside of a recovery epoch.
    pub fn new(now: Time, cause: LossCause) -> Self {
        Loss {
            now,
            cause,
            bytes: 0,
            packets: 0,
            largest_sent_at: Time::ZERO,
            largest_lost: 0,
            smallest_lost: 0,
            bytes_in_flight: 0,
            inflight_at_send: 0,
            lost_since_sent: 0,
            limited_by: LimitedBy::Nothing,
            new_epoch: false,
        }
    }
}

/// A path was silent and answers again: its link was gone in between.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Outage {
    /// When it answered, or when more of what the outage took was found.
    pub now: Time,
    /// When the last acknowledgement before it came.
    pub since: Time,
    /// Bytes lost to it.
    pub bytes: u64,
    /// Packets lost to it.
    pub packets: u64,
    /// Bytes in flight after removal.
    pub bytes_in_flight: u64,
}

/// A packet that had been declared lost was acknowledged after all: it was only late.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct SpuriousLoss {
    /// When the acknowledgement came.
    pub now: Time,
    /// Bytes of the packet: a [`Loss`] had them, or an [`Outage`], and no [`Ack`] has.
    pub bytes: u64,
    /// With this packet nearly all came back that opened a recovery epoch, so that there was no congestion, and what was reduced for
    /// it may be undone. Which epoch that is: 0 for the last one, 1 for the one before it, and so on. Each epoch is named once at most.
    pub undone: Option<usize>,
}

/// What a coupled controller may know of another path of the same connection.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Sibling {
    /// Its id.
    pub path: PathId,
    /// Its bottleneck group.
    pub group: GroupId,
    /// Its window.
    pub congestion_window: u64,
    /// Its smoothed round-trip time.
    pub smoothed_rtt: Duration,
    /// Its smallest round-trip time.
    pub min_rtt: Duration,
    /// Whether there is a round-trip sample and the path can send; others do not count in coupled sums.
    pub usable: bool,
    /// Its datagram size.
    pub max_datagram_size: u16,
    /// Its delivery rate.
    pub delivery_rate: Option<Rate>,
    /// The largest one of its last ten round trips.
    pub max_delivery_rate: Option<Rate>,
    /// Bytes acknowledged since its last loss.
    pub acked_since_loss: u64,
    /// Bytes acknowledged between its last two losses.
    pub acked_between_losses: u64,
    /// Lost among recently sent bytes, parts per million.
    pub loss_ppm: u32,
}

/// All paths of the connection, the controller's own included, in order of id.
#[derive(Clone, Copy, Debug)]
pub struct Siblings<'a> {
    /// The path whose controller is being called.
    pub own: PathId,
    /// The paths; empty unless [`CongestionController::wants_siblings`].
    pub paths: &'a [Sibling],
}

impl Siblings<'_> {
    /// No siblings: for uncoupled controllers and their tests.
    pub const NONE: Siblings<'static> = Siblings { own: PathId::ZERO, paths: &[] };

    /// The entry of the controller's own path.
    pub fn own_entry(&self) -> Option<&Sibling> {
        self.paths.iter().find(|sibling| sibling.path == self.own)
    }
}

/// What moves from one controller to its successor on a running path (SSCC: F. Yang 2022, chapter 5).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Snapshot {
    /// When it was taken.
    pub now: Time,
    /// Window in bytes.
    pub congestion_window: u64,
    /// Slow-start threshold in bytes; `u64::MAX` while still in the first slow start.
    pub slow_start_threshold: u64,
    /// Pacing rate in use.
    pub pacing_rate: Option<Rate>,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Duration,
    /// Mean deviation.
    pub rtt_variance: Duration,
    /// Smallest round-trip time.
    pub min_rtt: Duration,
    /// When `min_rtt` was seen.
    pub min_rtt_at: Time,
    /// Largest delivery rate of the last ten rounds.
    pub max_delivery_rate: Option<Rate>,
    /// Bytes in flight.
    pub bytes_in_flight: u64,
    /// Whether the pipe was found to be full: by BBR's rule, or since packets waited in a queue.
    pub pipe_full: bool,
    /// Window before the last reduction (CUBIC's W_max), if known.
    pub window_before_loss: Option<u64>,
}

impl Snapshot {
    /// Returns the state of a path in its first slow start, of which only the window is known.
    pub fn new(now: Time, congestion_window: u64) -> Self {
        Snapshot {
            now,
            congestion_window,
            slow_start_threshold: u64::MAX,
            pacing_rate: None,
            smoothed_rtt: Duration::ZERO,
            rtt_variance: Duration::ZERO,
            min_rtt: Duration::ZERO,
            min_rtt_at: Time::ZERO,
            max_delivery_rate: None,
            bytes_in_flight: 0,
            pipe_full: false,
            window_before_loss: None,
        }
    }
}

/// Decides how much may be in flight on one path, and how fast it leaves.
pub trait CongestionController: Send + fmt::Debug {
    /// The name in the registry.
    fn name(&self) -> &'static str;

    /// A packet left. Called once per packet: keep it short.
    fn on_sent(&mut self, _sent: &Sent) {}

    /// An acknowledgement arrived. Called once per ACK frame.
    fn on_ack(&mut self, ack: &Ack, siblings: &Siblings<'_>);

    /// Packets were lost or marked. Called once per detection, before `on_ack` of the same frame.
    fn on_loss(&mut self, loss: &Loss, siblings: &Siblings<'_>);

    /// Packets were lost to an outage: that tells nothing about what the path carries, and no [`Loss`] has them. The time since the
    /// outage began tells nothing either. Called once per detection, before `on_ack` of the same frame.
    fn on_outage(&mut self, _outage: &Outage) {}

    /// A packet that had been declared lost was only late. Called once per packet, before `on_ack` of the same frame.
    fn on_spurious_loss(&mut self, _spurious: &SpuriousLoss) {}

    /// The path moved to another 4-tuple: estimates of the old one do not hold. Called before the first packet leaves
    /// on it (RFC 9000 section 9.4). A mere change of port does not count.
    fn on_path_reset(&mut self, _now: Time) {}

    /// After [`on_path_reset`](Self::on_path_reset): the path is back on a 4-tuple that it left a moment ago, and
    /// `before` is what was known of it then. Without an implementation the window is reset.
    fn on_path_return(&mut self, _before: &Snapshot) {}

    /// The datagram size changed.
    fn on_max_datagram_size(&mut self, bytes: u16);

    /// Congestion window in bytes; the core never goes below two datagrams.
    fn window(&self) -> u64;

    /// Slow-start threshold in bytes, `u64::MAX` if none.
    fn slow_start_threshold(&self) -> u64 {
        u64::MAX
    }

    /// Whether the controller is in slow start (the core then paces at twice window per RTT, else at 1.25 times).
    fn in_slow_start(&self) -> bool {
        self.window() < self.slow_start_threshold()
    }

    /// An explicit pacing rate; `None` lets the core derive one from the window.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// A probe timeout expired, the `count`th in a row (RFC 9002 section 6.2).
    fn on_probe_timeout(&mut self, _now: Time, _count: u32) {}

    /// When [`on_timeout`](CongestionController::on_timeout) should be called. Asked after each of the other calls.
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// The timer expired.
    fn on_timeout(&mut self, _now: Time) {}

    /// The link under this path changed, or a new forecast of it came in.
    fn on_link_update(&mut self, _update: &LinkUpdate<'_>) {}

    /// The bottleneck group in which a detector places this path; the core shows it in [`Sibling::group`] and
    /// `PathView::group`. Detectors work on what controllers see (delays, losses, rates), so they live in the state
    /// that the controllers of a connection share, see [`ControllerFactory::for_connection`].
    fn bottleneck_group(&self) -> GroupId {
        GroupId::default()
    }

    /// Whether [`Siblings::paths`] must be filled. Costs a walk over the paths per acknowledgement.
    fn wants_siblings(&self) -> bool {
        false
    }

    /// Whether [`commands`](CongestionController::commands) is to be asked; asked once.
    fn gives_commands(&self) -> bool {
        false
    }

    /// What it wants done besides its window and rate: a PING, an acknowledgement at once, another return path. Asked after
    /// each acknowledgement, loss and timer of a controller that [`gives_commands`](CongestionController::gives_commands).
    fn commands(&mut self, _commands: &mut Commands) {}

    /// Adds to a snapshot what only the controller knows (for example W_max).
    fn fill_snapshot(&self, _snapshot: &mut Snapshot) {}

    /// Adds what the controller knows besides window, rate and slow start, for people who look at the path. Called only while
    /// somebody looks; must not allocate per packet or change anything.
    fn fill_figures(&self, _figures: &mut Figures) {}
}

/// What a controller is told when it is made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ControllerInit {
    /// The path.
    pub path: PathId,
    /// The present.
    pub now: Time,
    /// Datagram size in bytes.
    pub max_datagram_size: u16,
    /// Initial window in bytes (RFC 9002 section 7.2).
    pub initial_window: u64,
    /// The local link, when known.
    pub link: Option<LinkId>,
    /// The peer's address: key of per-prefix memory.
    pub remote: SocketAddr,
    /// Seed for its random decisions (BBR's probing times).
    pub seed: u64,
    /// State of the predecessor when a controller is swapped on a running path.
    pub snapshot: Option<Snapshot>,
}

impl ControllerInit {
    /// Returns what a controller of a new path is told: datagrams of 1200 bytes and the initial window for them (RFC 9002 section 7.2), no link, seed 0, no predecessor.
    pub fn new(path: PathId, now: Time, remote: SocketAddr) -> Self {
        ControllerInit {
            path,
            now,
            max_datagram_size: 1200,
            initial_window: 12_000,
            link: None,
            remote,
            seed: 0,
            snapshot: None,
        }
    }
}

/// Makes controllers, one per path.
pub trait ControllerFactory: Send + Sync {
    /// A controller for a path.
    fn build(&self, init: &ControllerInit) -> Box<dyn CongestionController>;

    /// Asked once when a connection begins. Controllers that share more state than [`Siblings`] shows (a joint
    /// optimiser, shared-bottleneck detection) answer with a factory of their own for this connection, with which all its
    /// controllers are built. Sets that are composed of parts ask it; the factory of another set asks it itself.
    /// `None`: this factory serves all connections.
    fn for_connection(&self, _side: Side, _seed: u64) -> Option<Arc<dyn ControllerFactory>> {
        None
    }

    /// Returns true if its controllers judge by [`Ack::one_way_delay`]: then the peer is asked to report when packets arrive, as with
    /// [`PolicySetFactory::wants_receive_timestamps`](crate::PolicySetFactory::wants_receive_timestamps). Not by default.
    fn wants_receive_timestamps(&self) -> bool {
        false
    }
}

impl<F> ControllerFactory for F
where
    F: Fn(&ControllerInit) -> Box<dyn CongestionController> + Send + Sync,
{
    fn build(&self, init: &ControllerInit) -> Box<dyn CongestionController> {
        self(init)
    }
}
