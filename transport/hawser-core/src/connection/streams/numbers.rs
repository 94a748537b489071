//! Which streams exist: how many were opened, how many may be (RFC 9000 section 4.6), and which have ended.
//!
//! A stream costs memory only while it has state. That one of the peer's millionth is opened, and so all before it
//! (RFC 9000 section 3.2), is one number here.

use crate::connection::range_set::RangeSet;

/// Streams of one kind that this side opens.
#[derive(Debug, Default)]
pub(super) struct LocalStreams {
    next: u64,
    limit: u64,
    closed: RangeSet,
    /// Opening one failed, and the application waits to hear that it can.
    pub(super) open_blocked: bool,
}

impl LocalStreams {
    /// Opens one, and returns its index; `None` at the peer's limit.
    //= rfc9000-2.1-1: a stream id is used once per connection
    //= rfc9000-4.6-2: no more streams are opened than the peer allows
    //= rfc9000-19.11-3: no more streams are opened than allowed
    pub(super) fn open(&mut self) -> Option<u64> {
        if self.next >= self.limit {
            self.open_blocked = true;
            return None;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    /// A limit from the peer; limits never fall. Whether it is news.
    //= rfc9000-4.6-4: MAX_STREAMS that does not raise the limit is ignored
    //= rfc9000-19.11-2: MAX_STREAMS that does not raise the limit is ignored
    pub(super) fn raise(&mut self, limit: u64) -> bool {
        let raised = limit > self.limit;
        self.limit = self.limit.max(limit);
        raised
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// The peer never gave the limit.
    pub(super) fn withdraw_limit(&mut self) {
        self.limit = 0;
    }

    /// Whether more are open than the limit allows.
    pub(super) fn has_withheld(&self) -> bool {
        self.next > self.limit
    }

    pub(super) fn can_open(&self) -> bool {
        self.next < self.limit
    }

    pub(super) fn is_open(&self, index: u64) -> bool {
        index < self.next && !self.closed.contains(index)
    }

    pub(super) fn was_opened(&self, index: u64) -> bool {
        index < self.next
    }

    pub(super) fn close(&mut self, index: u64) {
        self.closed.insert(index..index + 1);
    }
}

/// Streams of one kind that the peer opens.
#[derive(Debug)]
pub(super) struct PeerStreams {
    next: u64,
    accepted: u64,
    closed: RangeSet,
    /// How many may be open at once.
    concurrent: u64,
    announced: u64,
    /// The application accepted all there were, and waits to hear of more.
    armed: bool,
}

impl PeerStreams {
    pub(super) fn new(concurrent: u64) -> Self {
        let concurrent = concurrent.min(hawser_wire::frame::MAX_STREAM_COUNT);
        PeerStreams {
            next: 0,
            accepted: 0,
            closed: RangeSet::default(),
            concurrent,
            announced: concurrent,
            armed: true,
        }
    }

    /// The limit the peer must keep to.
    pub(super) fn limit(&self) -> u64 {
        self.announced
    }

    /// The peer used a stream, which opens it and all before it. Whether the application must be told.
    //= rfc9000-3.2-1: a stream of the peer opens all lower ones of its type
    pub(super) fn open_up_to(&mut self, index: u64) -> bool {
        if index < self.next {
            return false;
        }
        self.next = index + 1;
        std::mem::take(&mut self.armed)
    }

    /// The next one the application has not seen.
    pub(super) fn accept(&mut self) -> Option<u64> {
        if self.accepted == self.next {
            self.armed = true;
            return None;
        }
        self.accepted += 1;
        Some(self.accepted - 1)
    }

    pub(super) fn is_open(&self, index: u64) -> bool {
        index < self.next && !self.closed.contains(index)
    }

    /// Whether it was open once and is not any more.
    pub(super) fn has_ended(&self, index: u64) -> bool {
        self.closed.contains(index)
    }

    pub(super) fn close(&mut self, index: u64) {
        self.closed.insert(index..index + 1);
    }

    /// Whether enough streams ended to be worth a MAX_STREAMS frame.
    //= rfc9000-4.6-6: MAX_STREAMS does not wait for STREAMS_BLOCKED
    pub(super) fn wants_update(&self) -> bool {
        self.next_limit() - self.announced >= (self.concurrent / 4).max(1)
    }

    fn next_limit(&self) -> u64 {
        let limit = self.closed.bytes().saturating_add(self.concurrent);
        limit.min(hawser_wire::frame::MAX_STREAM_COUNT).max(self.announced)
    }

    /// The limit to announce now.
    pub(super) fn announce(&mut self) -> u64 {
        self.announced = self.next_limit();
        self.announced
    }
}
