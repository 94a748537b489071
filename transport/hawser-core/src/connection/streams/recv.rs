//! The receiving half of a stream (RFC 9000 section 3.2).

mod gaps;

use std::ops::Range;

use bytes::Bytes;
use hawser_policy::Time;
use hawser_wire::codepoints::frame;

use crate::{Code, TransportError};

use super::assembler::{Assembler, Budget, TooManyRanges};
use super::errors::{ReadError, ReadOutcome};
use super::flow::{Overrun, ReceiveWindow};

use gaps::Gaps;

/// Where the half stands. It is freed when the application has seen the end or the reset, or when it stopped
/// reading and the final size is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// "Recv".
    Receiving,
    /// "Size Known" and, when nothing is missing, "Data Recvd".
    SizeKnown { final_size: u64 },
    /// "Reset Recvd", once the bytes up to `reliable_size` were read.
    Reset { code: u64, final_size: u64, reliable_size: u64 },
    /// The application does not want the rest. Its size still matters to flow control.
    Stopped { code: u64, final_size: Option<u64> },
}

/// What all receiving halves of a connection share.
#[derive(Debug)]
pub(super) struct Shared {
    /// The window of the connection.
    pub(super) window: ReceiveWindow,
    /// Caps on what reassembly holds.
    pub(super) budget: Budget,
    /// Bytes of data that arrived for the first time, and again.
    pub(super) arrived: Arrived,
    /// Whether there was no room for something.
    pub(super) refused: bool,
    /// Units of [`work`](crate::connection::work) that frames have cost.
    pub(super) work: u64,
}

/// Bytes of stream data, without those that nobody wants any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrived {
    /// For the first time.
    pub(crate) new: u64,
    /// That were there already.
    pub(crate) duplicate: u64,
}

/// The receiving half of a stream.
#[derive(Debug)]
pub(super) struct RecvStream {
    assembler: Assembler,
    window: ReceiveWindow,
    state: State,
    /// What the peer will not send, if anything.
    gaps: Option<Box<Gaps>>,
    /// The application found nothing at its last read and waits to hear of more.
    armed: bool,
    /// Whether it is in the list of streams read since windows were tuned.
    pub(super) to_be_tuned: bool,
}

impl RecvStream {
    pub(super) fn new(window: u64, window_cap: u64, now: Time) -> Self {
        RecvStream {
            assembler: Assembler::default(),
            window: ReceiveWindow::new(window, window_cap, now),
            state: State::Receiving,
            gaps: None,
            armed: true,
            to_be_tuned: false,
        }
    }

    #[inline]
    pub(super) fn window(&self) -> &ReceiveWindow {
        &self.window
    }

    pub(super) fn window_mut(&mut self) -> &mut ReceiveWindow {
        &mut self.window
    }

    fn final_size(&self) -> Option<u64> {
        match self.state {
            State::Receiving => None,
            State::SizeKnown { final_size } | State::Reset { final_size, .. } => Some(final_size),
            State::Stopped { final_size, .. } => final_size,
        }
    }

    // --- the peer ---

    /// Data from a STREAM frame.
    #[inline]
    pub(super) fn on_data(
        &mut self,
        offset: u64,
        fin: bool,
        mut data: Bytes,
        shared: &mut Shared,
    ) -> Result<(), TransportError> {
        let end = offset.saturating_add(data.len() as u64);
        self.count(end, fin, frame::STREAM, shared)?;
        match &mut self.state {
            State::Receiving if fin => self.state = State::SizeKnown { final_size: end },
            State::Receiving | State::SizeKnown { .. } => {}
            State::Reset { reliable_size, .. } => {
                let wanted = reliable_size.saturating_sub(offset);
                data.truncate(usize::try_from(wanted).unwrap_or(usize::MAX));
            }
            State::Stopped { final_size, .. } => {
                *final_size = final_size.or(fin.then_some(end));
                return Ok(());
            }
        }
        let length = data.len() as u64;
        match self.assembler.insert(offset, data, &mut shared.budget) {
            Ok(new) => {
                shared.arrived.new += new;
                shared.arrived.duplicate += length - new;
            }
            Err(TooManyRanges) => shared.refused = true,
        }
        Ok(())
    }

