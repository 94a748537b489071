//! Stream data into packets.

use std::ops::{ControlFlow, Range};

use hawser_policy::{PathId, StreamId};
use hawser_wire::Writer;
use hawser_wire::frame::StreamHeader;
use hawser_wire::varint;

use super::Streams;
use super::key::Key;
use super::order::Cursor;
use super::send::SendStream;
use crate::connection::frames::{SentFrame, SentFrames, SentStream};

/// What [`Streams::write_data`] wrote, in bytes of stream data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WrittenData {
    /// For the first time.
    pub(crate) new_bytes: u64,
    /// Again.
    pub(crate) retransmitted_bytes: u64,
}

/// Data is not split to fill less than this at the end of a packet that has some already.
const MIN_FRAGMENT: usize = 24;

impl Streams {
    /// Fills the rest of a packet, by priority of the streams, and of those of one priority lost data first, then unsent data in
    /// the order of streams. `skip` leaves so many unsent bytes at the head of that order for other paths and takes what
    /// follows; the order counts each stream whole, and what flow control allows is given out in that order too. Nothing
    /// skipped, unsent data that lies before lost data of its stream goes before that: the reader waits for it first.
    ///
    /// What was given to another path than `path` is left out.
    ///
    /// The last frame has no length where it ends with the writer's buffer, which must then be the end of the packet.
    #[inline]
    pub(crate) fn write_data(
        &mut self,
        w: &mut Writer<'_>,
        sent: &mut SentFrames,
        path: PathId,
        skip: u64,
    ) -> WrittenData {
        let mut written = WrittenData::default();
        if self.totals.lost > 0 {
            self.write_by_priority(w, sent, path, skip, &mut written);
        } else {
            self.write_new(w, sent, path, skip, &mut written);
        }
        written
    }

    /// Lost and unsent data, by turns where priorities want it.
    #[inline(never)]
    fn write_by_priority(
        &mut self,
        w: &mut Writer<'_>,
        sent: &mut SentFrames,
        path: PathId,
        skip: u64,
        written: &mut WrittenData,
    ) {
        let mut lost = Cursor::default();
        let mut unsent = Unsent::new(skip);
        let mut flow = ControlFlow::Continue(());
        while flow.is_continue() {
            let first_unsent = match self.has_unsent() {
                true => self.order.priority_at(&mut unsent.cursor),
                false => None,
            };
            flow = match (self.retransmissions.priority_at(&mut lost), first_unsent) {
                (None, None) => break,
                (Some(first_lost), first_unsent) if first_unsent.is_none_or(|first| first_lost >= first) => {
                    self.write_lost(w, sent, path, skip == 0, (&mut lost, first_lost), written)
                }
                (first_lost, _) => self.write_unsent(w, sent, path, &mut unsent, first_lost, written),
            };
        }
        self.note_blocked_after(written);
    }

    /// Whether unsent data may be sent.
    #[inline]
    fn has_unsent(&self) -> bool {
        self.totals.gaps > 0 || (self.totals.tail > 0 && self.credit.left() > 0)
    }

    fn note_blocked_after(&mut self, written: &WrittenData) {
        if self.credit.left() == 0 && written.new_bytes > 0 {
            self.note_data_blocked();
        }
    }

    /// The same, but leaves what was lost to other paths.
    #[inline]
    pub(crate) fn write_new(
        &mut self,
        w: &mut Writer<'_>,
        sent: &mut SentFrames,
        path: PathId,
        skip: u64,
        written: &mut WrittenData,
    ) {
        if self.has_unsent() {
            let _full = self.write_unsent(w, sent, path, &mut Unsent::new(skip), None, written);
        }
        self.note_blocked_after(written);
    }

