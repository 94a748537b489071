//! One-way delays from receive timestamps, over whole connections.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_cc::NewReno;
use hawser_policy::{
    Ack, Agent, CongestionController, ControllerInit, Event, Interests, Loss, PathId, PolicySet, SetInit,
    Siblings, Side,
};
use hawser_sched::MinRtt;

use super::pair::{DELAY, Pair, Settings, transport};
use crate::TransportConfig;

/// 2^3 microseconds.
const RESOLUTION: Duration = Duration::from_micros(8);

fn asking(most: u64) -> TransportConfig {
    TransportConfig { receive_timestamps: Some(most), ..transport() }
}

fn delay(pair: &mut Pair, side: Side, path: PathId) -> Option<Duration> {
    pair.end(side).connection.as_mut().unwrap().path_stats(path).unwrap().one_way_delay
}

#[test]
fn one_way_delays_are_those_of_the_links_plus_a_constant() {
    let settings = Settings { client: asking(32), server: asking(32), ..Settings::default() };
    let mut pair = Pair::connected(settings);
    let second = pair.open(1);
    for side in [Side::Client, Side::Server] {
        let first = delay(&mut pair, side, PathId::ZERO).unwrap();
        assert!(first > Duration::from_secs(1), "{first:?}: nobody takes it for synchronised clocks");
        for turn in 0..20 {
            pair.write(side, 30_000 + 1_000 * turn);
            pair.run(Duration::from_millis(70));
            for path in [PathId::ZERO, second] {
                let now = delay(&mut pair, side, path).unwrap();
                assert!(now.abs_diff(first) <= RESOLUTION, "{path}: {now:?} after {first:?}");
            }
        }
    }
}

#[test]
fn only_an_end_that_asks_is_told() {
    let settings = Settings { client: transport(), server: asking(32), ..Settings::default() };
    let mut pair = Pair::connected(settings);
    for side in [Side::Client, Side::Server] {
        pair.write(side, 50_000);
    }
    pair.run(Duration::from_secs(1));
    assert_eq!(delay(&mut pair, Side::Client, PathId::ZERO), None);
    assert!(delay(&mut pair, Side::Server, PathId::ZERO).is_some());
    assert!(pair.client().reports_receive_times() && !pair.server().reports_receive_times());
}

#[test]
fn a_peer_that_wants_none_gets_none() {
    let settings = Settings { client: transport(), server: asking(0), ..Settings::default() };
    let mut pair = Pair::connected(settings);
    pair.write(Side::Server, 50_000);
    pair.run(Duration::from_secs(1));
    assert_eq!(delay(&mut pair, Side::Server, PathId::ZERO), None);
    assert_eq!((pair.client.closed(), pair.server.closed()), (None, None));
}

/// What reaches policies: of each acknowledgement, and of each packet.
#[derive(Default)]
struct Heard {
    acks: Vec<Option<Duration>>,
    packets: Vec<Option<Duration>>,
}

type Shared = Arc<Mutex<Heard>>;

#[derive(Debug)]
struct Listening(NewReno, std::sync::mpsc::Sender<Option<Duration>>);

impl CongestionController for Listening {
    fn name(&self) -> &'static str {
        "listening"
    }

    fn on_ack(&mut self, ack: &Ack, siblings: &Siblings<'_>) {
        let _ = self.1.send(ack.one_way_delay);
        self.0.on_ack(ack, siblings);
    }

    fn on_loss(&mut self, loss: &Loss, siblings: &Siblings<'_>) {
        self.0.on_loss(loss, siblings);
    }

    fn on_max_datagram_size(&mut self, bytes: u16) {
        self.0.on_max_datagram_size(bytes);
    }

    fn window(&self) -> u64 {
        self.0.window()
    }
}

struct Listener(Shared);

impl Agent for Listener {
    fn interests(&self) -> Interests {
        Interests::ACKED
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut hawser_policy::Commands) {
        if let Event::Acked(report) = event {
            self.0.lock().unwrap().packets.push(report.one_way_delay);
        }
    }
}

#[test]
fn controllers_hear_of_every_acknowledgement_and_agents_of_every_packet() {
    let heard = Shared::default();
    let (sender, receiver) = std::sync::mpsc::channel();
    let policies = {
        let heard = heard.clone();
        move |_: &SetInit| {
            let sender = sender.clone();
            PolicySet::new(
                Box::new(MinRtt),
                Arc::new(move |init: &ControllerInit| {
                    Box::new(Listening(NewReno::new(init), sender.clone())) as Box<dyn CongestionController>
                }),
                Box::new(hawser_paths::FastestReturn::default()),
            )
            .with(|set| {
                set.agent = Some(Box::new(Listener(heard.clone())));
                set.features = hawser_policy::FeatureSet::NONE;
            })
        }
    };
    let server = TransportConfig { policies: Arc::new(policies), ..asking(32) };
    let mut pair = Pair::connected(Settings { server, ..Settings::default() });
    heard.lock().unwrap().packets.clear();
    let _ = receiver.try_iter().count();
    pair.write(Side::Server, 200_000);
    pair.run(Duration::from_secs(1));
    let mut heard = std::mem::take(&mut *heard.lock().unwrap());
    heard.acks = receiver.try_iter().collect();
    assert!(heard.packets.len() > 130 && heard.acks.len() > 20, "{} packets", heard.packets.len());
    let all: Vec<_> = heard.packets.iter().chain(&heard.acks).collect();
    let first = all[0].unwrap();
    assert!(first > DELAY);
    for delay in all {
        assert!(delay.is_some_and(|delay| delay.abs_diff(first) <= RESOLUTION), "{delay:?}, not {first:?}");
    }
}

/// The mean size of the client's datagrams while a packet arrives every millisecond: acknowledgements of two each.
fn acknowledgement_size(server: TransportConfig) -> f64 {
    let mut pair = Pair::connected(Settings { server, ..Settings::default() });
    pair.run(Duration::from_secs(2));
    let (since, id) = (pair.now, pair.server().open_stream(false).unwrap());
    for _ in 0..400 {
        pair.server().write(id, &[1; 100]).unwrap();
        pair.run(Duration::from_millis(1));
    }
    let sizes: Vec<_> = pair.datagrams(Side::Client, since).map(|sent| sent.payload.len() as f64).collect();
    assert!((190..210).contains(&sizes.len()), "{} acknowledgements", sizes.len());
    sizes.iter().sum::<f64>() / sizes.len() as f64
}

#[test]
fn the_cost_is_a_dozen_bytes_per_acknowledgement() {
    let (without, with) = (acknowledgement_size(transport()), acknowledgement_size(asking(32)));
    println!("{without:.1} bytes, with timestamps {with:.1}");
    assert!((8.0..14.0).contains(&(with - without)), "{without:.1} bytes, with timestamps {with:.1}");
}
