//! The question whether data is protected by an erasure code, so that what is lost need not be sent again.

use std::time::Duration;

use crate::{Commands, Event, FeatureSet, Interests, PathId, PathView, Segment, Side, StreamId, Time};

/// How repair symbols are computed from source symbols. A source symbol is the stream data of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErasureCode {
    /// One repair symbol per block, the exclusive or of its source symbols: brings back a single loss.
    Xor,
    /// Reed-Solomon over blocks: any so many losses as there are repair symbols are brought back.
    ReedSolomon,
    /// Random linear combinations over a sliding window: repair symbols come in between instead of at the end of a block,
    /// so that a loss is brought back sooner.
    RandomLinear,
}

/// The most source symbols of a block or window. The core clamps to it.
pub const MAX_SOURCE_SYMBOLS: u16 = 64;

/// The most repair symbols of a block or window. The core clamps to it.
pub const MAX_REPAIR_SYMBOLS: u16 = 32;

/// How a block of ranges is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Protection {
    /// The code.
    pub code: ErasureCode,
    /// Source symbols of a block or window, 1 to [`MAX_SOURCE_SYMBOLS`]. A block that ends with less gets repair symbols in
    /// proportion, and at least one.
    pub source_symbols: u16,
    /// Repair symbols for so many source symbols, 1 to [`MAX_REPAIR_SYMBOLS`]; with [`ErasureCode::Xor`] always one.
    pub repair_symbols: u16,
    /// How long a block that is not full waits for more data. The end of a stream, or of an application frame, ends it as well.
    pub span: Duration,
    /// The path of the repair symbols: another one than that of the data protects against the loss of the path. `None`
    /// leaves it to a scheduler that asks for them ([`Interests::REPAIR`]), and else to the path of the data.
    pub path: Option<PathId>,
    /// Whether the block takes the data of its stream and frame from all paths, so that repair symbols make good what any of
    /// them loses. Otherwise each path has blocks of its own.
    pub across_paths: bool,
}

impl Protection {
    /// Returns a protection by blocks of these sizes, on each path apart; repair symbols go where the data goes unless a scheduler places them.
    pub fn new(code: ErasureCode, source_symbols: u16, repair_symbols: u16, span: Duration) -> Self {
        Protection { code, source_symbols, repair_symbols, span, path: None, across_paths: false }
    }
}

/// What a protection policy sees when a block begins.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ProtectionView<'a> {
    /// The present.
    pub now: Time,
    /// The path that carries the data.
    pub path: PathId,
    /// All paths.
    pub paths: &'a [PathView],
    /// Of the first range of the block the bytes that most of it are, and what the application said of them: a header that
    /// shares the packet with the body of its frame does not count.
    pub segment: &'a Segment<'a>,
}

impl<'a> ProtectionView<'a> {
    /// Returns a view at one moment.
    pub fn new(now: Time, path: PathId, paths: &'a [PathView], segment: &'a Segment<'a>) -> Self {
        ProtectionView { now, path, paths, segment }
    }

    /// The path that carries the data, as it stands.
    pub fn own(&self) -> Option<&'a PathView> {
        self.paths.iter().find(|path| path.id == self.path)
    }
}

/// What became of a block (of a window of a sliding code: of as many source symbols as the window has).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct BlockReport {
    /// When this was learned.
    pub now: Time,
    /// The path that carried the data; of a block across paths the one that began it.
    pub path: PathId,
    /// The stream.
    pub stream: StreamId,
    /// Source symbols.
    pub source_symbols: u16,
    /// Repair symbols that were sent.
    pub repair_symbols: u16,
    /// Source symbols whose packets were declared lost.
    pub lost: u16,
    /// Source symbols that the peer brought back by decoding.
    pub recovered: u16,
}

/// Decides whether and how strongly stream data is protected, per path and per block of ranges.
///
/// Without one, nothing is asked and packets cost no more.
pub trait ProtectionPolicy: Send {
    /// The name in the registry.
    fn name(&self) -> &'static str;

    /// How the block that begins with this range is protected; `None`: not at all, and the question comes again after a
    /// few packets. Asked for each path, stream and application frame apart (once for all paths if the block is across them), and
    /// only of what is sent for the first time. A window that slides has no end: once as many source symbols left as it has, the
    /// question comes again, and it goes on as the answer says.
    fn protect(&mut self, view: &ProtectionView<'_>) -> Option<Protection>;

    /// The fate of a block is settled.
    fn on_block(&mut self, _report: &BlockReport) {}

    /// The events that it wants; asked once.
    fn interests(&self) -> Interests {
        Interests::NONE
    }

    /// One of them happened. The advice of the peer's policies comes as [`Event::Message`].
    fn on_event(&mut self, _event: &Event<'_>, _commands: &mut Commands) {}
}

/// What a protection policy is told when it is made.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ProtectionInit {
    /// Our end.
    pub side: Side,
    /// Seed for its random decisions.
    pub seed: u64,
}

impl ProtectionInit {
    /// Returns what a protection policy of this end is told.
    pub fn new(side: Side, seed: u64) -> Self {
        ProtectionInit { side, seed }
    }
}

/// Makes protection policies, one per connection.
pub trait ProtectionFactory: Send + Sync {
    /// A policy for a new connection; `None`: nothing is protected.
    fn build(&self, init: &ProtectionInit) -> Option<Box<dyn ProtectionPolicy>>;

    /// The features whose messages its policies send or take; they are offered to the peer. None by default.
    fn features(&self) -> FeatureSet {
        FeatureSet::NONE
    }

    /// Returns true if repair symbols are sent, or taken from the peer; then the extension is offered to it. By default, if
    /// there is a policy at all.
    fn repairs(&self) -> bool {
        self.build(&ProtectionInit { side: Side::Client, seed: 0 }).is_some()
    }
}

impl<F> ProtectionFactory for F
where
    F: Fn(&ProtectionInit) -> Option<Box<dyn ProtectionPolicy>> + Send + Sync,
{
    fn build(&self, init: &ProtectionInit) -> Option<Box<dyn ProtectionPolicy>> {
        self(init)
    }
}
