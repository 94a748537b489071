//! Filling packets with frames.

use hawser_policy::{PathId, PathMask, Selection, Time};
use hawser_wire::frame::{
    AckHeader, Frame, TimestampLimits, crypto_capacity, write_ack, write_ack_with_timestamps,
    write_crypto_header,
};
use hawser_wire::writer::Writer;

use super::Connection;
use super::contents::Contents;
use super::frames::{PathControl, SentFrame, SentFrames, SentStream};
use super::handshake::{CryptoSend, LongLevel};
use super::paths::path::Path;
use super::recovery::{PacketKind, ReceivedPackets};
use super::streams::WrittenData;

/// Our acknowledgement delays are sent in units of 2^3 microseconds, the default (RFC 9000 section 18.2).
const ACK_DELAY_EXPONENT: u32 = 3;

/// Acknowledgement-only packets in a row after which one asks to be acknowledged itself, so that we learn which of
/// our acknowledgements arrived (RFC 9000 section 13.2.4).
const ACK_ONLY_RUN: u32 = 64;

/// What went into a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Filled {
    pub(super) ack_eliciting: bool,
}

impl Connection {
    /// Puts into `w` what `contents` allows, most urgent first.
    //= rfc9000-8.2.1-3: challenges are unpredictable and new
    //= rfc9002-6.2.4-5: a probe without data is a PING
    pub(super) fn fill(
        &mut self,
        now: Time,
        id: PathId,
        w: &mut Writer<'_>,
        frames: &mut SentFrames,
        contents: &Contents,
    ) -> Filled {
        // A datagram that the acknowledgements leave no room for can go into the next packet.
        let empty_room = w.remaining();
        let mut ack_eliciting = false;
        // RFC 9000 section 9.3: a packet of nothing but PATH_CHALLENGE, PATH_RESPONSE and NEW_CONNECTION_ID frames does not show a
        // server that a NAT gave its client another address.
        let mut shows_address = false;
        if let Some(tuple) = &contents.validation {
            let challenge = self.next_random().to_be_bytes();
            ack_eliciting |= self
                .paths
                .get_mut(id)
                .is_some_and(|path| path.write_validation(now, *tuple, challenge, contents.full_size, w));
        }
        if contents.acks {
            let before = frames.len();
            self.write_acks(now, id, w, frames);
            shows_address = frames.len() > before;
            if self.extensions.messages.has_riding() && shows_address {
                self.extensions.messages.write_riding(w);
            }
        }
        if contents.control {
            let allowed = contents.data.is_some() || contents.is_probe || self.may_send_control(id);
            if allowed && self.has_control() {
                let (before, first) = (w.position(), frames.len());
                self.write_control(now, id, w, frames);
                ack_eliciting |= w.position() > before;
                self.write_acks_of_abandoned(now, first, w, frames);
            }
        }
        if contents.control
            && !self.extensions.ack_frequencies.immediate_paths().is_empty()
            && self.may_send_control(id)
        {
            ack_eliciting |= self.extensions.ack_frequencies.write_immediate(id, w);
        }
        if contents.ping && contents.kind == PacketKind::Normal {
            let first = frames.len();
            if self.paths.write_abandonments(w, frames) {
                ack_eliciting = true;
                self.write_acks_of_abandoned(now, first, w, frames);
            }
        }
        let takes_datagrams = contents.data.is_some_and(|data| {
            !matches!(data, Selection::Range { .. } | Selection::Unsent(_) | Selection::Repair)
        });
        if takes_datagrams
            || (contents.control && self.extensions.datagrams.has_bound(id) && self.may_send_control(id))
        {
            ack_eliciting |= self.extensions.datagrams.write(w, id, empty_room) > 0;
        }
        if let Some(selection) = contents.data {
            let has_data = self.write_data(now, id, w, frames, selection);
            ack_eliciting |= has_data;
            shows_address |= has_data;
        }
        if !ack_eliciting && contents.is_urgent {
            ack_eliciting = self.extensions.ack_frequencies.write_probe(w);
            shows_address |= ack_eliciting;
        }
        let wants_ping = match ack_eliciting {
            true => contents.is_probe && !shows_address,
            false => contents.ping || self.wants_ping(id, w),
        };
        if wants_ping && Frame::Ping.encode(w).is_ok() {
            ack_eliciting = true;
        }
        Filled { ack_eliciting }
    }

