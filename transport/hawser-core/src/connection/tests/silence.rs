//! Paths on which nothing is heard any more.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_cc::NewReno;
use hawser_policy::{
    AckFrequency, Commands, ControllerInit, Decision, Event, Interests, PathChange, PathId, PathState,
    PathStatus, Scheduler, SchedulerInit, SendView, Side, Time,
};
use hawser_sched::MinRtt;

use super::pair::{DELAY, Pair, Sent, Settings, client_address, transport, transport_with};
use crate::{Code, TransportConfig};

fn state(pair: &mut Pair, id: PathId) -> Option<PathState> {
    pair.client().paths().iter().find(|path| path.id == id).map(|path| path.state)
}

fn state_at_server(pair: &mut Pair, id: PathId) -> Option<PathState> {
    pair.server().paths().iter().find(|path| path.id == id).map(|path| path.state)
}

/// A silent path is abandoned for another one only.
//= rfc9002-6.2.4-1
#[test]
fn the_last_path_is_probed_however_long_it_is_silent() {
    let quick = || TransportConfig { suspect_path_timeout: Duration::from_secs(1), ..transport() };
    let mut pair = Pair::connected(Settings { client: quick(), server: quick(), ..Settings::default() });
    let second = pair.open(1);
    pair.lose = |sent| [sent.tuple.local, sent.tuple.remote].contains(&client_address(1));
    pair.write(Side::Client, 400_000);
    pair.run(Duration::from_millis(300));
    assert_eq!(state(&mut pair, second), Some(PathState::Suspect));
    let now = pair.now;
    pair.client().abandon_path(now, PathId::ZERO, Code::NO_ERROR).unwrap();
    pair.run(Duration::from_secs(10));
    let lately = pair.now - Duration::from_secs(3);
    assert!(pair.datagrams(Side::Client, lately).count() > 0, "still probed");
    pair.lose = |_| false;
    pair.run(Duration::from_secs(2));
    assert_eq!(state(&mut pair, second), Some(PathState::Active));
}

/// Answers to challenges that the client sends within the first seconds get lost.
fn loses_answers(sent: &Sent) -> bool {
    const PATH_RESPONSE: u8 = 0x1b;
    let first = sent.payload[0];
    let frames = 1 + 8 + usize::from(first & 3) + 1;
    sent.by.is_client()
        && sent.at < Time::from_secs(8)
        && first & 0x80 == 0
        && sent.payload.get(frames) == Some(&PATH_RESPONSE)
}

/// Challenges may get lost for long on a path over which everything else comes through.
#[test]
fn a_path_over_which_the_peer_sends_is_not_given_up_for_want_of_an_answer() {
    let mut pair = Pair::connected(Settings::default());
    pair.lose = loses_answers;
    let second = pair.open(1);
    assert_eq!(state(&mut pair, second), Some(PathState::Active), "the server answered");
    let now = pair.now;
    pair.client().set_path_status(now, PathId::ZERO, PathStatus::Backup).unwrap();
    while pair.now < Time::from_millis(7_500) {
        pair.write(Side::Client, 20_000);
        pair.run(Duration::from_millis(200));
        assert_eq!(state_at_server(&mut pair, second), Some(PathState::Validating), "at {:?}", pair.now);
    }
    pair.write(Side::Client, 20_000);
    pair.run(Duration::from_secs(4));
    assert_eq!(state_at_server(&mut pair, second), Some(PathState::Active));
}

/// The client's end of the second path, which both prefer, has fallen silent with `length` bytes under way.
fn silent_second_path(length: usize) -> (Pair, PathId) {
    let mut pair = Pair::connected(Settings::default());
    let second = pair.open(1);
    let now = pair.now;
    pair.client().set_path_status(now, PathId::ZERO, PathStatus::Backup).unwrap();
    pair.run(Duration::from_millis(200));
    pair.lose = |sent| [sent.tuple.local, sent.tuple.remote].contains(&client_address(1));
    pair.write(Side::Client, length);
    pair.run(Duration::from_millis(300));
    assert_eq!(state(&mut pair, second), Some(PathState::Suspect));
    (pair, second)
}

