//! A channel of tags between tasks: one source, any number of subscribers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hawser_media::broadcast::{
    Channel, Limits, QueueCounts, SourceCounts, SubscriberId, TimelineCounts, Unit,
};
use hawser_media::flv::{Role, Tag};
use tokio::sync::Notify;

use hawser::policy::Time;

/// Bytes that may wait for one subscriber, however long the buffer is in time.
const MAX_BYTES: usize = 64 << 20;

/// The channel, shared. It is locked for the time of a queue's push or pop only.
#[derive(Debug)]
pub(super) struct Hub {
    state: Mutex<State>,
    /// Something was pushed, or the source ended.
    news: Notify,
    started: Instant,
}

#[derive(Debug)]
struct State {
    channel: Channel,
    /// Times that the source said that it is done.
    ends: u64,
    /// Whether nothing has come since.
    is_over: bool,
    /// Encoders, or publishers, that began.
    sources: u64,
    /// When the last key frame came, or the encoder began.
    key_at: Option<Instant>,
}

/// What a subscriber gets.
#[derive(Debug)]
pub(super) enum Next {
    Unit(Unit),
    /// The source is done. Another one may begin.
    End,
}

impl Hub {
    /// One whose subscribers may lag by so much.
    pub(super) fn new(buffer: Duration) -> Arc<Self> {
        Self::leaving_out(buffer, None)
    }

    /// The same, where what would wait longer than `lag` is left out at the end of its group of pictures.
    pub(super) fn leaving_out(buffer: Duration, lag: Option<Duration>) -> Arc<Self> {
        let span = u32::try_from(buffer.as_millis()).unwrap_or(u32::MAX / 4);
        let channel = Channel::new(Limits { bytes: MAX_BYTES, span, lag }, rand::random());
        let state = Mutex::new(State { channel, ends: 0, is_over: false, sources: 0, key_at: None });
        Arc::new(Hub { state, news: Notify::new(), started: Instant::now() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Time {
        Time::ZERO + self.started.elapsed()
    }

    /// An encoder begins.
    pub(super) fn begin_encoder(&self) {
        let mut state = self.lock();
        state.channel.begin_encoder();
        state.sources += 1;
        state.key_at = Some(Instant::now());
    }

    /// A publisher begins.
    pub(super) fn begin_publisher(&self) {
        self.lock().sources += 1;
    }

    /// The source has gone without a word: if no other follows within this time, that was the end.
    pub(super) async fn end_unless_another_follows(&self, patience: Duration) {
        let before = self.lock().sources;
        tokio::time::sleep(patience).await;
        if self.lock().sources == before {
            self.end();
        }
    }

    /// A tag of the encoder.
    pub(super) fn push_tag(&self, tag: Tag) {
        self.lock().saw(tag.role()).push_tag(self.now(), tag);
        self.news.notify_waiters();
    }

    /// A unit that came over the network. Returns its time for those who watch; `None` if it had come before.
    pub(super) fn push(&self, unit: Unit) -> Option<u32> {
        let time = self.lock().saw(unit.role).push(self.now(), unit);
        self.news.notify_waiters();
        time
    }

    /// The source is done.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        if std::mem::replace(&mut state.is_over, true) {
            return;
        }
        state.ends += 1;
        state.key_at = None;
        drop(state);
        self.news.notify_waiters();
    }

    pub(super) fn counts(&self) -> (SourceCounts, TimelineCounts) {
        let state = self.lock();
        (state.channel.counts(), state.channel.timeline_counts())
    }

    pub(super) fn subscribers(&self) -> usize {
        self.lock().channel.subscribers()
    }

    /// How long the oldest unit of any subscriber has waited here, and the bytes of the fullest queue.
    pub(super) fn longest_queue(&self) -> (Duration, usize) {
        let (now, state) = (self.now(), self.lock());
        let queues = state
            .channel
            .subscriber_ids()
            .map(|id| (state.channel.waiting_since(now, id), state.channel.waiting(id)));
        queues.fold((Duration::ZERO, 0), |most, next| (most.0.max(next.0), most.1.max(next.1)))
    }

    /// Whether the source sends audio and no video.
    pub(super) fn is_audio_only(&self) -> bool {
        self.lock().channel.is_audio_only()
    }

    /// Whether the source is done, and no other has begun.
    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// How long there has been an encoder but no key frame.
    pub(super) fn without_key_frame(&self) -> Option<Duration> {
        let state = self.lock();
        state.key_at.filter(|_| !state.channel.is_audio_only()).map(|at| at.elapsed())
    }

    /// A new subscriber.
    pub(super) fn subscribe(self: &Arc<Self>) -> Subscription {
        let mut state = self.lock();
        let id = state.channel.subscribe();
        // One that comes after the end is told of it behind what is left.
        let ends = state.ends - u64::from(state.is_over);
        Subscription { hub: self.clone(), id, ends, told: QueueCounts::default() }
    }
}

impl State {
    fn saw(&mut self, role: Role) -> &mut Channel {
        self.is_over = false;
        if role == Role::KeyFrame {
            self.key_at = Some(Instant::now());
        }
        &mut self.channel
    }
}

/// A subscriber, until it is dropped.
#[derive(Debug)]
pub(super) struct Subscription {
    hub: Arc<Hub>,
    id: SubscriberId,
    /// Ends of the source that it knows of.
    ends: u64,
    told: QueueCounts,
}

impl Subscription {
    /// The next unit, or the end of the source.
    pub(super) async fn next(&mut self) -> Next {
        let hub = self.hub.clone();
        loop {
            let mut news = std::pin::pin!(hub.news.notified());
            // What is pushed from here on is not missed.
            news.as_mut().enable();
            {
                let mut state = hub.lock();
                if let Some(unit) = state.channel.next(hub.now(), self.id) {
                    return Next::Unit(unit);
                }
                if state.ends > self.ends {
                    self.ends = state.ends;
                    return Next::End;
                }
            }
            news.await;
        }
    }

    /// Tags that were skipped since the last call, because this subscriber is too slow.
    pub(super) fn newly_skipped(&mut self) -> Option<u64> {
        let counts = self.hub.lock().channel.queue_counts(self.id);
        let skipped = counts.skipped - self.told.skipped;
        self.told = counts;
        (skipped > 0).then_some(skipped)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.hub.lock().channel.unsubscribe(self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ends(subscription: &mut Subscription) -> bool {
        let next = tokio::time::timeout(Duration::from_secs(1), subscription.next()).await;
        matches!(next, Ok(Next::End))
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_is_told_once_to_each_and_also_to_one_who_comes_later() {
        let hub = Hub::new(Duration::from_secs(1));
        let mut early = hub.subscribe();
        assert!(!ends(&mut early).await);
        hub.end();
        hub.end();
        let mut late = hub.subscribe();
        assert!(ends(&mut early).await && ends(&mut late).await);
        assert!(!ends(&mut early).await && !ends(&mut late).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_that_has_gone_is_done_unless_another_follows() {
        let hub = Hub::new(Duration::from_secs(1));
        let patience = Duration::from_secs(10);
        hub.begin_encoder();
        tokio::join!(hub.end_unless_another_follows(patience), async {
            tokio::time::sleep(patience / 2).await;
            hub.begin_encoder();
        });
        assert!(!hub.is_over());
        hub.end_unless_another_follows(patience).await;
        assert!(hub.is_over());
    }
}
