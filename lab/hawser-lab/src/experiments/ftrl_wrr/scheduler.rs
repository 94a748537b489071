//! The scheduler by itself: weights, losses, pacing, determinism, cost (items 6 to 8).

use std::hint::black_box;
use std::time::{Duration, Instant};

use hawser_policy::{
    Commands, Decision, Event, PacketSent, PathId, PathView, QueueView, Rate, Scheduler, SchedulerInit,
    SendView, Side, Time,
};
use hawser_sched::{FixedSplit, Redirect, paced_rates, step_loss};

use crate::experiments::verify::{Measured, Request};

/// Paths with nothing in flight.
fn paths(sizes: [u16; 2]) -> [PathView; 2] {
    [0, 1].map(|id| {
        PathView::new(PathId(id)).with(|path| {
            path.congestion_window = 1 << 30;
            path.has_rtt_sample = true;
            path.smoothed_rtt = Duration::from_millis(20 + 20 * u64::from(id));
            path.delivery_rate = Some(Rate::from_megabits_per_second(50));
            path.max_datagram_size = sizes[id as usize];
        })
    })
}

fn view(paths: &[PathView], now: Time) -> SendView<'_> {
    let queue = QueueView::default().with(|queue| {
        queue.unsent = 1 << 30;
        queue.connection_window_left = 1 << 40;
    });
    SendView::new(now, paths, queue, &())
}

/// Packets of one decision that are sent: a policy without turns hands out all there is.
const MOST_PACKETS: u64 = 10_000;

/// Asks once, sends what is decided packet by packet, and gives the paths of these.
fn send(scheduler: &mut dyn Scheduler, paths: &[PathView], now: Time, draws: &mut Vec<u32>) {
    let Decision::Send(sent) = scheduler.schedule(&view(paths, now), &mut Commands::new()) else { return };
    let size = paths.iter().find(|path| path.id == sent.path).map_or(1, |path| path.max_datagram_size);
    for _ in 0..(sent.max_bytes / u64::from(size)).min(MOST_PACKETS) {
        draws.push(sent.path.0);
        scheduler.on_event(
            &Event::Sent(&PacketSent::default().with(|made| {
                made.now = now;
                made.path = sent.path;
                made.packet_number = draws.len() as u64;
                made.bytes = u64::from(size);
                made.bytes_in_flight = 0;
                made.tag = sent.tag;
                made.ranges = &[];
            })),
            &mut Commands::new(),
        );
    }
}

fn draws(share: f64, sizes: [u16; 2], count: usize) -> Vec<u32> {
    let (mut scheduler, paths) = (FixedSplit::new(share, Redirect::Off), paths(sizes));
    let mut draws = Vec::new();
    while draws.len() < count {
        send(&mut scheduler, &paths, Time::ZERO, &mut draws);
    }
    draws.truncate(count);
    draws
}

pub(super) fn weights(_: &Request<'_>) -> Result<Measured, String> {
    let golden: [(f64, &[u32]); 2] = [(0.75, &[0, 0, 1, 0, 0, 0, 1, 0]), (0.625, &[0, 1, 0, 0, 1, 0, 1, 0])];
    let wrong = golden.iter().filter(|(share, expected)| draws(*share, [1_400; 2], 8) != *expected).count();
    let (mut prefix, mut window) = (0f64, 0f64);
    for number in 1..100 {
        let share = f64::from(number) / 100.0;
        // Weights are integers of 2^16.
        let weight = (share * 65_536.0).round() / 65_536.0;
        let (mut first, mut least, mut most) = (0.0, 0f64, 0f64);
        for (drawn, path) in draws(share, [1_400; 2], 1_000).into_iter().enumerate() {
            first += f64::from(u8::from(path == 0));
            let off = first - (drawn + 1) as f64 * weight;
            prefix = prefix.max(off.abs());
            (least, most) = (least.min(off), most.max(off));
        }
        window = window.max(most - least);
    }
    let sized = draws(0.6, [1_500, 1_400], 1 << 16);
    let share = sized.iter().filter(|path| **path == 0).count() as f64 / sized.len() as f64;
    Ok(Measured::new("")
        .with("wrong_draws", wrong as f64)
        .with("prefix_off_by", prefix)
        .with("window_off_by", window)
        .with("packet_share_off_by", (share - 0.583_333).abs()))
}

pub(super) fn losses(_: &Request<'_>) -> Result<Measured, String> {
    let factor = |carried: f64| {
        let loss = step_loss([(0.6, carried), (0.4, 1.0 - carried)].into_iter(), 1.0);
        (1.0 - loss.sqrt() - 0.75).abs()
    };
    let pacing = |share, expected: [f64; 2]| {
        let found = paced_rates([100.0, 50.0], share);
        (found[0] - expected[0]).abs().max((found[1] - expected[1]).abs())
    };
    Ok(Measured::new("")
        .with("factor_off_by", factor(0.45).max(factor(0.7)))
        .with("pacing_off_by", pacing(0.5, [100.0, 100.0]).max(pacing(0.8, [200.0, 50.0]))))
}

/// Runs a scenario twice, and measures how long a decision takes.
pub(super) fn decisions(request: &Request<'_>) -> Result<Measured, String> {
    Ok(request.run_twice()?.with("schedule_us", schedule_us(request)?))
}

/// Microseconds of a call of `schedule`: the median of batches.
fn schedule_us(request: &Request<'_>) -> Result<f64, String> {
    const BATCHES: usize = 200;
    const CALLS: u32 = 500;
    let factory = request.registry.scheduler(request.policy).map_err(|error| error.to_string())?;
    let mut scheduler = factory.build(&SchedulerInit::new(Side::Server, request.seed));
    let paths = paths([1_400; 2]);
    let mut draws = Vec::new();
    send(&mut *scheduler, &paths, Time::ZERO, &mut draws);
    let mut commands = Commands::new();
    let mut batches = [0.0; BATCHES];
    for (number, batch) in batches.iter_mut().enumerate() {
        let began = Instant::now();
        for call in 0..CALLS {
            let now = Time::from_micros(number as u64 * 5_000 + u64::from(call) * 10);
            black_box(scheduler.schedule(&view(&paths, now), &mut commands));
            commands.clear();
        }
        *batch = began.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS);
    }
    batches.sort_by(f64::total_cmp);
    Ok(batches[BATCHES / 2])
}
