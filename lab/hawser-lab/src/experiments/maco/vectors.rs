//! Items 1 and 2: golden vectors, on what ships.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use hawser_learn::{InnovationKalman, Kalman, Noise};
use hawser_numbers::SplitMix64;
use hawser_policy::{
    Ack, CongestionController, ControllerInit, GroupId, LimitedBy, PathId, Sibling, Siblings, Side, Snapshot,
    Time,
};
use hawser_radio::SpaceBudget;

use crate::experiments::verify::{Measured, Request};

/// Large datagrams: windows are told in whole bytes.
const DATAGRAM: u16 = 65_000;
/// A flow: window, round-trip time, the largest one.
type Flow = (f64, f64, f64);

/// Item 1.
pub(super) fn golden(request: &Request<'_>) -> Result<Measured, String> {
    let two = [(100.0, 0.05, 0.08), (50.0, 0.1, 0.15)];
    let equal = (100.0, 0.1, 0.1);
    let vectors: [(Vec<Flow>, f64); 5] = [
        (vec![equal], 0.15),
        (vec![(100.0, 0.1, 0.4)], 0.30),
        (vec![equal, equal], 0.026_516_5),
        (two.to_vec(), 0.108_611_6),
        (vec![two[1], two[0]], 0.054_305_8),
    ];
    let mut growth: f64 = 0.0;
    for (flows, expected) in vectors {
        growth = growth.max((increase(request, &flows)? - expected).abs());
    }
    // n subflows with 400 datagrams together grow by 1.5 / n^2 of sqrt(T W / rtt) in a round trip.
    let mut scaling: f64 = 0.0;
    for count in 1..=4 {
        let flows = vec![(400.0 / f64::from(count), 0.1, 0.16); count as usize];
        let per_round = 400.0 * increase(request, &flows)?;
        scaling = scaling.max((per_round * f64::from(count * count) / (1.5 * 640f64.sqrt()) - 1.0).abs());
    }
    let mut filter = Kalman::new(10.0, 1.0, Noise { process: 0.04, measurement: 1.0 });
    let mut error: f64 = 0.0;
    for (sample, gain, estimate) in
        [(12.0, 0.5098, 11.0196), (12.0, 0.3548, 11.3674), (12.0, 0.2830, 11.5465), (20.0, 0.2442, 13.6105)]
    {
        filter.update(sample);
        error = error.max((filter.gain() - gain).abs()).max((filter.estimate() - estimate).abs());
    }
    Ok(Measured::default()
        .with("capacity_at_550_km_bps", SpaceBudget::default().capacity(550e3))
        .with("growth_error", growth)
        .with("scaling_error", scaling)
        .with("filter_error", error))
}

/// By how much a controller grows for one acknowledged datagram of the first flow.
fn increase(request: &Request<'_>, flows: &[Flow]) -> Result<f64, String> {
    let factory = request.registry.congestion(request.policy).map_err(|error| error.to_string())?;
    let factory = factory.for_connection(Side::Client, 0).unwrap_or(factory);
    let mut controllers: Vec<_> =
        (0..).zip(flows).map(|(path, flow)| factory.build(&init(path, flow.0))).collect();
    let siblings: Vec<Sibling> = (0..).zip(flows).map(|(path, flow)| sibling(path, flow)).collect();
    for (index, (controller, (_, rtt, largest))) in controllers.iter_mut().zip(flows).enumerate() {
        let siblings = Siblings { own: PathId(index as u32), paths: &siblings };
        controller.on_ack(&ack(0, *largest), &siblings);
        controller.on_ack(&ack(0, *rtt), &siblings);
    }
    let first: &mut Box<dyn CongestionController> = controllers.first_mut().ok_or("no flow")?;
    let before = first.window();
    first.on_ack(&ack(u64::from(DATAGRAM), flows[0].1), &Siblings { own: PathId::ZERO, paths: &siblings });
    Ok((first.window() as f64 - before as f64) / f64::from(DATAGRAM))
}