    /// RESET_STREAM (then `reliable_size` is 0) or RESET_STREAM_AT.
    //= rfc9000-4.4-1: after a reset of one direction the other keeps its flow control
    pub(super) fn on_reset(
        &mut self,
        code: u64,
        final_size: u64,
        reliable_size: u64,
        frame_type: u64,
        shared: &mut Shared,
    ) -> Result<(), TransportError> {
        if reliable_size > final_size {
            let reason = format!("reliable size {reliable_size} is above the final size {final_size}");
            return Err(TransportError::new(Code::FRAME_ENCODING_ERROR, reason).in_frame(frame_type));
        }
        self.count(final_size, true, frame_type, shared)?;
        let promised = match &mut self.state {
            // RFC 9000 section 3.2: with all data there, a reset may be ignored.
            State::SizeKnown { .. } if self.assembler.ready_to() == final_size => return Ok(()),
            State::Receiving | State::SizeKnown { .. } => final_size,
            State::Reset { code: known, reliable_size: promised, .. } => {
                // draft-ietf-quic-reliable-stream-reset section 5.2: the code may not change, nor the size rise.
                if *known != code && frame_type == frame::RESET_STREAM_AT {
                    let reason = format!("stream reset with code {code} after code {known}");
                    return Err(TransportError::new(Code::STREAM_STATE_ERROR, reason).in_frame(frame_type));
                }
                if reliable_size >= *promised {
                    return Ok(());
                }
                *promised
            }
            State::Stopped { final_size: known, .. } => {
                *known = Some(final_size);
                return Ok(());
            }
        };
        // What was read cannot be taken back; what comes after the reliable size counts as read from now on.
        let read_to = self.assembler.read_to();
        let (before, after) = (promised.max(read_to), reliable_size.max(read_to));
        self.assembler.truncate(after, &mut shared.budget);
        self.cut_gaps(after, shared);
        self.consume(before - after, shared);
        let code = if let State::Reset { code: known, .. } = self.state { known } else { code };
        self.state = State::Reset { code, final_size, reliable_size };
        Ok(())
    }

    /// Checks that the stream may reach up to `end` (and end there, with `fin`), and counts it.
    //= rfc9000-4.5-4 (not done): data beyond the final size of a stream that was closed: FINAL_SIZE_ERROR
    #[inline]
    fn count(
        &mut self,
        end: u64,
        fin: bool,
        frame_type: u64,
        shared: &mut Shared,
    ) -> Result<(), TransportError> {
        let received = self.window.received();
        //= rfc9000-4.5-3: a final size that changes: FINAL_SIZE_ERROR
        match self.final_size() {
            Some(final_size) if end > final_size || (fin && end != final_size) => {
                let reason = format!("stream reaches {end} although its final size is {final_size}");
                return Err(TransportError::new(Code::FINAL_SIZE_ERROR, reason).in_frame(frame_type));
            }
            None if fin && end < received => {
                let reason = format!("final size {end} is below the {received} bytes received");
                return Err(TransportError::new(Code::FINAL_SIZE_ERROR, reason).in_frame(frame_type));
            }
            _ => {}
        }
        let more = end.saturating_sub(received);
        if more == 0 {
            return Ok(());
        }
        //= rfc9000-4.1-2: data beyond a limit: FLOW_CONTROL_ERROR
        //= rfc9000-19.10-4: more data than MAX_STREAM_DATA: FLOW_CONTROL_ERROR
        self.window.check(more).map_err(|overrun| overrun_error("stream", overrun, frame_type))?;
        //= rfc9000-4.5-1: the final size counts for the connection's flow control
        //= rfc9000-19.9-1: final sizes of all streams count for MAX_DATA
        //= rfc9000-19.9-2: more data than MAX_DATA: FLOW_CONTROL_ERROR
        shared.window.check(more).map_err(|overrun| overrun_error("connection", overrun, frame_type))?;
        let stream_is_low = self.window.receive(more);
        let connection_is_low = shared.window.receive(more);
        if (stream_is_low || connection_is_low)
            && !self.assembler.is_readable()
            && end > self.assembler.ready_to()
        {
            if stream_is_low {
                self.window.wait_at_hole();
            }
            if connection_is_low {
                shared.window.wait_at_hole();
            }
        }
        if matches!(self.state, State::Stopped { .. }) {
            self.consume(more, shared);
        }
        Ok(())
    }

    #[inline]
    fn consume(&mut self, bytes: u64, shared: &mut Shared) {
        self.window.consume(bytes);
        shared.window.consume(bytes);
    }

    /// Whether the application must be woken: there is news, and it waits for some.
    #[inline]
    pub(super) fn take_wakeup(&mut self) -> bool {
        let at = self.assembler.read_to();
        let news = self.assembler.is_readable()
            || self.gap_ahead().is_some()
            || match self.state {
                State::Receiving | State::Stopped { .. } => false,
                State::SizeKnown { final_size } => at == final_size,
                State::Reset { reliable_size, .. } => at >= reliable_size,
            };
        news && std::mem::take(&mut self.armed)
    }

    // --- the application ---