/// The next probe would be a second away, and its answer a round trip more. What was lost still counts as in flight until then: a
/// window that is full of it lets a probe out, and no more.
#[test]
fn a_silent_path_over_which_the_peer_is_heard_is_used_at_once() {
    for (in_flight, carries_data) in [(3_000, true), (400_000, false)] {
        let (mut pair, second) = silent_second_path(in_flight);
        pair.run(Duration::from_secs(2));
        pair.lose = |_| false;
        pair.write(Side::Server, 500);
        let began = pair.now;
        pair.run(DELAY);
        assert_eq!(state(&mut pair, second), Some(PathState::Active));
        pair.write(Side::Client, 5_000);
        pair.run(Duration::from_micros(1));
        let on_second =
            pair.datagrams(Side::Client, began).filter(|sent| sent.tuple.local == client_address(1));
        let bytes: usize = on_second.map(|sent| sent.payload.len()).sum();
        assert_eq!(bytes > 2_000, carries_data, "{bytes} bytes");
        assert!(bytes > 20, "asked whether it works");
    }
}

/// Where only one direction is broken, that the peer is heard says nothing: it is believed once.
#[test]
fn a_path_on_which_nothing_arrives_stays_silent_however_much_the_peer_sends() {
    let (mut pair, second) = silent_second_path(400_000);
    pair.lose = |sent| sent.tuple.local == client_address(1);
    for _ in 0..100 {
        pair.write(Side::Server, 500);
        pair.run(Duration::from_millis(50));
    }
    let times = |pair: &mut Pair| {
        let stats = pair.client().path_stats(second).map(|stats| stats.times_suspect);
        (stats, state(pair, second))
    };
    assert_eq!(times(&mut pair), (Some(2), Some(PathState::Suspect)));
    pair.lose = |_| false;
    pair.run(Duration::from_secs(2));
    assert_eq!(times(&mut pair), (Some(2), Some(PathState::Active)));
}

/// Links that take turns. What arrives on the one that is back is acknowledged there, and what arrived last on the one that is gone with
/// it: not the other way round, where nobody hears either.
#[test]
fn probes_of_a_link_that_is_back_are_not_acknowledged_on_the_one_that_is_gone() {
    let mut pair = Pair::connected(Settings::default());
    let second = pair.open(1);
    let now = pair.now;
    pair.client().set_path_status(now, PathId::ZERO, PathStatus::Backup).unwrap();
    pair.run(Duration::from_millis(200));
    let download = |pair: &mut Pair, steps: u32| {
        for _ in 0..steps {
            pair.write(Side::Server, 3_000);
            pair.run(Duration::from_millis(50));
            while let Some(id) = pair.client().accept_stream(false) {
                while pair.client().read_chunk(id, 1 << 16).is_ok_and(|chunk| chunk.is_some()) {}
            }
        }
    };
    for turn in 0..4 {
        pair.lose = |sent| [sent.tuple.local, sent.tuple.remote].contains(&client_address(1));
        download(&mut pair, 10);
        assert_eq!(state_at_server(&mut pair, second), Some(PathState::Suspect), "turn {turn}");
        pair.lose = |sent| [sent.tuple.local, sent.tuple.remote].contains(&client_address(0));
        download(&mut pair, 6);
        assert_eq!(state_at_server(&mut pair, second), Some(PathState::Active), "turn {turn}");
        download(&mut pair, 4);
    }
}

