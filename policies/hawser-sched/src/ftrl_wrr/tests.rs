use std::sync::Arc;

use hawser_learn::{Accumulation, CutTest};
use hawser_policy::{Command, Note, Notes, PacketReport, PacketSent, PathView, QueueView, Rate, Side, Tag};

use super::change::ChangeWatch;
use super::*;
use crate::testing::{path, view_at};

fn waiting() -> QueueView {
    QueueView::default().with(|queue| {
        queue.unsent = 1 << 30;
        queue.connection_window_left = u64::MAX;
    })
}

/// Two or more ideal paths: each carries packets one after the other at its rate, and acknowledges them a round trip after
/// they came through.
struct Bench {
    scheduler: FtrlWrr,
    notes: Arc<Notes>,
    now: Time,
    rtt: Duration,
    links: Vec<Link>,
    /// Path, packet number, bytes, time of sending and of acknowledgement, tag.
    flying: Vec<(usize, u64, Time, Time, Tag)>,
    /// Every decision that sent.
    trace: Vec<(u32, u64)>,
}

struct Link {
    megabits: u64,
    free_at: Time,
    next_number: u64,
    in_flight: u64,
}

const PACKET: u64 = 1_000;

impl Bench {
    fn new(parameters: FtrlWrrParameters, megabits: &[u64]) -> Self {
        let notes = Arc::new(Notes::default());
        let mut scheduler = FtrlWrr::new(parameters, 1);
        scheduler.set_trace(&Trace::new(Side::Client, vec![notes.clone()]));
        let link =
            |megabits: &u64| Link { megabits: *megabits, free_at: Time::ZERO, next_number: 0, in_flight: 0 };
        Bench {
            scheduler,
            notes,
            now: Time::ZERO,
            rtt: Duration::from_millis(40),
            links: megabits.iter().map(link).collect(),
            flying: Vec::new(),
            trace: Vec::new(),
        }
    }

    /// Windows of one and a half bandwidth-delay products.
    fn views(&self) -> Vec<PathView> {
        let of = |(id, link): (usize, &Link)| {
            let rate = Rate::from_megabits_per_second(link.megabits);
            let window = rate.bytes_in(self.rtt) * 3 / 2;
            path(id as u32, 40, 0).with(|path| {
                path.congestion_window = window;
                path.bytes_in_flight = link.in_flight;
                path.delivery_rate = Some(rate);
            })
        };
        self.links.iter().enumerate().map(of).collect()
    }

    fn run(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        while self.now < end {
            loop {
                let views = self.views();
                let view = view_at(self.now, &views, waiting());
                let Decision::Send(sent) = self.scheduler.schedule(&view, &mut Vec::new()) else { break };
                let room = views[sent.path.0 as usize].sendable().min(sent.max_bytes) / PACKET;
                (0..room.max(1)).for_each(|_| self.send(sent.path, sent.tag));
            }
            self.now += Duration::from_millis(1);
            self.acknowledge();
        }
    }

    fn send(&mut self, id: PathId, tag: Tag) {
        let link = &mut self.links[id.0 as usize];
        let sending = Rate::from_megabits_per_second(link.megabits).time_for(PACKET);
        link.free_at = link.free_at.max(self.now) + sending;
        (link.in_flight, link.next_number) = (link.in_flight + PACKET, link.next_number + 1);
        self.flying.push((id.0 as usize, link.next_number, self.now, link.free_at + self.rtt, tag));
        self.trace.push((id.0, tag.0));
        let sent = PacketSent::default().with(|sent| {
            sent.now = self.now;
            sent.path = id;
            sent.packet_number = link.next_number;
            sent.bytes = PACKET;
            sent.bytes_in_flight = link.in_flight;
            sent.tag = tag;
            sent.ranges = &[];
        });
        self.scheduler.on_event(&Event::Sent(&sent), &mut Vec::new());
    }

    fn acknowledge(&mut self) {
        let (now, flying) = (self.now, std::mem::take(&mut self.flying));
        let (due, left) = flying.into_iter().partition(|(.., at, _)| *at <= now);
        self.flying = left;
        let due: Vec<(usize, u64, Time, Time, Tag)> = due;
        for (link, packet_number, sent_at, _, tag) in due {
            self.links[link].in_flight -= PACKET;
            let report = PacketReport::default().with(|report| {
                report.now = now;
                report.path = PathId(link as u32);
                report.packet_number = packet_number;
                report.bytes = PACKET;
                report.sent_at = sent_at;
                report.bytes_in_flight_at_send = 0;
                report.tag = tag;
                report.ranges = &[];
            });
            self.scheduler.on_event(&Event::Acked(&report), &mut Vec::new());
        }
    }

    /// Where the learner stands after the last step.
    fn center(&self) -> f64 {
        self.notes.take().iter().rev().find_map(|note| note.number("center")).unwrap_or(0.5)
    }

    fn reset(&self) -> Option<Note> {
        self.notes.take().into_iter().find(|note| note.name == "ftrl-wrr.reset")
    }
}

/// The share goes to the ratio of the bandwidths where shares are kept, whatever the accumulation.
#[test]
fn the_share_converges_to_the_ratio_of_the_bandwidths() {
    for accumulation in [Accumulation::PerStep, Accumulation::CurrentEta] {
        for (megabits, ratio) in [([30, 10], 0.75), ([10, 30], 0.25), ([20, 20], 0.5)] {
            let redirect = crate::Redirect::Off;
            let parameters = FtrlWrrParameters { accumulation, redirect, ..FtrlWrrParameters::default() };
            let mut bench = Bench::new(parameters, &megabits);
            bench.run(20);
            let center = bench.center();
            assert!((center - ratio).abs() <= 0.08, "{accumulation:?} {megabits:?}: {center}");
        }
    }
}