    /// Control frames are ack-eliciting, so the congestion window governs them; probes carry them regardless.
    fn may_send_control(&self, id: PathId) -> bool {
        self.paths.get(id).is_some_and(|path| path.can_send_ack_eliciting())
    }

    //= rfc9000-13.2.1-6: PING is not in every packet of acknowledgements
    fn wants_ping(&mut self, id: PathId, w: &Writer<'_>) -> bool {
        let Some(path) = self.paths.get_mut(id) else { return false };
        if w.position() == 0 {
            return false;
        }
        path.ack_only_run += 1;
        if path.ack_only_run >= ACK_ONLY_RUN {
            path.ack_only_run = 0;
            return true;
        }
        false
    }

    /// Acknowledgements: of this path, of those that return on it, and, once there is one, of all others that have
    /// something to tell. The last cost a few bytes and reach the sender of a slower path sooner. If this path dies, what
    /// arrives later is acknowledged elsewhere, and these ranges with it.
    //= multipath-3.4.3-1: packets of an abandoned path are acknowledged
    //= rfc9000-13.2-1: packets carry acknowledgements
    //= rfc9000-13.2.1-5: ACK frames go along with other frames
    fn write_acks(&mut self, now: Time, id: PathId, w: &mut Writer<'_>, frames: &mut SentFrames) {
        let own = self.paths.position(id);
        let several = self.paths.len() > 1;
        let before = frames.len();
        if let Some(own) = own {
            self.write_ack_at(now, own, w, frames);
        }
        if !several {
            return;
        }
        let company = frames.len() > before;
        for at in (0..self.paths.len()).filter(|at| Some(*at) != own) {
            let Some(path) = self.paths.at(at) else { continue };
            let due = path.space.received.is_due(now);
            let returns_here = || due && self.policies.acks_return_on(at) == Some(id);
            let leaves_elsewhere = due && path.acks_leave_on.is_some_and(|on| on != id);
            if (company && !leaves_elsewhere) || returns_here() {
                self.write_ack_at(now, at, w, frames);
            }
        }
    }

    //= multipath-2.3-1 (not done): PATH_ACK takes the place of ACK once multipath is negotiated
    //= rfc9000-13.2.1-3: an ack-eliciting packet causes one packet with nothing but ACK at most
    //= rfc9000-13.2.6-1: ACK frames stay in their packet number space
    //= rfc9000-13.2.6-2: 1-RTT packets are acknowledged in 1-RTT packets
    //= rfc9000-13.2.6-3: 0-RTT packets are acknowledged in 1-RTT packets
    //= rfc9000-17.2.3-4: 1-RTT packets are acknowledged in 1-RTT packets
    fn write_ack_at(&mut self, now: Time, at: usize, w: &mut Writer<'_>, frames: &mut SentFrames) {
        // Peers may stumble over PATH_ACK before a second path exists; a plain ACK means path 0 at any time.
        let with_path = self.paths.is_multipath() && self.paths.has_used_several();
        let waiting = |path: &&mut Path| path.space.received.unacknowledged() > 0;
        let Some(path) = self.paths.at_mut(at).filter(waiting) else { return };
        let header = with_path.then_some(path.id.0);
        let limits = self.extensions.receive_times.peer_limits();
        if let Some(largest) = write_ack_of(now, &mut path.space.received, header, limits, w) {
            frames.push(SentFrame::Ack { path: path.id, largest });
        }
    }

    /// What PATH_ABANDON makes the peer send elsewhere is what it does not know to have arrived. The last acknowledgements of such a
    /// path mostly went over that path, and it is abandoned because nothing comes through: all goes along with the frame, each time.
    #[inline]
    fn write_acks_of_abandoned(
        &mut self,
        now: Time,
        first: usize,
        w: &mut Writer<'_>,
        frames: &mut SentFrames,
    ) {
        for index in first..frames.len() {
            if let SentFrame::PathControl(PathControl::Abandon(path)) = frames[index] {
                self.repeat_ack_of(now, path, w, frames);
            }
        }
    }