/// One link is gone since less than a probe timeout of its path: nothing says so yet. It may not take the answer to the other one's probe
/// along with its own acknowledgements.
#[test]
fn a_probe_is_answered_on_its_path_although_the_other_one_fell_silent_only_just_now() {
    let mut pair = Pair::connected(Settings::default());
    let second = pair.open(1);
    let now = pair.now;
    pair.client().set_path_status(now, PathId::ZERO, PathStatus::Backup).unwrap();
    pair.run(Duration::from_millis(200));
    pair.lose = |sent| [sent.tuple.local, sent.tuple.remote].contains(&client_address(1));
    for _ in 0..10 {
        pair.write(Side::Server, 3_000);
        pair.run(Duration::from_millis(50));
    }
    assert_eq!(state_at_server(&mut pair, second), Some(PathState::Suspect));
    pair.write(Side::Server, 3_000);
    pair.run(DELAY);
    pair.lose = |sent| [sent.tuple.local, sent.tuple.remote].contains(&client_address(0));
    pair.run(Duration::from_millis(20));
    pair.server().paths.get_mut(second).unwrap().probes = 1;
    pair.run(2 * DELAY);
    assert_eq!(state_at_server(&mut pair, second), Some(PathState::Active));
}

/// Whether a link is back is waited for; data that it carries may be acknowledged later.
#[test]
fn probes_of_a_silent_path_are_answered_at_once_by_a_peer_that_was_asked_to_acknowledge_late() {
    let frequency = AckFrequency {
        ack_eliciting_threshold: 50,
        max_ack_delay: Duration::from_millis(200),
        reordering_threshold: 1,
    };
    for asked in [None, Some(frequency)] {
        let client = TransportConfig { ack_frequency: asked, ..transport() };
        let mut pair = Pair::connected(Settings { client, ..Settings::default() });
        let second = pair.open(1);
        pair.run(Duration::from_secs(1));
        for _ in 0..2 {
            let now = pair.now;
            pair.client().suspect(now, second);
            pair.client().paths.get_mut(second).unwrap().probes = 1;
            pair.run(2 * DELAY);
            assert_eq!(state(&mut pair, second), Some(PathState::Active), "{asked:?}");
            pair.run(Duration::from_secs(1));
        }
    }
}

/// A peer that takes longer to acknowledge than it says makes its paths silent with every question. Where no data moves, the answer
/// to one must not bring the next.
#[test]
fn a_path_that_is_heard_again_and_again_is_asked_once_while_no_data_moves() {
    let (mut pair, second) = silent_second_path(3_000);
    pair.run(Duration::from_secs(1));
    let questions = |pair: &mut Pair| {
        let (now, client) = (pair.now, pair.client());
        client.on_heard_again(now, second);
        let path = client.paths.get_mut(second).unwrap();
        path.trusted_from = None;
        let questions = std::mem::take(&mut path.probes);
        client.suspect(now, second);
        questions
    };
    assert_eq!([(); 4].map(|()| questions(&mut pair)), [1, 0, 0, 0]);
    pair.write(Side::Client, 500);
    pair.run(Duration::from_millis(100));
    assert_eq!([(); 2].map(|()| questions(&mut pair)), [1, 0]);
}

type Changes = Arc<Mutex<Vec<(PathId, PathChange)>>>;

/// MinRTT that writes down which changes of paths it hears of.
struct Listener(MinRtt, Changes);

impl Scheduler for Listener {
    fn name(&self) -> &'static str {
        "listener"
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        self.0.schedule(view, commands)
    }

    fn interests(&self) -> Interests {
        Interests::PATHS
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        if let Event::Path { path, change, .. } = event {
            self.1.lock().unwrap().push((*path, *change));
        }
    }
}

