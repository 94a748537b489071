//! What single records tell: volumes, goodput, delays, and the shares of flows that vary much.

use hawser_link::Direction;

use super::record::Measured;
use super::{Records, Session};
use crate::data::statistics::{deviation, mean};

/// What a session amounts to. Sums are over its flows; what only the server can know is absent without its records.
#[derive(Debug, Clone, Default)]
pub(super) struct Figures {
    /// Payload that the receiving application got.
    pub(super) application_bytes: Option<u64>,
    /// Payload that was acknowledged to the sender.
    pub(super) acked_bytes: Option<u64>,
    /// Payload over the time from the first connect call to the end of the session, bit/s.
    pub(super) goodput: Option<f64>,
    /// From the beginning of the association to the first handshake that was complete, ms.
    pub(super) connected_ms: Option<f64>,
    pub(super) packets_sent: u64,
    pub(super) packets_lost: u64,
    /// One for each flow whose sender was seen.
    pub(super) flows: Vec<Quality>,
}

/// How even a flow was, seen from its sender. Each is absent where there is too little to tell.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Quality {
    /// Standard deviation over mean of the round-trip times.
    pub(super) rtt_jitter: Option<f64>,
    /// Packets lost over packets sent.
    pub(super) loss: Option<f64>,
    /// Standard deviation over mean of the throughput of whole seconds.
    pub(super) throughput_variation: Option<f64>,
}

impl Figures {
    pub(super) fn of(session: &Session, records: &Records) -> Self {
        let is_up = session.configuration.direction == Direction::Up;
        let mut figures = Figures::default();
        let mut began = None::<f64>;
        for flow in &session.flows {
            began = Some(began.map_or(flow.began_ms, |began| began.min(flow.began_ms)));
            let theirs = records.server_flow(session, flow.index).map(|flow| &flow.measured);
            let ours = Some(&flow.measured);
            let (sender, receiver) = if is_up { (ours, theirs) } else { (theirs, ours) };
            figures.connected_ms = least(figures.connected_ms, flow.connected_ms);
            add(&mut figures.application_bytes, receiver.and_then(|end| end.received_bytes));
            add(&mut figures.acked_bytes, sender.and_then(|end| end.acked_bytes));
            let Some(sender) = sender.filter(|_| flow.connected_ms.is_some()) else { continue };
            // Anyone who reaches a server can add records: their numbers may be any.
            figures.packets_sent = figures.packets_sent.saturating_add(sender.packets_sent);
            figures.packets_lost = figures.packets_lost.saturating_add(sender.packets_lost);
            figures.flows.push(Quality::of(sender));
        }
        let bytes = figures.acked_bytes.or(figures.application_bytes);
        let end = session.address_down_ms.unwrap_or(session.stopped_ms);
        let seconds = (end - began.unwrap_or(end)) / 1e3;
        figures.goodput =
            bytes.filter(|_| seconds > 0.0 && session.ok).map(|bytes| bytes as f64 * 8.0 / seconds);
        figures
    }
}

impl Quality {
    fn of(sender: &Measured) -> Self {
        let rtts: Vec<f64> = sender.samples.rtt_ms.iter().flatten().copied().collect();
        Quality {
            rtt_jitter: variation(&rtts),
            loss: (sender.packets_sent > 0).then(|| sender.packets_lost as f64 / sender.packets_sent as f64),
            throughput_variation: variation(&sender.samples.rates()),
        }
    }
}

fn add(sum: &mut Option<u64>, bytes: Option<u64>) {
    if let Some(bytes) = bytes {
        *sum = Some(sum.unwrap_or(0).saturating_add(bytes));
    }
}

fn least(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Standard deviation over mean; of two values at least, whose mean is above zero.
pub(crate) fn variation(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    (values.len() >= 2 && mean > 0.0).then(|| deviation(values) / mean)
}

/// Pearson's coefficient of correlation; of three pairs at least, neither side constant.
pub(super) fn pearson(pairs: &[(f64, f64)]) -> Option<f64> {
    let count = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|pair| of(pair.0 - x, pair.1 - y)).sum::<f64>();
    let (together, first, second) = (sum(&|a, b| a * b), sum(&|a, _| a * a), sum(&|_, b| b * b));
    (pairs.len() >= 3 && first > 0.0 && second > 0.0).then(|| together / (first * second).sqrt())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::data::measure::{Records, Report};

    /// Anybody may upload records (found by the fuzz target `measure`).
    #[test]
    fn counters_that_no_flow_has_do_not_overflow() {
        let flow = |index: u32| {
            let most = u64::MAX;
            format!(
                r#"{{"index":{index},"began_ms":0,"connected_ms":1,"acked_bytes":{most},"packets_sent":{most},"packets_lost":{most},
                "samples":{{"interval_ms":100,"bytes":[{}],"packets_sent":[],"packets_lost":[],"rtt_ms":[]}}}}"#,
                vec![most.to_string(); 20].join(",")
            )
        };
        let line = format!(
            r#"{{"kind":"session","id":"0000000001-0000000000000001","run":"0000000000000001","interface":"wlan0","address":"192.0.2.7",
            "association":0,"attempt":0,"unix":0,"run_ms":0,"server":"s","stopped_ms":1000,"ok":true,"end":"stopped",
            "configuration":{{"controller":"cubic","direction":"up","flows":2}},"flows":[{},{}]}}"#,
            flow(0),
            flow(1)
        );
        let records = Records::of_lines(Path::new("forged.jsonl"), line.replace('\n', "").as_bytes());
        assert_eq!((records.sessions.len(), records.unreadable.len()), (1, 0));
        assert!(Report::of(&records).html().contains("wlan0"));
    }
}
