//! What a program writes about links changes what a scheduler does, and policies may have links attached elsewhere.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_net::policy::{
    Assignment, AttachRequest, AttachResult, AttachmentPoint, Command, Commands, Composition, ControllerInit,
    Decision, Event, Interests, LinkId, LinkInfo, PathEvent, PathId, PathState, Registry, Scheduler,
    SchedulerInit, SendView,
};
use hawser_net::{
    AttachAnswer, Connection, Endpoint, EndpointBuilder, LinkController, LinkStateFile, Pin, TransportConfig,
    policies,
};

use crate::common::*;

/// Sends on the link of which the highest rate upwards was last heard, on no other.
#[derive(Default)]
struct ByCapacity {
    capacities: BTreeMap<LinkId, u64>,
}

impl Scheduler for ByCapacity {
    fn name(&self) -> &'static str {
        "by-capacity"
    }

    fn schedule(&mut self, view: &SendView<'_>, _: &mut Commands) -> Decision {
        let capacity = |link: Option<LinkId>| link.and_then(|link| self.capacities.get(&link)).copied();
        let best = view.preferred().max_by_key(|path| capacity(path.link));
        match best.filter(|path| path.sendable() > 0) {
            Some(path) => Decision::Send(Assignment::next(path.id)),
            None => Decision::Wait(None),
        }
    }

    fn interests(&self) -> Interests {
        Interests::LINKS
    }

    fn on_event(&mut self, event: &Event<'_>, _: &mut Commands) {
        let Event::Link(update) = event else { return };
        let capacity = update.state.uplink.capacity.map_or(0, |rate| rate.bits_per_second());
        self.capacities.insert(update.link, capacity);
    }
}

fn transport(registry: &Registry, scheduler: &str) -> TransportConfig {
    let wanted =
        Composition::default().with(|composition| composition.scheduler = Some(scheduler.parse().unwrap()));
    TransportConfig::with_policies(registry.set(&wanted).unwrap())
}

fn by_capacity() -> TransportConfig {
    let mut registry = policies();
    registry.add_scheduler("by-capacity", |_: &SchedulerInit| Box::<ByCapacity>::default() as Box<_>);
    transport(&registry, "by-capacity")
}

/// The rates upwards of both links, each in a line of its own; the file is replaced as a whole.
fn write_rates(path: &Path, rates: [u64; 2]) {
    let line = |(address, rate)| format!("{{\"link\":\"{address}\",\"uplink\":{{\"bps\":{rate}}}}}\n");
    let text: String = ADDRESSES.into_iter().zip(rates).map(line).collect();
    let new = path.with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(&new, path).unwrap();
}

const ADDRESSES: [&str; 2] = ["127.0.0.1", "127.0.0.2"];

async fn connect(
    server: &Endpoint,
    pin: Pin,
    transport: TransportConfig,
    builder: EndpointBuilder,
) -> Connection {
    let builder = builder.client(client_config_with(pin, transport)).links(links(&ADDRESSES));
    let connection = builder.bind().unwrap().connect(address_of(server), "localhost").await.unwrap();
    let active = || connection.paths().iter().filter(|path| path.state == PathState::Active).count();
    eventually("a path on each link", || active() == 2).await;
    connection
}

/// Uploads, and returns what each path carried of it.
async fn upload(connection: &Connection, length: usize) -> [u64; 2] {
    let sent = || [0, 1].map(|id| connection.path_stats(PathId(id)).map_or(0, |stats| stats.bytes_sent));
    let before = sent();
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    send.write_all(&pattern(length)).await.unwrap();
    send.finish().unwrap();
    receive.read_to_end(1).await.unwrap();
    let after = sent();
    [after[0] - before[0], after[1] - before[1]]
}

