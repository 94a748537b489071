//! Erasure codes, between packets, streams, paths and the policy.

use bytes::Bytes;
use hawser_policy::{PathId, StreamId, Time};
use hawser_wire::Writer;
use hawser_wire::frame::{Frame, Repair};

use super::Connection;
use super::frames::{SentFrame, SentFrames, SentStream};
use super::parts::{Extensions, Shares};
use super::paths::life_cycle::LifeCycle;
use super::paths::path::Path;
use super::paths::set::PathSet;
use super::repair::{Delivered, FRAME_HEADER, MAX_RUN_BYTES, PACKET_RESERVE, Subject};
use crate::{Code, TransportError};

/// Whether a path is one on which repair symbols may be sent at all.
fn is_usable(paths: &PathSet, id: PathId) -> bool {
    paths.get(id).is_some_and(|path| path.life() == LifeCycle::Active)
}

impl Connection {
    /// The sending half comes and goes with the protection policy.
    pub(super) fn sync_protection(&mut self, now: Time) {
        if let Some(mut ended) = self.extensions.repair.set_protected(self.policies.protects()) {
            ended.end(now);
            while let Some(range) = ended.take_released() {
                self.streams.on_lost(&range, None);
            }
        }
    }

    // --- sending ---

    /// The size of packets with data: less than the path allows where a repair symbol must be able to follow, on whatever
    /// path, with a longer header.
    pub(super) fn protected_size(&self, id: PathId, size: usize) -> usize {
        let is_limited =
            self.extensions.repair.sender.as_ref().is_some_and(|sender| sender.limits_packets(id));
        // A datagram of the application may need all the room there is.
        if !is_limited
            || self.extensions.datagrams.count_for_any() > 0
            || self.extensions.datagrams.has_bound(id)
        {
            return size;
        }
        let sizes = self.paths.iter().filter(|path| path.life().can_send()).map(|path| path.mtu.current());
        usize::from(sizes.min().unwrap_or(0)).min(size).saturating_sub(PACKET_RESERVE)
    }

    /// Data was written into a packet of a path: the policy says whether it is protected, and it becomes part of a block.
    #[inline(never)]
    pub(super) fn protect_written(&mut self, now: Time, id: PathId) {
        let longest = self.datagram_room(None).saturating_sub(FRAME_HEADER + MAX_RUN_BYTES);
        let Connection { streams, policies, paths, extensions: Extensions { repair, .. }, .. } = self;
        let Some(sender) = &mut repair.sender else { return };
        while let Some(range) = sender.take_fresh() {
            let subject = Subject { path: id, stream: range.id, frame: streams.frame_of(&range) };
            if sender.must_ask(&subject) {
                let (answer, expires) = policies.decide_protection(now, id, &range, paths, streams);
                sender.on_answer(now, subject, answer.as_ref(), expires);
            }
            sender.protect(now, &subject, &range, longest, |out| streams.read_sent(&range, out));
            if range.fin {
                sender.end_stream(now, range.id);
            }
        }
    }

    /// The path on which a repair symbol is to leave now.
    #[inline(never)]
    pub(super) fn repair_due(&mut self, now: Time) -> Option<PathId> {
        let by_scheduler = self.policies.places_repair();
        let Connection { paths, extensions: Extensions { repair, .. }, .. } = self;
        let ready = |path: &&Path| path.can_send_data(now);
        repair.sender.as_mut()?.next_path(
            now,
            by_scheduler,
            |id| is_usable(paths, id),
            |id| paths.get(id).filter(ready).is_some(),
            || paths.iter().filter(ready).min_by_key(|path| path.recovery.rtt.smoothed()).map(|path| path.id),
        )
    }

    /// Writes a repair symbol for this path; whether there was one.
    #[inline(never)]
    pub(super) fn write_repair(
        &mut self,
        now: Time,
        id: PathId,
        w: &mut Writer<'_>,
        frames: &mut SentFrames,
    ) -> bool {
        let patience = self.largest_probe_timeout();
        let Connection { paths, extensions: Extensions { repair, .. }, .. } = self;
        let Some(sender) = &mut repair.sender else { return false };
        sender.write_repair(now, id, |id| is_usable(paths, id), patience, w, frames)
    }

    // --- outcome ---

