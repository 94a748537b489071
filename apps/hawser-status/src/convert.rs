//! From what the transport reports to the model.

use std::collections::BTreeMap;
use std::time::Duration;

use hawser_net::policy::{
    Figure as PolicyFigure, Figures, LimitedBy as Limit, LinkInfo, LinkKind, LinkState, PathState as State,
    PathStatus, Rate, Side, Time,
};
use hawser_net::{CapUse, ConnectionSample, LinkUse, PathSample};

use crate::model::{
    Budget, Connection, ConnectionState, Data, Figure, Handover, LimitedBy, Link, LinkUsage, Path, PathState,
    Radio,
};
use crate::text::shown;

/// Milliseconds, to the microsecond.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

fn bits(rate: Rate) -> f64 {
    rate.bits_per_second() as f64
}

/// A connection without its rates, its paths, and what its links carried.
pub(crate) fn connection(id: String, sample: &ConnectionSample) -> Connection {
    let stats = &sample.stats;
    let protocol = sample.application_protocol.as_ref().map(|alpn| shown(&String::from_utf8_lossy(alpn)));
    Connection {
        id,
        side: if sample.side == Side::Client { "client" } else { "server" }.to_owned(),
        remote: sample.remote.to_string(),
        server_name: sample.server_name.as_deref().map(shown),
        protocol,
        quic: format!("QUIC{}", sample.version).replace(' ', ""),
        multipath: sample.is_multipath,
        state: match (sample.is_closed, sample.is_handshaking) {
            (true, _) => ConnectionState::Closing,
            (_, true) => ConnectionState::Handshaking,
            _ => ConnectionState::Open,
        },
        scheduler: sample.scheduler.to_owned(),
        scheduler_figures: figures(&sample.scheduler_figures),
        bytes_sent: stats.bytes_sent,
        bytes_received: stats.bytes_received,
        queued_bytes: sample.queue.total(),
        window_left_bytes: sample.queue.connection_window_left,
        buffered_bytes: sample.buffered,
        data: Data {
            sent: stats.stream_bytes_sent,
            acked: stats.stream_bytes_acked,
            retransmitted: stats.stream_bytes_retransmitted,
            copied: stats.stream_bytes_copied,
            copied_needlessly: stats.stream_bytes_copied_needlessly,
            discarded: stats.stream_bytes_discarded,
            received: stats.stream_bytes_received,
            duplicate: stats.stream_bytes_duplicate,
            missed: stats.stream_bytes_missed,
            repair_symbols_sent: stats.repair_symbols_sent,
            repair_symbols_received: stats.repair_symbols_received,
            recovered: stats.stream_bytes_recovered,
            recovered_by_peer: stats.stream_bytes_recovered_by_peer,
        },
        ..Connection::default()
    }
}

/// A path without its rates.
pub(crate) fn path(name: String, sample: &PathSample, now: Time) -> Path {
    let (info, stats) = (&sample.info, &sample.stats);
    let standing = stats.smoothed_rtt.saturating_sub(stats.min_rtt);
    Path {
        id: info.id.0,
        name,
        local: info.tuple.local.to_string(),
        remote: info.tuple.remote.to_string(),
        state: match info.state {
            State::Validating => PathState::Validating,
            State::Active => PathState::Active,
            _ => PathState::Suspect,
        },
        backup: info.status == PathStatus::Backup,
        bytes_sent: stats.bytes_sent,
        bytes_received: stats.bytes_received,
        rate_sent_bps: 0.0,
        rate_received_bps: 0.0,
        rtt_ms: milliseconds(stats.latest_rtt),
        smoothed_rtt_ms: milliseconds(stats.smoothed_rtt),
        min_rtt_ms: milliseconds(stats.min_rtt),
        rtt_variance_ms: milliseconds(stats.rtt_variance),
        one_way_ms: stats.one_way_delay.map(milliseconds),
        loss: f64::from(stats.recent_loss_ppm) / 1e6,
        packets_sent: stats.packets_sent,
        packets_lost: stats.packets_lost,
        packets_spuriously_lost: stats.packets_spuriously_lost,
        reordering_packets: stats.reordering_threshold,
        window_bytes: stats.congestion_window,
        in_flight_bytes: stats.bytes_in_flight,
        queue_bytes: stats.delivery_rate.map_or(0, |rate| {
            let product = bits(rate) / 8.0 * stats.min_rtt.as_secs_f64();
            stats.bytes_in_flight.saturating_sub(product as u64)
        }),
        queue_ms: milliseconds(standing),
        delivery_bps: stats.delivery_rate.map(bits),
        pacing_bps: stats.pacing_rate.map(bits),
        limited_by: limited_by(stats.limited_by),
        slow_start: stats.in_slow_start,
        controller: stats.controller.to_owned(),
        figures: figures(&sample.figures),
        congestion_events: stats.congestion_events,
        congestion_marks: stats.congestion_marks,
        copies_queued_bytes: stats.copies_queued,
        mtu: stats.mtu,
        probe_timeouts: stats.probe_timeouts,
        times_suspect: stats.times_suspect,
        silent_ms: stats.heard_at.map(|at| milliseconds(now.since(at))),
        stalled: false,
    }
}