#[test]
fn a_scheduler_hears_once_that_a_path_is_back() {
    let changes = Changes::default();
    let heard = Arc::clone(&changes);
    let scheduler =
        move |_: &SchedulerInit| Box::new(Listener(MinRtt, Arc::clone(&heard))) as Box<dyn Scheduler>;
    let controller = |init: &ControllerInit| Box::new(NewReno::new(init)) as Box<_>;
    let client = transport_with(Arc::new(scheduler), Arc::new(controller));
    let mut pair = Pair::connected(Settings { client, ..Settings::default() });
    let second = pair.open(1);
    pair.lose = |sent| [sent.tuple.local, sent.tuple.remote].contains(&client_address(1));
    pair.write(Side::Client, 400_000);
    pair.run(Duration::from_millis(300));
    pair.lose = |_| false;
    pair.run(Duration::from_secs(2));
    let of_second: Vec<_> = changes
        .lock()
        .unwrap()
        .iter()
        .filter(|(path, _)| *path == second)
        .map(|(_, change)| *change)
        .collect();
    assert_eq!(of_second, [PathChange::Established, PathChange::Suspect, PathChange::Recovered]);
}

/// When one end sent something, after all that it sent is lost.
fn probes_after_an_outage(pair: &mut Pair) -> Vec<Duration> {
    pair.lose = |_| true;
    let began = pair.now;
    pair.write(Side::Client, 500);
    pair.run(Duration::from_secs(25));
    let mut times: Vec<_> = pair.datagrams(Side::Client, began).map(|sent| sent.at).collect();
    times.dedup();
    times.windows(2).map(|pair| pair[1].since(pair[0])).collect()
}

/// RFC 9002 section 6.2.1: the timeout doubles each time, and there is no cap for it. Hawser's is for connections that may have
/// several paths.
#[test]
fn probes_of_a_connection_without_multipath_back_off_without_end() {
    let single = || TransportConfig { max_path_id: None, ..transport() };
    let mut pair = Pair::connected(Settings { client: single(), server: single(), ..Settings::default() });
    let gaps = probes_after_an_outage(&mut pair);
    let longest = gaps.iter().max().copied().unwrap_or_default();
    assert!(longest > Duration::from_secs(5), "{gaps:?}");
    for pair in gaps[2..].windows(2) {
        let factor = pair[1].as_secs_f64() / pair[0].as_secs_f64();
        assert!((1.9..2.1).contains(&factor), "{factor}: {gaps:?}");
    }
}

/// A host with one path for a moment stands in a dead zone, mostly: the only link that there is has to be found when it returns.
#[test]
fn where_multipath_is_negotiated_probes_come_every_two_seconds_at_least() {
    for paths in [1, 2] {
        let mut pair = Pair::connected(Settings::default());
        if paths == 2 {
            pair.open(1);
        }
        let gaps = probes_after_an_outage(&mut pair);
        let longest = gaps.iter().max().copied().unwrap_or_default();
        assert!(longest <= Duration::from_millis(2_010), "{paths} paths: {gaps:?}");
    }
}

/// A client that waits for the rest of something asks whether there is any, on each path: it may be that only it can tell
/// where it is now, and that this changed after an earlier answer. Each pause is twice the one before: 1, 3, 7 and 15 s after
/// the last data, and later by what an answer takes. An end that waits for nothing, and a server, send nothing.
#[test]
fn a_client_that_waits_for_the_rest_asks_more_and_more_seldom() {
    for (by, is_whole, expected) in
        [(Side::Server, false, 4), (Side::Server, true, 0), (Side::Client, false, 0)]
    {
        let mut pair = Pair::connected(Settings::default());
        pair.open(1);
        pair.run(Duration::from_secs(10));
        for _ in 0..2 {
            let id = pair.write(by, 5_000);
            pair.run(Duration::from_millis(500));
            if is_whole {
                pair.end(by).connection.as_mut().unwrap().finish(id).unwrap();
                pair.run(Duration::from_millis(500));
            }
            let receiver = if by.is_client() { Side::Server } else { Side::Client };
            let since = pair.now;
            pair.run(Duration::from_secs(20));
            let asked = pair.datagrams(receiver, since).count();
            assert_eq!(asked, 2 * expected, "{by:?}, {is_whole}: on two paths");
        }
    }
}