    #[cold]
    fn repeat_ack_of(&mut self, now: Time, id: PathId, w: &mut Writer<'_>, frames: &mut SentFrames) {
        let Some(at) = self.paths.position(id) else { return };
        if let Some(path) = self.paths.at_mut(at) {
            path.space.received.repeat(now);
        }
        self.write_ack_at(now, at, w, frames);
    }

    /// Control frames that any path may carry.
    #[inline(never)]
    fn write_control(&mut self, now: Time, id: PathId, w: &mut Writer<'_>, frames: &mut SentFrames) {
        if self.server_frames.are_pending()
            && let Some(path) = self.paths.get(id)
        {
            let client = path.tuples.is_validated().then(|| path.tuples.current().remote.ip());
            let version = self.handshake.version.current();
            self.server_frames.write(self.arrival.last_now, version, client, &mut self.rng, w, frames);
        }
        self.paths.write_control(w, frames);
        self.streams.write_control(w, frames);
        self.extensions.messages.write(now, w, frames);
        if let Some(receiver) = &mut self.extensions.repair.receiver {
            receiver.write_recovered(w, frames);
        }
        if self.extensions.ack_frequencies.has_pending() {
            self.extensions.ack_frequencies.write(w, frames);
            self.sync_peer_max_ack_delay();
        }
        write_crypto(&mut self.handshake.late_send, w, frames);
    }

    /// Counts stream data that was written into the frames from `first` on.
    #[inline]
    pub(super) fn note_written(
        &mut self,
        id: PathId,
        frames: &SentFrames,
        first: usize,
        written: &WrittenData,
    ) {
        if let Some(log) = &mut self.observed.send_log {
            log.note(self.arrival.last_now, id, &frames[first..], written.new_bytes);
        }
        self.observed.stats.stream_bytes_sent += written.new_bytes;
        self.observed.stats.stream_bytes_retransmitted += written.retransmitted_bytes;
    }

    /// Stream data. It has one caller, so that it is compiled into it: nearly every packet that leaves passes here.
    fn write_data(
        &mut self,
        now: Time,
        id: PathId,
        w: &mut Writer<'_>,
        frames: &mut SentFrames,
        selection: Selection,
    ) -> bool {
        if selection == Selection::Repair {
            return self.write_repair(now, id, w, frames);
        }
        let start = w.position();
        let announced = match &mut self.extensions.repair.sender {
            Some(sender) => sender.write_announcement(w, frames).unwrap_or(false),
            None => false,
        };
        let (position, first) = (w.position(), frames.len());
        let written = match selection {
            Selection::Next | Selection::Skip(_) => {
                let skip = if let Selection::Skip(skip) = selection { skip } else { 0 };
                self.streams.write_data(w, frames, id, skip)
            }
            Selection::Unsent(skip) => {
                let mut written = WrittenData::default();
                self.streams.write_new(w, frames, id, skip, &mut written);
                written
            }
            Selection::Range { stream, start, end } => {
                self.streams.write_range(w, frames, id, stream, start..end)
            }
            Selection::Copies => {
                self.write_copies(id, w, frames);
                WrittenData::default()
            }
            Selection::Datagrams | Selection::Repair => WrittenData::default(),
        };
        self.note_written(id, frames, first, &written);
        if let Some(sender) = &mut self.extensions.repair.sender {
            sender.on_written(&frames[first..], written.retransmitted_bytes);
        }
        if announced && w.position() == position {
            // Nothing to announce after all.
            w.rewind(start);
            frames.pop();
        }
        w.position() > start
    }

    #[inline(never)]
    fn write_copies(&mut self, id: PathId, w: &mut Writer<'_>, frames: &mut SentFrames) {
        let Some(path) = self.paths.get_mut(id) else { return };
        while let Some(range) = path.copies.pop() {
            let before = frames.len();
            let rest = self.streams.write_copy(w, frames, id, range);
            self.streams.note_copied(copied(&frames[before..]));
            if let Some(rest) = rest {
                path.copies.put_back(rest);
                return;
            }
        }
    }

    /// Queues the stream ranges of a packet as copies for other paths.
    #[inline]
    pub(super) fn queue_copies(&mut self, frames: &SentFrames, own: PathId, copies: PathMask) {
        if copies != PathMask::NONE {
            self.queue_copies_of(frames, own, copies);
        }
    }