    /// Whether a lost frame is not to be retransmitted, or not for the time being.
    pub(super) fn hold_back(&mut self, now: Time, frame: &SentFrame) -> bool {
        let patience = self.largest_probe_timeout();
        let Some(sender) = &mut self.extensions.repair.sender else { return false };
        match frame {
            SentFrame::Stream(range) => sender.on_lost(now, range, patience),
            SentFrame::Repair(block) => {
                sender.on_repair_lost(now, *block);
                true
            }
            _ => false,
        }
    }

    /// Retransmits what was held for long enough, and reports blocks that are settled.
    #[inline]
    pub(super) fn settle_repair(&mut self) {
        let Some(sender) = &mut self.extensions.repair.sender else { return };
        while let Some(range) = sender.take_released() {
            self.streams.on_lost(&range, None);
        }
        while let Some(report) = sender.take_report() {
            self.policies.on_block(&report);
        }
    }

    /// Blocks end that waited for long enough, and so does the holding back of lost data.
    pub(super) fn on_repair_timeout(&mut self, now: Time) {
        if let Some(sender) = &mut self.extensions.repair.sender {
            sender.on_timeout(now);
            self.settle_repair();
        }
    }

    // --- receiving ---

    /// Stream data, where the peer protects some.
    #[inline(never)]
    pub(super) fn on_protected_stream(
        &mut self,
        id: StreamId,
        offset: u64,
        fin: bool,
        data: Bytes,
    ) -> Result<(), TransportError> {
        self.deliver(id, offset, fin, data.clone())?;
        let Connection {
            streams, extensions: Extensions { repair, .. }, shares: Shares { work, .. }, ..
        } = self;
        let Some(receiver) = &mut repair.receiver else { return Ok(()) };
        if !receiver.on_data(work, id, offset, &data) {
            return Ok(());
        }
        let delivered = receiver.retry(work, id, offset, data.len(), |source| streams.lacks(source));
        self.deliver_recovered(delivered)
    }

    /// PROTECTED, REPAIR and RECOVERED frames.
    #[inline(never)]
    pub(super) fn on_repair_frame(&mut self, now: Time, frame: &Frame<'_>) -> Result<(), TransportError> {
        if !self.extensions.repair.is_negotiated() {
            return Err(TransportError::protocol_violation("frame of an extension that was not negotiated"));
        }
        match frame {
            Frame::Protected => {
                self.extensions.repair.receiver_mut();
                Ok(())
            }
            Frame::Repair(frame) => self.on_repair(frame),
            Frame::Recovered(frame) => {
                let Connection { streams, extensions: Extensions { repair, .. }, .. } = self;
                if let Some(sender) = &mut repair.sender {
                    sender.on_recovered(now, frame, |range: &SentStream| streams.on_acked(range));
                    self.settle_repair();
                    self.policies.wake();
                    self.update_send_buffer();
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn on_repair(&mut self, frame: &Repair<'_>) -> Result<(), TransportError> {
        let Connection {
            streams, extensions: Extensions { repair, .. }, shares: Shares { work, .. }, ..
        } = self;
        let receiver = repair.receiver_mut();
        if !receiver.admit(work, frame) {
            return Ok(());
        }
        let mut checked = None;
        for source in frame.sources.iter() {
            if checked != Some(source.stream_id) {
                streams.check_receivable(StreamId(source.stream_id))?;
                checked = Some(source.stream_id);
            }
        }
        let delivered = receiver.on_repair(work, frame, |source| streams.lacks(source));
        self.deliver_recovered(delivered)
    }

    /// Apart from what every packet passes through, where the same call is inlined.
    #[inline(never)]
    fn deliver(&mut self, id: StreamId, offset: u64, fin: bool, data: Bytes) -> Result<(), TransportError> {
        self.streams.on_stream(id, offset, fin, data)
    }

    fn deliver_recovered(&mut self, delivered: Vec<Delivered>) -> Result<(), TransportError> {
        for Delivered { source, bytes } in delivered {
            let data = Bytes::from(bytes);
            self.deliver(StreamId(source.stream_id), source.offset, source.fin, data)?;
            if self.streams.take_refused() {
                // The sender is about to hear that it was recovered.
                let reason = "no room for what an erasure code brought";
                return Err(TransportError::new(Code::INTERNAL_ERROR, reason));
            }
        }
        Ok(())
    }
}