    /// Lost data of the streams of one priority. Breaks when the packet is full.
    //= rfc9000-13.3-4: retransmissions go before new data
    #[inline(never)]
    fn write_lost(
        &mut self,
        w: &mut Writer<'_>,
        sent: &mut SentFrames,
        path: PathId,
        takes_gaps: bool,
        (cursor, priority): (&mut Cursor, i32),
        written: &mut WrittenData,
    ) -> ControlFlow<()> {
        while self.retransmissions.priority_at(cursor) == Some(priority)
            && let Some(key) = self.retransmissions.at(cursor)
        {
            if let Some(send) = self.table.send_mut(key).filter(|send| send.requeued) {
                let before = send.amounts();
                let mut full = false;
                while let Some(lost) = send.next_lost(path) {
                    let gap = if takes_gaps { send.gap_before(lost.start, path) } else { None };
                    let is_gap = gap.is_some();
                    let range = gap.unwrap_or(lost);
                    let Some(count) =
                        write_frame(send, key.id, range.clone(), Purpose::Deliver(path), w, sent)
                    else {
                        full = true;
                        break;
                    };
                    let range = range.start..range.start + count;
                    if is_gap {
                        send.mark_sent(range);
                        written.new_bytes += count;
                    } else {
                        send.mark_resent(range);
                        written.retransmitted_bytes += count;
                    }
                }
                self.totals.replace(&before, &send.amounts());
                if full {
                    return ControlFlow::Break(());
                }
                if !send.lost().is_empty() {
                    // The rest was given to another path.
                    *cursor = cursor.next();
                    continue;
                }
                send.requeued = false;
            }
            self.retransmissions.remove(*cursor);
        }
        ControlFlow::Continue(())
    }

