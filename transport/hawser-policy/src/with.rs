//! Changes of values that have more fields with a later version, so that no other crate may write all of them down.

use crate::{
    Ack, AckOpportunity, Assignment, BlockReport, Composed, Composition, ControllerInit, DatagramInfo,
    DeliverySample, Forecast, FrameInfo, HandOver, LinkDirection, LinkInfo, LinkState, LinkTraffic,
    LinkUpdate, Loss, Message, Outage, PacketReceived, PacketReport, PacketSent, PathManagerInit, PathView,
    PolicySet, Protection, ProtectionInit, ProtectionView, QueueView, QueuedDatagram, ReturnPath,
    SchedulerInit, Segment, SendView, Sent, SetInit, Sibling, Signal, Snapshot, SpuriousLoss,
};

macro_rules! with {
    ($($type:ident $(<$lifetime:lifetime>)?),* $(,)?) => {
        $(impl$(<$lifetime>)? $type$(<$lifetime>)? {
            /// Returns this value with changes: for tests, and where a struct expression would name all fields.
            #[must_use]
            #[inline]
            pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
                change(&mut self);
                self
            }
        })*
    };
}

with!(
    Ack,
    AckOpportunity,
    Assignment,
    BlockReport,
    Composed,
    Composition,
    ControllerInit,
    DatagramInfo,
    DeliverySample,
    Forecast,
    FrameInfo,
    HandOver,
    LinkDirection,
    LinkInfo,
    LinkState,
    LinkTraffic,
    LinkUpdate<'a>,
    Loss,
    Message,
    Outage,
    PacketReceived,
    PacketReport<'a>,
    PacketSent<'a>,
    PathManagerInit,
    PathView,
    PolicySet,
    Protection,
    ProtectionInit,
    ProtectionView<'a>,
    QueueView,
    QueuedDatagram,
    ReturnPath,
    SchedulerInit,
    Segment<'a>,
    SendView<'a>,
    Sent,
    SetInit,
    Sibling,
    Signal,
    Snapshot,
    SpuriousLoss
);