fn limited_by(limit: Limit) -> LimitedBy {
    match limit {
        Limit::Application => LimitedBy::Application,
        Limit::Scheduler => LimitedBy::Scheduler,
        Limit::FlowControl => LimitedBy::FlowControl,
        Limit::CongestionWindow => LimitedBy::CongestionWindow,
        Limit::Pacing => LimitedBy::Pacing,
        Limit::Amplification => LimitedBy::Amplification,
        _ => LimitedBy::Nothing,
    }
}

fn figures(figures: &Figures) -> BTreeMap<String, Figure> {
    let read = |figure| match figure {
        PolicyFigure::Number(number) => Figure::Number(number),
        PolicyFigure::Word(word) => Figure::Word(word.to_owned()),
        other => Figure::Word(format!("{other:?}")),
    };
    figures.iter().map(|(name, figure)| (name.to_owned(), read(figure))).collect()
}

/// A link that is there.
pub(crate) fn link(info: &LinkInfo) -> Link {
    let kind = match info.kind {
        LinkKind::Wired => "wired",
        LinkKind::Wifi => "wifi",
        LinkKind::Cellular => "cellular",
        LinkKind::Satellite => "satellite",
        _ => "unknown",
    };
    Link {
        name: info.name.clone(),
        kind: kind.to_owned(),
        addresses: info.addresses.iter().map(ToString::to_string).collect(),
        usage: if info.preference == PathStatus::Backup { LinkUsage::Backup } else { LinkUsage::Available },
        up: true,
        ..Link::default()
    }
}

/// What was ordered.
pub(crate) fn usage(wanted: LinkUse) -> LinkUsage {
    match wanted {
        LinkUse::Backup => LinkUsage::Backup,
        LinkUse::Paused => LinkUsage::Paused,
        _ => LinkUsage::Available,
    }
}

/// What an observer said of a link.
pub(crate) fn radio(state: &LinkState, now: Time) -> Radio {
    Radio {
        strength_dbm: state.signal.strength_dbm,
        snr_db: state.signal.snr_db,
        attached_to: state.attached_to.map(|point| point.to_string()),
        channel: state.channel,
        uplink_bps: state.uplink.capacity.map(bits),
        downlink_bps: state.downlink.capacity.map(bits),
        handover: state.hand_over.filter(|next| next.at > now).map(|next| Handover {
            in_ms: milliseconds(next.at.since(now)),
            to: next.to.map(|point| point.to_string()),
            interruption_ms: next.interruption.map(milliseconds),
        }),
    }
}

/// A budget of a link.
pub(crate) fn budget(cap: &CapUse) -> Budget {
    Budget {
        cap_bytes: cap.cap.bytes,
        used_bytes: cap.used,
        left_bytes: cap.cap.bytes.saturating_sub(cap.used),
        period_s: cap.cap.period.as_secs(),
        resting: cap.rests.is_some(),
    }
}