    #[inline(never)]
    fn queue_copies_of(&mut self, frames: &SentFrames, own: PathId, copies: PathMask) {
        for frame in frames {
            if let SentFrame::Stream(range) = frame {
                self.streams.on_copy_queued(range, own);
            }
        }
        for at in 0..self.paths.len() {
            let Some(path) = self.paths.at_mut(at).filter(|path| path.id != own && copies.contains(at))
            else {
                continue;
            };
            for frame in frames {
                if let SentFrame::Stream(range) = frame {
                    path.queue_copy(SentStream { copy: true, ..*range });
                }
            }
        }
    }
}

fn copied(frames: &[SentFrame]) -> u64 {
    let length =
        |frame: &SentFrame| if let SentFrame::Stream(range) = frame { u64::from(range.length) } else { 0 };
    frames.iter().map(length).sum()
}

/// Writes an acknowledgement if there is anything to say and it fits; returns the largest number in it.
//= rfc9000-13.2.5-3: an ACK Delay above max_ack_delay is reported as it is
fn write_ack_of(
    now: Time,
    received: &mut ReceivedPackets,
    path_id: Option<u32>,
    timestamps: Option<TimestampLimits>,
    w: &mut Writer<'_>,
) -> Option<u64> {
    let largest = received.largest()?;
    let delay = u64::try_from(received.ack_delay(now).as_micros()).unwrap_or(u64::MAX) >> ACK_DELAY_EXPONENT;
    let ecn = received.ecn();
    let header = AckHeader { path_id, delay: delay.min(hawser_wire::varint::MAX), ecn };
    let most = received.most_reported();
    match timestamps.filter(|_| received.arrivals().len() > 0) {
        None => write_ack(w, &header, received.ack_ranges(), most),
        Some(limits) => {
            let (ranges, arrivals) = (received.ack_ranges(), received.arrivals());
            write_ack_with_timestamps(w, &header, ranges, most, limits, arrivals)
        }
    }
    .ok()?;
    received.on_ack_sent();
    Some(largest)
}

/// Writes pending handshake bytes.
fn write_crypto(send: &mut CryptoSend, w: &mut Writer<'_>, frames: &mut SentFrames) -> bool {
    let mut written = false;
    while let Some(offset) = send.next_offset() {
        let Some(capacity) = crypto_capacity(offset, w.remaining()).filter(|&capacity| capacity > 0) else {
            break;
        };
        let Some((offset, data)) = send.take(capacity) else { break };
        // The capacity was computed for this offset, so header and data fit.
        if write_crypto_header(w, offset, data.len() as u64).is_err() || w.write_bytes(data).is_err() {
            break;
        }
        frames.push(SentFrame::Crypto { offset, length: data.len() as u32 });
        written = true;
    }
    written
}

/// Fills an Initial or Handshake packet; returns whether it is ack-eliciting.
//= rfc9000-13.2.6-1: ACK frames stay in their packet number space
pub(super) fn fill_long(
    now: Time,
    level: &mut LongLevel,
    w: &mut Writer<'_>,
    frames: &mut SentFrames,
) -> bool {
    // RFC 9000 section 13.2.1: only what is ack-eliciting asks for an ACK frame. Beyond that nothing is said here, though
    // it would be allowed: a client that learns from the acknowledgement of an ACK-only packet that the Finished message
    // before it was lost, and whose congestion window is full of 1-RTT packets by then, has nothing of its handshake in
    // flight, so no probe timeout either. quinn 0.11.19 and noq 1.4.0 then never send Finished again.
    if level.space.received.unacknowledged() > 0
        && let Some(largest) = write_ack_of(now, &mut level.space.received, None, None, w)
    {
        frames.push(SentFrame::Ack { path: PathId::ZERO, largest });
    }
    if level.probes > 0 && !level.send.has_pending() {
        // RFC 9002 section 6.2.4: the second probe, too, had better carry what is outstanding. It may be the only one to arrive, and
        // then it is the first that the server sees, which has a CRYPTO frame (RFC 9000 section 17.2.2).
        level.send.resend_all();
    }
    let mut ack_eliciting = write_crypto(&mut level.send, w, frames);
    if level.probes > 0 {
        if !ack_eliciting && Frame::Ping.encode(w).is_ok() {
            ack_eliciting = true;
        }
        level.probes -= 1;
    }
    ack_eliciting
}

#[cfg(test)]
mod tests;