    /// Copies into `out`. After `Finished` or `Reset` the half has ended.
    pub(super) fn read(&mut self, out: &mut [u8], shared: &mut Shared) -> Result<ReadOutcome, ReadError> {
        let count = self.assembler.read(out, &mut shared.budget);
        if count > 0 {
            self.consume(count as u64, shared);
            return Ok(ReadOutcome::Data(count));
        }
        if out.is_empty() && self.assembler.is_readable() {
            return Ok(ReadOutcome::Data(0));
        }
        self.nothing_to_read()
    }

    /// Takes at most `max` bytes. After `None` or `Reset` the half has ended.
    pub(super) fn read_chunk(&mut self, max: usize, shared: &mut Shared) -> Result<Option<Bytes>, ReadError> {
        if max == 0 && self.assembler.is_readable() {
            return Ok(Some(Bytes::new()));
        }
        if let Some(chunk) = self.assembler.take(max, &mut shared.budget) {
            self.consume(chunk.len() as u64, shared);
            return Ok(Some(chunk));
        }
        self.nothing_to_read().map(|_| None)
    }

    fn nothing_to_read(&mut self) -> Result<ReadOutcome, ReadError> {
        if let Some(gap) = self.gap_ahead() {
            return Err(ReadError::Gap { offset: gap.start, length: gap.end - gap.start });
        }
        let at = self.assembler.read_to();
        match self.state {
            State::SizeKnown { final_size } if at == final_size => Ok(ReadOutcome::Finished),
            State::Reset { code, reliable_size, .. } if at >= reliable_size => Err(ReadError::Reset(code)),
            State::Stopped { .. } => Err(ReadError::ClosedStream),
            State::Receiving | State::SizeKnown { .. } | State::Reset { .. } => {
                self.armed = true;
                Err(ReadError::Blocked)
            }
        }
    }

    /// The application does not want the rest. Returns whether STOP_SENDING must be sent; false if it already was.
    //= rfc9000-3.5-1 (not done): a reader that stops reading sends STOP_SENDING
    pub(super) fn stop(&mut self, code: u64, shared: &mut Shared) -> bool {
        let final_size = self.final_size();
        let unread = match self.state {
            State::Stopped { .. } => return false,
            State::Receiving | State::SizeKnown { .. } => self.window.received() - self.assembler.read_to(),
            State::Reset { reliable_size, .. } => reliable_size.saturating_sub(self.assembler.read_to()),
        };
        self.release(shared);
        self.consume(unread, shared);
        self.state = State::Stopped { code, final_size };
        final_size.is_none()
    }

    /// Whether the application may still read of these bytes and some of them are missing.
    pub(super) fn lacks(&self, range: Range<u64>) -> bool {
        let end = match self.state {
            State::Receiving | State::SizeKnown { .. } => range.end,
            State::Reset { reliable_size, .. } => range.end.min(reliable_size),
            State::Stopped { .. } => return false,
        };
        let start = range.start.max(self.assembler.read_to());
        start < end && self.assembler.first_hole(start..end).is_some()
    }

    /// Whether something is still to come that the application may read.
    pub(super) fn awaits_data(&self) -> bool {
        match self.state {
            State::Receiving => true,
            State::SizeKnown { final_size } => self.lacks(0..final_size),
            State::Reset { reliable_size, .. } => self.lacks(0..reliable_size),
            State::Stopped { .. } => false,
        }
    }

    /// The code of the STOP_SENDING to be sent, if it still matters.
    //= rfc9000-3.5-5: no STOP_SENDING for a stream that the peer has reset
    pub(super) fn stop_code(&self) -> Option<u64> {
        match self.state {
            State::Stopped { code, final_size: None } => Some(code),
            _ => None,
        }
    }

    /// Whether the application stopped and nothing is left to learn from the peer.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        matches!(self.state, State::Stopped { final_size: Some(_), .. })
    }

    /// Whether the application can be given nothing more.
    pub(super) fn is_stopped(&self) -> bool {
        matches!(self.state, State::Stopped { .. })
    }

    /// Whether the peer may still need a larger limit.
    //= rfc9000-13.3-2: no MAX_STREAM_DATA once the final size is known
    #[inline]
    pub(super) fn wants_credit(&self) -> bool {
        self.state == State::Receiving
    }

    /// Frees what is held, when the half ends.
    pub(super) fn release(&mut self, shared: &mut Shared) {
        self.assembler.clear(&mut shared.budget);
        self.cut_gaps(0, shared);
    }

    /// Bytes held for the application.
    pub(super) fn held(&self) -> u64 {
        self.assembler.held()
    }
}

fn overrun_error(what: &str, overrun: Overrun, frame_type: u64) -> TransportError {
    let Overrun { total, limit } = overrun;
    let reason = format!("{total} bytes sent on the {what}, {limit} allowed");
    TransportError::new(Code::FLOW_CONTROL_ERROR, reason).in_frame(frame_type)
}
