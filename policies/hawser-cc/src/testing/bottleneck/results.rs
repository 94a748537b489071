//! What flows got, measured from a moment on.

use std::time::Duration;

use super::{BYTES, Network};

impl Network {
    /// Measures from now on.
    pub(crate) fn forget(&mut self) {
        self.measured_since = self.now;
        for flow in &mut self.flows {
            flow.waits.clear();
            (flow.delivered_before, flow.sent_before, flow.lost_before) =
                (flow.delivered, flow.sent, flow.lost);
        }
    }

    /// Delivered by a flow, Mbit/s.
    pub(crate) fn goodput(&self, flow: usize) -> f64 {
        let flow = &self.flows[flow];
        let seconds = self.now.since(self.measured_since).as_secs_f64();
        (flow.delivered - flow.delivered_before) as f64 * 8e-6 / seconds
    }

    /// Delivered by all, as a share of what a link of `megabits` carries.
    pub(crate) fn utilisation(&self, megabits: f64) -> f64 {
        (0..self.flows.len()).map(|flow| self.goodput(flow)).sum::<f64>() / megabits
    }

    /// Share of a flow's packets that were lost.
    pub(crate) fn loss(&self, flow: usize) -> f64 {
        let flow = &self.flows[flow];
        (flow.lost - flow.lost_before) as f64 / BYTES as f64 / (flow.sent - flow.sent_before).max(1) as f64
    }

    /// Mean queueing delay of a flow's packets in milliseconds.
    pub(crate) fn mean_wait(&self, flow: usize) -> f64 {
        let waits = &self.flows[flow].waits;
        waits.iter().map(Duration::as_secs_f64).sum::<f64>() * 1e3 / waits.len().max(1) as f64
    }

    /// Jain's index of all flows' goodput.
    pub(crate) fn jain(&self) -> f64 {
        let rates: Vec<f64> = (0..self.flows.len()).map(|flow| self.goodput(flow)).collect();
        let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
        sum * sum / (rates.len() as f64 * squares)
    }
}
