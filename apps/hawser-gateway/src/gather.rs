//! Pieces that come one by one, moved many at a time.
//!
//! A stream that carries a download hands over a packet at a time. A system call for each, and all that the kernel's TCP does with
//! it, costs several times what QUIC does. So who moves pieces without a rest waits for a moment and takes what has come meanwhile.
//! Exchanges of single pieces are not delayed: some moves need no wait, and those that were used up come back with time.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io::IoSlice;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::{Buf, Bytes};
use h3::error::StreamError;
use tokio::time::Instant;

use crate::halves::Incoming;

/// Most bytes that are moved at once.
pub(crate) const BLOCK: usize = 64 << 10;
/// Most pieces that are moved at once.
const MOST_PIECES: usize = 64;
/// How long is waited for more. The timer rounds it up to its millisecond.
const WAIT: Duration = Duration::from_millis(1);
/// Moves without a wait after a rest.
const MOST_AT_ONCE: u32 = 32;
/// One more is allowed after so long. Fewer than that many in a second are of exchanges, more of transfers.
const RESTORE: Duration = Duration::from_millis(4);

/// Whether to wait before the next move.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Moves that need no wait.
    left: u32,
    counted: Instant,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Pace { left: MOST_AT_ONCE, counted: Instant::now() }
    }

    /// A move begins; waits for a moment if there were too many lately.
    pub(crate) async fn step(&mut self) {
        let restored = self.counted.elapsed().as_millis() / RESTORE.as_millis();
        if restored > 0 {
            let restored = u32::try_from(restored).unwrap_or(u32::MAX);
            self.left = self.left.saturating_add(restored).min(MOST_AT_ONCE);
            self.counted = Instant::now();
        }
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => tokio::time::sleep(WAIT).await,
        }
    }
}

/// What has come of a stream and was not moved yet.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    pieces: VecDeque<Bytes>,
    length: usize,
}

impl Pieces {
    fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.length += piece.len();
            self.pieces.push_back(piece);
        }
    }

    fn is_full(&self) -> bool {
        self.length >= BLOCK || self.pieces.len() >= MOST_PIECES
    }

    /// Whether nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes that are left.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// All that is left, for one system call.
    pub(crate) fn slices(&self) -> Vec<IoSlice<'_>> {
        self.pieces.iter().map(|piece| IoSlice::new(piece)).collect()
    }

    /// So many bytes were moved.
    pub(crate) fn advance(&mut self, mut count: usize) {
        self.length = self.length.saturating_sub(count);
        while let Some(first) = self.pieces.front_mut() {
            if count < first.len() {
                return first.advance(count);
            }
            count -= first.len();
            self.pieces.pop_front();
        }
    }
}

/// A stream that is read many pieces at a time.
pub(crate) struct Gather<'a, I> {
    incoming: &'a mut I,
    pace: Pace,
    /// Whether all that had come was taken the last time.
    is_drained: bool,
    /// How it ended, if that came behind pieces.
    end: Option<Result<(), StreamError>>,
}

impl<'a, I: Incoming> Gather<'a, I> {
    pub(crate) fn new(incoming: &'a mut I) -> Self {
        Gather { incoming, pace: Pace::new(), is_drained: false, end: None }
    }

    /// Waits for pieces, and takes those that are there. Returns whether there are any: there are none at the end.
    pub(crate) async fn receive(&mut self, pieces: &mut Pieces) -> Result<bool, StreamError> {
        if let Some(end) = self.end.take() {
            return end.map(|()| false);
        }
        let Some(first) = self.incoming.receive().await? else { return Ok(false) };
        pieces.push(first);
        // Who left something behind is behind, and does not wait.
        if self.is_drained {
            self.pace.step().await;
        }
        self.is_drained = false;
        while !pieces.is_full() {
            match now_or_never(self.incoming.receive()).await {
                Some(Ok(Some(piece))) => pieces.push(piece),
                Some(Ok(None)) => {
                    self.end = Some(Ok(()));
                    break;
                }
                Some(Err(error)) => {
                    self.end = Some(Err(error));
                    break;
                }
                None => {
                    self.is_drained = true;
                    break;
                }
            }
        }
        Ok(true)
    }
}