    /// Unsent data, of streams above a priority if there is one. Breaks when the packet is full.
    //= rfc9000-4.1-1: neither the stream's nor the connection's limit is exceeded
    fn write_unsent(
        &mut self,
        w: &mut Writer<'_>,
        sent: &mut SentFrames,
        path: PathId,
        walk: &mut Unsent,
        above: Option<i32>,
        written: &mut WrittenData,
    ) -> ControlFlow<()> {
        let Unsent { cursor, take_turns, skip, reserved } = walk;
        while let Some(key) = self.order.at(cursor) {
            if above.is_some_and(|above| self.order.priority_at(cursor).is_none_or(|own| own <= above)) {
                break;
            }
            let Some(send) = self.table.send_mut(key).filter(|send| send.queued) else {
                self.order.remove(*cursor);
                continue;
            };
            let before = send.amounts();
            let credit = self.credit.left().saturating_sub(*reserved);
            let tail = before.tail.min(credit);
            let available = before.gaps + tail;
            let mut full = false;
            if *skip > 0 && available <= *skip {
                *skip -= available;
                *reserved += tail;
            } else {
                let is_cut = *skip > 0 || before.gaps > 0;
                let packet =
                    if is_cut { self.whole_packet.size(send, key.id, *skip, w.remaining(), sent) } else { 0 };
                *skip = whole_packets(*skip, available, send, packet);
                while let Some(range) =
                    send.next_unsent(path, *skip, self.credit.left().saturating_sub(*reserved))
                {
                    let count = match w.remaining() {
                        // Nearly always the frame before filled the packet.
                        0 => None,
                        _ if written.new_bytes > 0 && send.is_gap_of(&range, packet) => None,
                        _ => write_frame(send, key.id, range.clone(), Purpose::Deliver(path), w, sent),
                    };
                    let Some(count) = count else {
                        full = true;
                        break;
                    };
                    self.credit.take(send.mark_sent(range.start..range.start + count));
                    self.order.count(*cursor, &mut send.turn, count);
                    written.new_bytes += count;
                }
                *skip = 0;
                self.totals.replace(&before, &send.amounts());
                if send.reset_frame().is_some() {
                    // A reset that promised data was waiting for it to be sent.
                    self.note_stream_control(key);
                }
            }
            match self.table.send_mut(key) {
                Some(send) if send.has_unsent() => {
                    if full && *take_turns {
                        self.order.rotate(*cursor, &mut send.turn);
                    } else {
                        *cursor = cursor.next();
                    }
                }
                send => {
                    if let Some(send) = send {
                        send.queued = false;
                    }
                    self.order.remove(*cursor);
                }
            }
            if full {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

/// A walk through the order of streams.
struct Unsent {
    cursor: Cursor,
    /// Whether streams of one priority take turns: where nothing is skipped.
    take_turns: bool,
    /// Unsent bytes that are still to be left to other paths.
    skip: u64,
    /// Credit that belongs to the bytes skipped in earlier streams.
    reserved: u64,
}

impl Unsent {
    fn new(skip: u64) -> Self {
        Unsent { cursor: Cursor::default(), take_turns: skip == 0, skip, reserved: 0 }
    }
}

/// How much stream data a packet carries that carries nothing else, as far as that is known: zero before the first one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WholePacket(usize);

impl WholePacket {
    /// For a packet with this `room` left, in which `sent` is already. One that carries something else as well says
    /// nothing about the others, and takes what was last seen of them.
    fn size(&mut self, send: &SendStream, id: StreamId, skip: u64, room: usize, sent: &SentFrames) -> u64 {
        if sent.is_empty() {
            let offset = send.sent_to().saturating_add(skip);
            let header = StreamHeader { stream_id: id.0, offset, length: None, fin: false };
            self.0 = header.capacity(room).filter(|&capacity| capacity >= MIN_FRAGMENT).unwrap_or(0);
        } else if self.0 < room {
            self.0 = 0;
        }
        self.0 as u64
    }
}

/// `skip` moved to where it cuts nobody's packets, as long as something is left of the `available` bytes: so that what it
/// leaves fills whole packets. Each piece costs another frame at either end.
fn whole_packets(skip: u64, available: u64, send: &SendStream, packet: u64) -> u64 {
    if skip == 0 || packet == 0 {
        return skip;
    }
    Some(send.skip_in_packets(skip, packet)).filter(|&moved| moved < available).unwrap_or(skip)
}

/// Why a frame is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The bytes are in flight nowhere else, and go on this path.
    Deliver(PathId),
    /// Other packets carry them as well.
    Copy,
}

/// Writes a STREAM frame with as much of `range` as fits, at least one byte, and returns how much; `None` if the
/// packet is full.
#[inline]
pub(super) fn write_frame(
    send: &mut SendStream,
    id: StreamId,
    range: Range<u64>,
    purpose: Purpose,
    w: &mut Writer<'_>,
    sent: &mut SentFrames,
) -> Option<u64> {
    let mut header = StreamHeader { stream_id: id.0, offset: range.start, length: None, fin: false };
    let capacity = header.capacity(w.remaining()).filter(|&capacity| capacity > 0)?;
    let available = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    if available > capacity && capacity < MIN_FRAGMENT && !sent.is_empty() {
        return None;
    }
    let length = available.min(capacity);
    let left = capacity - length;
    if left >= varint::len(length as u64) {
        header.length = Some(length as u64);
    } else if left > 0 {
        // No room for the length field: PADDING before the frame lets it end with the packet, where it needs none.
        w.write_zeros(left).ok()?;
    }
    let end = range.start + length as u64;
    header.fin = send.ends_at(end);
    header.encode(w).ok()?;
    send.read(range.start, w.take(length).ok()?);
    let copy = purpose == Purpose::Copy;
    if header.fin && !copy {
        send.mark_fin_sent();
    }
    let round = match purpose {
        Purpose::Deliver(path) if !send.copies.is_empty() => {
            send.copies.on_retransmitted(range.start..end, path)
        }
        _ => 0,
    };
    sent.push(SentFrame::Stream(SentStream {
        id,
        offset: range.start,
        length: length as u32,
        fin: header.fin,
        copy,
        round,
    }));
    Some(length as u64)
}

impl Streams {
    /// The stream's place in the table, for [`segments`](super::segments).
    pub(super) fn send_half(&self, key: Key) -> Option<&SendStream> {
        self.table.get(key)?.send.as_ref()
    }
}