fn init(path: u32, window: f64) -> ControllerInit {
    let bytes = (window * f64::from(DATAGRAM)) as u64;
    let rtt = Duration::from_millis(100);
    let running = Snapshot::new(Time::from_secs(1), bytes).with(|snapshot| {
        snapshot.slow_start_threshold = bytes / 2;
        snapshot.pacing_rate = None;
        snapshot.smoothed_rtt = rtt;
        snapshot.rtt_variance = Duration::ZERO;
        snapshot.min_rtt = rtt;
        snapshot.min_rtt_at = Time::ZERO;
        snapshot.max_delivery_rate = None;
        snapshot.bytes_in_flight = bytes;
        snapshot.pipe_full = false;
        snapshot.window_before_loss = None;
    });
    ControllerInit::new(PathId(path), Time::from_secs(1), SocketAddr::from((Ipv4Addr::LOCALHOST, 443))).with(
        |init| {
            init.max_datagram_size = DATAGRAM;
            init.initial_window = bytes;
            init.snapshot = Some(running);
        },
    )
}

fn sibling(path: u32, (window, rtt, _): &Flow) -> Sibling {
    let rtt = Duration::from_secs_f64(*rtt);
    Sibling::default().with(|sibling| {
        sibling.path = PathId(path);
        sibling.group = GroupId(0);
        sibling.congestion_window = (window * f64::from(DATAGRAM)) as u64;
        sibling.smoothed_rtt = rtt;
        sibling.min_rtt = rtt;
        sibling.usable = true;
        sibling.max_datagram_size = DATAGRAM;
        sibling.delivery_rate = None;
        sibling.max_delivery_rate = None;
        sibling.acked_since_loss = 0;
        sibling.acked_between_losses = 0;
        sibling.loss_ppm = 0;
    })
}

fn ack(bytes: u64, rtt: f64) -> Ack {
    let rtt = Duration::from_secs_f64(rtt);
    let now = Time::from_secs(2);
    Ack::default().with(|ack| {
        ack.now = now;
        ack.bytes = bytes;
        ack.bytes_in_recovery = 0;
        ack.packets = 1;
        ack.largest_acked = 0;
        ack.largest_sent_at = now - rtt;
        ack.bytes_in_flight = bytes;
        ack.received_on = PathId::ZERO;
        ack.latest_rtt = Some(rtt);
        ack.raw_rtt = Some(rtt);
        ack.smoothed_rtt = rtt;
        ack.rtt_variance = Duration::ZERO;
        ack.min_rtt = rtt;
        ack.reorders = false;
        ack.one_way_delay = None;
        ack.limited_by = LimitedBy::CongestionWindow;
        ack.delivered = bytes;
        ack.delivery = None;
        ack.ecn_ce = 0;
    })
}

/// Trajectories of item 2.
const TRAJECTORIES: u64 = 1_000;

/// Item 2: a step from 40 to 20 with 20 % of noise. Mean error after the next estimate of the noise and twelve samples more, and
/// the error before the step over that of the samples.
pub(super) fn filter(request: &Request<'_>) -> Result<Measured, String> {
    let (mut error, mut filtered, mut raw) = (0.0, 0.0, 0.0);
    for trajectory in 0..TRAJECTORIES {
        let mut random = SplitMix64::new(request.seed * TRAJECTORIES + trajectory);
        let mut filter = InnovationKalman::new(around(&mut random, 40.0));
        for sample in 1..401 {
            let value = around(&mut random, 40.0);
            let estimate = filter.update(value);
            if sample > 150 {
                filtered += (estimate - 40.0).powi(2);
                raw += (value - 40.0).powi(2);
            }
        }
        for _ in 0..16 + 12 {
            filter.update(around(&mut random, 20.0));
        }
        error += (filter.estimate() / 20.0 - 1.0).abs() / TRAJECTORIES as f64;
    }
    Ok(Measured::default().with("step_error_share", error).with("error_to_samples", (filtered / raw).sqrt()))
}

/// A sample with 20 % of normal noise: the sum of twelve uniform values.
fn around(random: &mut SplitMix64, mean: f64) -> f64 {
    mean * (1.0 + 0.2 * ((0..12).map(|_| random.fraction()).sum::<f64>() - 6.0))
}
