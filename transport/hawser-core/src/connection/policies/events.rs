//! What policies are told. An event is put together only if the scheduler or the agent asked for its kind.

use std::time::Duration;

use hawser_policy::{
    AttachReport, Event, Feedback, Interests, LimitedBy, LinkUpdate, Message, MessageOrigin, PacketReceived,
    PacketReport, PacketSent, PathChange, PathId, StreamRange, Time,
};

use super::Policies;
use crate::connection::frames::{SentFrame, SentFrames, SentStream};
use crate::connection::recovery::{PathRecovery, SentPacket};

impl Policies {
    /// Whether anybody asked for events of this kind.
    #[inline]
    pub(crate) fn wants(&self, interest: Interests) -> bool {
        self.interests.contains(interest)
    }

    /// Notifies the parts that asked. Mostly the agent alone asks for events of every packet.
    #[inline]
    pub(crate) fn on_event(&mut self, event: &Event<'_>) {
        let interest = event.interest();
        if !self.agent_alone.contains(interest) {
            self.tell_all(event, interest);
        } else if let Some(agent) = &mut self.set.agent {
            agent.on_event(event, &mut self.commands);
        }
    }

    #[inline(never)]
    fn tell_all(&mut self, event: &Event<'_>, interest: Interests) {
        if self.scheduler_interests.contains(interest) {
            self.set.scheduler.on_event(event, &mut self.commands);
        }
        if self.agent_interests.contains(interest)
            && let Some(agent) = &mut self.set.agent
        {
            agent.on_event(event, &mut self.commands);
        }
        if self.protection_interests.contains(interest)
            && let Some(protection) = &mut self.set.protection
        {
            protection.on_event(event, &mut self.commands);
        }
    }

    /// A packet of a path leaves; `bytes_in_flight` includes it.
    #[inline(never)]
    pub(crate) fn on_packet_sent(
        &mut self,
        path: PathId,
        packet: &SentPacket,
        bytes_in_flight: u64,
        limited_by: LimitedBy,
    ) {
        self.with_ranges(&packet.frames, move |policies, ranges| {
            policies.on_event(&Event::Sent(&PacketSent::default().with(|sent| {
                sent.now = packet.sent_at;
                sent.path = path;
                sent.packet_number = packet.packet_number;
                sent.bytes = u64::from(packet.bytes);
                sent.bytes_in_flight = bytes_in_flight;
                sent.tag = packet.tag;
                sent.ranges = ranges;
                sent.limited_by = limited_by;
            })));
        });
    }

    /// A packet of a path was acknowledged.
    #[inline(never)]
    pub(crate) fn on_packet_acked(
        &mut self,
        now: Time,
        path: PathId,
        packet: &SentPacket,
        one_way_delay: Option<Duration>,
    ) {
        self.with_ranges(&packet.frames, move |policies, ranges| {
            policies.on_event(&Event::Acked(&report(now, path, packet, ranges, one_way_delay)));
        });
    }

    /// A packet of a path was declared lost.
    #[inline(never)]
    pub(crate) fn on_packet_lost(&mut self, now: Time, path: PathId, packet: &SentPacket) {
        self.with_ranges(&packet.frames, move |policies, ranges| {
            policies.on_event(&Event::Lost(&report(now, path, packet, ranges, None)));
        });
    }

    /// The commands of a path's controller, to be applied with the others.
    #[inline]
    pub(crate) fn take_controller_commands(&mut self, recovery: &mut PathRecovery) {
        recovery.take_commands(&mut self.commands);
    }

    /// A packet arrived and was processed.
    pub(crate) fn on_packet_received(&mut self, received: &PacketReceived) {
        self.on_event(&Event::Received(received));
    }

    /// A message came, of the peer's policies or of our application.
    pub(crate) fn on_message(&mut self, now: Time, origin: MessageOrigin, message: &Message) {
        self.on_event(&Event::Message { now, origin, message });
        self.wake();
    }

    /// A path came, changed or went.
    pub(crate) fn on_path_change(&mut self, now: Time, path: PathId, change: PathChange) {
        self.on_event(&Event::Path { now, path, change });
        self.on_paths_changed();
    }

    /// News of a local link.
    pub(crate) fn on_link_update(&mut self, update: &LinkUpdate<'_>) {
        self.on_event(&Event::Link(update));
        self.wake();
    }

    /// What became of a request to attach a link elsewhere.
    pub(crate) fn on_attach_report(&mut self, now: Time, report: &AttachReport) {
        self.on_event(&Event::Attach { now, report });
        self.wake();
    }

    /// The application reported on quality.
    pub(crate) fn on_feedback(&mut self, now: Time, feedback: &Feedback) {
        self.on_event(&Event::Feedback { now, feedback });
        self.wake();
    }

    /// Tells something with the stream ranges of a packet: mostly there is one, else they go through a list that is kept, so
    /// that nothing is allocated. `tell` is handed on as a value: a reference to it would have to be prepared for every packet.
    #[inline]
    fn with_ranges(&mut self, frames: &SentFrames, tell: impl FnOnce(&mut Self, &[StreamRange])) {
        if let [SentFrame::Stream(sent)] = frames.as_slice() {
            return tell(self, &[stream_range(sent)]);
        }
        self.with_list(frames, tell);
    }

    #[inline(never)]
    fn with_list(&mut self, frames: &SentFrames, tell: impl FnOnce(&mut Self, &[StreamRange])) {
        let mut ranges = std::mem::take(&mut self.ranges);
        ranges.clear();
        ranges.extend(frames.iter().filter_map(|frame| match frame {
            SentFrame::Stream(sent) => Some(stream_range(sent)),
            _ => None,
        }));
        tell(self, &ranges);
        self.ranges = ranges;
    }
}

#[inline]
fn stream_range(sent: &SentStream) -> StreamRange {
    StreamRange { stream: sent.id, range: sent.offset..sent.end(), copy: sent.copy }
}

#[inline]
fn report<'a>(
    now: Time,
    path: PathId,
    packet: &SentPacket,
    ranges: &'a [StreamRange],
    one_way_delay: Option<Duration>,
) -> PacketReport<'a> {
    PacketReport::default().with(|report| {
        report.now = now;
        report.path = path;
        report.packet_number = packet.packet_number;
        report.bytes = u64::from(packet.bytes);
        report.sent_at = packet.sent_at;
        report.bytes_in_flight_at_send = u64::from(packet.delivery.inflight);
        report.tag = packet.tag;
        report.ranges = ranges;
        report.one_way_delay = one_way_delay;
    })
}