/// What a future brings at once; `None` if it would have to be waited for.
async fn now_or_never<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

#[cfg(test)]
mod tests {
    use h3::error::Code;
    use tokio::sync::mpsc;

    use super::*;

    struct Queue(mpsc::UnboundedReceiver<Bytes>);

    impl Incoming for Queue {
        async fn receive(&mut self) -> Result<Option<Bytes>, StreamError> {
            // Without the budget of a task, which real streams do not have.
            Ok(tokio::task::unconstrained(self.0.recv()).await)
        }

        fn stop(&mut self, _: Code) {}
    }

    /// Pieces of so many bytes, so far apart: how many moves there are, and how long the last byte takes from its arrival on.
    async fn moves(count: usize, length: usize, apart: Duration) -> (usize, Duration) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let sending = tokio::spawn(async move {
            for _ in 0..count {
                sender.send(Bytes::from(vec![7; length])).unwrap();
                if !apart.is_zero() {
                    tokio::time::sleep(apart).await;
                }
            }
            Instant::now() - apart
        });
        let (mut queue, mut pieces) = (Queue(receiver), Pieces::default());
        let mut gather = Gather::new(&mut queue);
        let (mut moves, mut moved, mut last) = (0, 0, Instant::now());
        while gather.receive(&mut pieces).await.unwrap() {
            let length: usize = pieces.slices().iter().map(|slice| slice.len()).sum();
            assert!(length < BLOCK + 1_500 && pieces.slices().len() <= MOST_PIECES);
            pieces.advance(length);
            assert!(pieces.is_empty());
            (moves, moved, last) = (moves + 1, moved + length, Instant::now());
        }
        assert_eq!(moved, count * length);
        (moves, last.saturating_duration_since(sending.await.unwrap()))
    }

    #[tokio::test(start_paused = true)]
    async fn single_pieces_are_not_delayed() {
        assert_eq!(moves(100, 100, RESTORE).await, (100, Duration::ZERO));
    }

    #[tokio::test]
    async fn pieces_of_a_download_are_moved_together() {
        // Half a second of real time: 32 moves at once, and then one in a millisecond or two.
        let (sender, receiver) = mpsc::unbounded_channel();
        let sending = tokio::spawn(async move {
            let begun = Instant::now();
            for number in 0..5_000_u32 {
                while begun.elapsed() < Duration::from_micros(100) * number {
                    tokio::task::yield_now().await;
                }
                sender.send(Bytes::from_static(&[7; 1_400])).unwrap();
            }
        });
        let (mut queue, mut pieces) = (Queue(receiver), Pieces::default());
        let mut gather = Gather::new(&mut queue);
        let mut moves = 0;
        while gather.receive(&mut pieces).await.unwrap() {
            pieces.advance(usize::MAX);
            moves += 1;
        }
        sending.await.unwrap();
        assert!(moves < 600, "{moves} moves of 5,000 pieces");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_there_is_moved_in_blocks_without_a_wait() {
        let (moves, late) = moves(10_000, 1_400, Duration::ZERO).await;
        assert!(moves <= 10_000 / 46 + 1, "{moves}");
        assert!(late <= 2 * WAIT, "{late:?}");
    }

    #[test]
    fn pieces_are_advanced_across_their_ends() {
        let mut pieces = Pieces::default();
        for length in [3, 0, 4, 5] {
            pieces.push(Bytes::from(vec![length as u8; length]));
        }
        pieces.advance(4);
        let left: Vec<usize> = pieces.slices().iter().map(|slice| slice.len()).collect();
        assert_eq!((left, pieces.length), (vec![3, 5], 8));
    }
}