fn sink(server: &Endpoint) {
    serve(server, |connection| async move {
        while let Ok((mut send, mut receive)) = connection.accept_bi().await {
            while let Ok(Some(_)) = receive.read_chunk(usize::MAX).await {}
            let _ = send.finish();
            let _ = send.stopped().await;
        }
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_file_says_of_links_moves_the_traffic() {
    const LENGTH: usize = 4 << 20;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("links.jsonl");
    write_rates(&file, [1_000_000, 90_000_000]);
    let (server, pin) = server();
    sink(&server);
    let builder = Endpoint::builder().link_observer(LinkStateFile::new(&file));
    let connection = connect(&server, pin, by_capacity(), builder).await;
    // Two paths whose links are known, that of the handshake included.
    let links: Vec<_> = connection.paths().iter().map(|path| path.link).collect();
    assert_eq!(links, [Some(LinkId(0)), Some(LinkId(1))]);
    for (rates, best) in [([1_000_000, 90_000_000], 1), ([5_000_000, 4_000_000], 0), ([0, 1], 1)] {
        write_rates(&file, rates);
        // The file is read ten times a second, and found to be another one once a second.
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        let carried = upload(&connection, LENGTH).await;
        println!("{rates:?}: {carried:?}");
        assert!(carried[best] > LENGTH as u64 && carried[1 - best] < 200_000, "{rates:?}: {carried:?}");
    }
}

/// The paths for which controllers were made, and their links.
type Made = Arc<Mutex<Vec<(PathId, Option<LinkId>)>>>;

#[tokio::test]
async fn the_controller_of_every_path_knows_its_link() {
    let made: Made = Arc::default();
    let mut registry = policies();
    let notes = made.clone();
    let cubic = registry.congestion("cubic").unwrap();
    registry.add_controller("noting", move |init: &ControllerInit| {
        notes.lock().unwrap().push((init.path, init.link));
        cubic.build(init)
    });
    let wanted =
        Composition::default().with(|composition| composition.congestion = Some("noting".parse().unwrap()));
    let transport = TransportConfig::with_policies(registry.set(&wanted).unwrap());
    let (server, pin) = server();
    serve(&server, echo);
    let _connection = connect(&server, pin, transport, Endpoint::builder()).await;
    let made = made.lock().unwrap().clone();
    for id in [0, 1] {
        assert!(made.contains(&(PathId(id), Some(LinkId(id)))), "{made:?}");
    }
}

/// Asks for each link that it hears of to be attached elsewhere.
struct Restless;

const ELSEWHERE: AttachmentPoint = AttachmentPoint::AccessPoint([2, 0, 0, 0, 0, 9]);

impl Scheduler for Restless {
    fn name(&self) -> &'static str {
        "restless"
    }

    fn schedule(&mut self, view: &SendView<'_>, _: &mut Commands) -> Decision {
        let path = view.preferred().find(|path| path.sendable() > 0);
        path.map_or(Decision::Wait(None), |path| Decision::Send(Assignment::next(path.id)))
    }

    fn interests(&self) -> Interests {
        Interests::LINKS
    }

    fn on_event(&mut self, event: &Event<'_>, commands: &mut Commands) {
        if let Event::Link(update) = event {
            commands.push(Command::Attach(AttachRequest { link: update.link, to: ELSEWHERE }));
        }
    }
}

/// Has the first link attached, and forgets about the others.
struct Steward(Mutex<Vec<(String, AttachmentPoint)>>);

impl LinkController for Steward {
    fn attach(&self, link: &LinkInfo, to: AttachmentPoint, answer: AttachAnswer) {
        self.0.lock().unwrap().push((link.name.clone(), to));
        if link.id == LinkId(0) {
            answer.finish(AttachResult::Attached);
        }
    }
}

/// The reports on the wishes of a connection, by link.
async fn reports(builder: EndpointBuilder) -> (Endpoint, BTreeMap<LinkId, AttachResult>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("links.jsonl");
    let (server, pin) = server();
    serve(&server, echo);
    let mut registry = policies();
    registry.add_scheduler("restless", |_: &SchedulerInit| Box::new(Restless) as Box<_>);
    let config = client_config_with(pin, transport(&registry, "restless"));
    let builder = builder.client(config).links(links(&ADDRESSES));
    let client = builder.link_observer(LinkStateFile::new(&file)).bind().unwrap();
    let connection = client.connect(address_of(&server), "localhost").await.unwrap();
    let mut events = connection.path_events();
    write_rates(&file, [1, 2]);
    let mut reports = BTreeMap::new();
    while reports.len() < 2 {
        let event = tokio::time::timeout(Duration::from_secs(5), events.recv()).await.expect("an answer");
        if let Ok(PathEvent::Attach(report)) = event {
            assert_eq!(report.request.to, ELSEWHERE);
            reports.insert(report.request.link, report.result);
        }
    }
    (client, reports)
}

#[tokio::test]
async fn a_link_controller_is_asked_and_its_answer_is_told() {
    let steward = Arc::new(Steward(Mutex::default()));
    let (client, reports) = reports(Endpoint::builder().link_controller(steward.clone())).await;
    // An answer that never comes counts as a failure.
    let expected = [(LinkId(0), AttachResult::Attached), (LinkId(1), AttachResult::Failed)];
    assert_eq!(reports, BTreeMap::from(expected));
    let mut asked = steward.0.lock().unwrap().clone();
    asked.sort();
    asked.dedup();
    assert_eq!(asked, ADDRESSES.map(|address| (address.to_owned(), ELSEWHERE)));
    assert_eq!(client.worker_stats()[0].attachments_unsupported, 0);
}

#[tokio::test]
async fn without_a_link_controller_the_answer_is_no() {
    let (client, reports) = reports(Endpoint::builder()).await;
    let expected = [0, 1].map(|link| (LinkId(link), AttachResult::Unsupported));
    assert_eq!(reports, BTreeMap::from(expected));
    assert!(client.worker_stats()[0].attachments_unsupported >= 2);
}

/// Sends on links that are not metered.
#[derive(Default)]
struct Thrifty(Vec<LinkId>);

impl Scheduler for Thrifty {
    fn name(&self) -> &'static str {
        "thrifty"
    }

    fn schedule(&mut self, view: &SendView<'_>, _: &mut Commands) -> Decision {
        let is_free = |link: Option<LinkId>| link.is_none_or(|link| !self.0.contains(&link));
        let path = view.preferred().find(|path| path.sendable() > 0 && is_free(path.link));
        path.map_or(Decision::Wait(None), |path| Decision::Send(Assignment::next(path.id)))
    }

    fn interests(&self) -> Interests {
        Interests::LINKS
    }

    fn on_event(&mut self, event: &Event<'_>, _: &mut Commands) {
        if let Event::Link(update) = event
            && update.metered
        {
            self.0.push(update.link);
        }
    }
}

/// Nobody observes the links; what they cost is known all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn policies_hear_which_links_are_metered() {
    const LENGTH: usize = 1 << 20;
    for (position, metered) in ADDRESSES.into_iter().enumerate() {
        let (server, pin) = server();
        sink(&server);
        let mut registry = policies();
        registry.add_scheduler("thrifty", |_: &SchedulerInit| Box::<Thrifty>::default() as Box<_>);
        let builder = Endpoint::builder().metered([metered.parse().unwrap()]);
        let connection = connect(&server, pin, transport(&registry, "thrifty"), builder).await;
        // It is said within a tenth of a second.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let sent = upload(&connection, LENGTH).await;
        assert!(sent[1 - position] > LENGTH as u64 && sent[position] < 100_000, "{metered}: {sent:?}");
    }
}