/// Three paths: the first one's share of 5/10.
#[test]
fn three_paths_are_shared_by_their_bandwidths() {
    let parameters = FtrlWrrParameters { redirect: crate::Redirect::Off, ..FtrlWrrParameters::default() };
    let mut bench = Bench::new(parameters, &[20, 12, 8]);
    bench.run(20);
    assert!((bench.center() - 0.5).abs() <= 0.1, "{}", bench.center());
}

/// 30:10 turns into 10:30: noticed within two seconds, forgotten, and the centre across the middle within 15 steps.
#[test]
fn a_change_of_the_ratio_is_noticed_and_learnt() {
    let parameters = FtrlWrrParameters { redirect: crate::Redirect::Off, ..FtrlWrrParameters::default() };
    let mut bench = Bench::new(parameters, &[30, 10]);
    // Rates that never change are no samples.
    for number in 0..300 {
        bench.links[0].megabits = 30 + number % 2;
        bench.links[1].megabits = 10 + number % 2;
        bench.now += Duration::from_millis(11);
        let views = bench.views();
        bench.scheduler.schedule(&view_at(bench.now, &views, waiting()), &mut Vec::new());
    }
    assert_eq!(bench.reset(), None);
    let changed = bench.now;
    for number in 0..100 {
        bench.links[0].megabits = 10 + number % 2;
        bench.links[1].megabits = 30 + number % 2;
        bench.now += Duration::from_millis(11);
        let views = bench.views();
        bench.scheduler.schedule(&view_at(bench.now, &views, waiting()), &mut Vec::new());
    }
    let reset = bench.reset().expect("a reset");
    let [before, after, forgotten] = ["before", "after", "forgotten"].map(|name| reset.number(name).unwrap());
    assert!(reset.at.since(changed) <= Duration::from_secs(2));
    assert!(before > 0.5 && after < 0.5 && forgotten == 1.0);
}

#[test]
fn the_same_seed_makes_the_same_decisions() {
    let trace = |seconds| {
        let mut bench = Bench::new(FtrlWrrParameters::default(), &[30, 10, 5]);
        bench.run(seconds);
        bench.trace
    };
    assert_eq!(trace(3), trace(3));
}

#[test]
fn losses_are_those_of_the_sheet() {
    // X = 0.6: what was carried falls 25 % short of the plan when 0.45 or 0.7 went over the first path.
    for carried in [0.45, 0.7] {
        let loss = step_loss([(0.6, carried), (0.4, 1.0 - carried)].into_iter(), 1.0);
        assert!((loss - 0.25f64.powi(2)).abs() < 1e-12, "{carried}: {loss}");
    }
    assert_eq!(step_loss([(0.5, 0.7), (0.5, 0.7)].into_iter(), 1.0), 0.0, "more than the bandwidth");
}

/// Estimates of 100 and 50: X = 0.5 raises the second to 100, X = 0.8 the first to 200.
#[test]
fn pacing_raises_one_rate_to_the_ratio_of_the_shares() {
    let rates = |share| paced_rates([100.0, 50.0], share);
    assert_eq!(rates(0.5), [100.0, 100.0]);
    assert_eq!(rates(0.8), [200.0, 50.0]);
    assert_eq!(rates(2.0 / 3.0), [100.0, 50.0]);
    assert_eq!(rates(0.95), [200.0, 50.0], "twice the estimate at most");
}

#[test]
fn pacing_is_the_controllers_unless_it_is_asked_for() {
    let commands = |pacing| {
        let mut scheduler = FtrlWrr::new(FtrlWrrParameters { pacing, ..FtrlWrrParameters::default() }, 0);
        let mut commands = Vec::new();
        let mut paths = [path(0, 20, 50_000), path(1, 60, 50_000)];
        paths[0].delivery_rate = Some(Rate::from_megabits_per_second(100));
        paths[1].delivery_rate = Some(Rate::from_megabits_per_second(50));
        scheduler.schedule(&view_at(Time::ZERO, &paths, waiting()), &mut commands);
        commands
    };
    let scaled = |percents: [u16; 2]| {
        [0, 1].map(|id| Command::ScalePacing { path: PathId(id), percent: percents[id as usize] }).to_vec()
    };
    assert_eq!(commands(FtrlPacing::Controller), vec![]);
    assert_eq!(commands(FtrlPacing::Off), scaled([1_000, 1_000]));
    // The first play is X = 0.323: 100 / 0.323 of the whole, so that the second path gets 0.677 of it.
    assert_eq!(commands(FtrlPacing::Learner), scaled([100, 200]));
}

#[test]
fn small_transfers_take_the_fast_path() {
    let mut scheduler = FtrlWrr::default();
    let paths = [path(0, 60, 50_000), path(1, 20, 50_000)];
    let queue = waiting().with(|queue| queue.unsent = 5_000);
    for _ in 0..10 {
        let decision = scheduler.schedule(&view_at(Time::ZERO, &paths, queue), &mut Vec::new());
        assert_eq!(decision, crate::testing::next(1));
    }
}

/// The ratio is sampled when both rates are new, and at most once in 10 ms.
#[test]
fn samples_of_the_ratio_are_spaced() {
    let mut watch = ChangeWatch::new(2, CutTest::Hoeffding { confidence: 0.3 });
    let mut samples = 0;
    for (at, rates) in
        [(0, [1.0, 1.0]), (1, [2.0, 2.0]), (12, [2.0, 3.0]), (13, [4.0, 3.0]), (30, [4.0, 3.0])]
    {
        watch.note(0, rates[0]);
        watch.note(1, rates[1]);
        let before = watch.sampled();
        watch.check(Time::from_millis(at));
        samples += usize::from(watch.sampled() != before);
    }
    assert_eq!(samples, 2);
}
