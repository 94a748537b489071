//! The store under crashes, draws, samples, ids, and what a report makes of records.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use hawser_link::Direction;
use proptest::prelude::*;

use super::*;
use crate::data::statistics::Spread;

/// A disk that fails from an operation on as if the power had gone, and may bring back what was removed last. Clones are the
/// same disk.
#[derive(Clone, Debug, Default)]
struct Flaky(Rc<RefCell<Content>>);

#[derive(Debug, Default)]
struct Content {
    files: BTreeMap<String, Vec<u8>>,
    /// Removed last; may come back with a crash.
    removed: Option<(String, Vec<u8>)>,
    /// Operations that still work.
    left: Option<u32>,
    /// How often all files were looked at.
    looked: Cell<u32>,
}

impl Content {
    fn step(&mut self) -> io::Result<()> {
        match &mut self.left {
            Some(0) => Err(io::Error::other("no power")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Flaky {
    fn fail_after(&self, operations: u32) {
        self.0.borrow_mut().left = Some(operations);
    }

    fn restart(&self, comes_back: bool) {
        let mut content = self.0.borrow_mut();
        content.left = None;
        if let Some((name, bytes)) = content.removed.take().filter(|_| comes_back) {
            content.files.insert(name, bytes);
        }
    }

    fn insert(&self, name: impl Into<String>, bytes: &[u8]) {
        self.0.borrow_mut().files.insert(name.into(), bytes.to_vec());
    }
}

fn missing() -> io::Error {
    io::ErrorKind::NotFound.into()
}

impl Disk for Flaky {
    fn files(&self) -> io::Result<Vec<(String, u64)>> {
        let content = self.0.borrow();
        content.looked.set(content.looked.get() + 1);
        Ok(content.files.iter().map(|(name, bytes)| (name.clone(), bytes.len() as u64)).collect())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.0.borrow().files.get(name).cloned().ok_or_else(missing)
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut content = self.0.borrow_mut();
        if let Err(error) = content.step() {
            // What `write_file` was killed at.
            content.files.insert(format!(".{name}.hawser-new-0"), bytes[..bytes.len() / 2].to_vec());
            return Err(error);
        }
        content.files.insert(name.to_owned(), bytes.to_vec());
        // It brings the folder to the disk as well.
        content.removed = None;
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let mut content = self.0.borrow_mut();
        content.step()?;
        let bytes = content.files.remove(from).ok_or_else(missing)?;
        content.files.insert(to.to_owned(), bytes);
        Ok(())
    }

    fn put_aside(&mut self, name: &str, suffix: &str) -> io::Result<String> {
        let aside = format!("{name}.{suffix}");
        self.rename(name, &aside)?;
        Ok(aside)
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        let mut content = self.0.borrow_mut();
        content.step()?;
        let bytes = content.files.remove(name).ok_or_else(missing)?;
        content.removed = Some((name.to_owned(), bytes));
        Ok(())
    }
}

const UNLIMITED: u64 = u64::MAX / 2;

fn configuration() -> Configuration {
    Configuration { controller: "cubic".into(), direction: Direction::Up, flows: 1 }
}

fn session(id: RecordId, run: RunId) -> Session {
    Session {
        id,
        run,
        interface: "wlan0".into(),
        address: "192.0.2.7".into(),
        association: 0,
        attempt: 0,
        present_at_start: false,
        unix: 1.7e9,
        run_ms: 0.0,
        configuration: configuration(),
        server: "198.51.100.1:4435".into(),
        first_packet_ms: Some(3.0),
        last_packet_ms: Some(9_999.0),
        address_down_ms: Some(10_000.0),
        stopped_ms: 10_001.0,
        ok: true,
        end: Ending::AddressGone,
        error: None,
        flows: Vec::new(),
        radio: None,
        position: None,
        dropped: 0,
    }
}

fn open(disk: Flaky, run: u64) -> Opened<Flaky> {
    Store::open(disk, UNLIMITED, RunId(run)).unwrap()
}

/// What a program does with its store.
#[derive(Clone, Debug)]
enum Act {
    /// A session: so many drafts, then the record.
    Measure(u8),
    /// Offers all records; the server's word of every n-th is lost on its way.
    Upload(u8),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![(0..4u8).prop_map(Act::Measure), (1..5u8).prop_map(Act::Upload)]
}

/// The two ends, and what must hold of them.
struct World {
    server: Store<Flaky>,
    /// Ids of which the client was told that they are on its disk.
    promised: Vec<RecordId>,
}

impl World {
    /// Until the power goes.
    fn live(&mut self, store: &mut Store<Flaky>, run: u64, acts: &[Act]) {
        let mut number = store.next_number();
        for act in acts {
            match act {
                Act::Measure(drafts) => {
                    let id = RecordId::new(number, RunId(run));
                    number += 1;
                    let mut record = session(id.clone(), RunId(run));
                    for written in 0..*drafts {
                        record.stopped_ms = f64::from(written);
                        if store.draft("wlan0", &Record::Session(record.clone())).is_ok() {
                            self.promised.push(id.clone());
                        }
                    }
                    record.stopped_ms = 10_001.0;
                    if matches!(store.finish_draft("wlan0", &Record::Session(record)), Put::Stored) {
                        self.promised.push(id);
                    } else {
                        // It is dropped, and said so; or the power is gone.
                        return;
                    }
                }
                Act::Upload(lost) => self.upload(store, usize::from(*lost)),
            }
        }
    }

    fn upload(&mut self, store: &mut Store<Flaky>, lost: usize) {
        for (index, id) in store.waiting().unwrap().into_iter().enumerate() {
            let Some(line) = store.read(&id).unwrap() else { continue };
            let put = self.server.put(&Record::read(&line).unwrap());
            assert!(matches!(put, Put::Stored | Put::Known), "{put:?}");
            if index % lost != lost - 1 {
                let _ = store.remove(&id, line.len());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever is promised reaches the server, once, wherever the power goes.
    #[test]
    fn nothing_is_lost_and_nothing_is_there_twice(
        lives in prop::collection::vec(
            (prop::collection::vec(act(), 1..8), 0..40u32, any::<bool>()), 1..5)
    ) {
        let server = open(Flaky::default(), 999).store;
        let mut world = World { server, promised: Vec::new() };
        let disk = Flaky::default();
        for (run, (acts, power, comes_back)) in lives.into_iter().enumerate() {
            let run = run as u64;
            disk.fail_after(power);
            // The power may go while it recovers from the last time.
            if let Ok(opened) = Store::open(disk.clone(), UNLIMITED, RunId(run)) {
                let mut store = opened.store;
                world.live(&mut store, run, &acts);
            }
            disk.restart(comes_back);
        }
        let mut store = open(disk, 77).store;
        for _ in 0..2 {
            world.upload(&mut store, usize::MAX);
        }
        prop_assert!(store.waiting().unwrap().is_empty());
        prop_assert!(store.take_set_aside().is_empty());
        let arrived = world.server.waiting().unwrap();
        let mut once = arrived.clone();
        once.dedup();
        prop_assert_eq!(&once, &arrived, "ids are names: there is one file of each");
        for id in &world.promised {
            prop_assert!(arrived.contains(id), "{} was promised", id);
        }
    }

    #[test]
    fn samples_keep_every_byte_in_bounded_space(ticks in prop::collection::vec((0..2000u64, 0..3u64), 1..6000)) {
        let mut samples = Samples::default();
        let mut totals = Totals::default();
        for (bytes, lost) in &ticks {
            totals.bytes += bytes;
            totals.packets_sent += 2;
            totals.packets_lost = (totals.packets_lost + lost).saturating_sub(1);
            samples.push(totals);
        }
        prop_assert_eq!(samples.bytes.iter().sum::<u64>(), totals.bytes);
        prop_assert_eq!(samples.packets_sent.iter().sum::<u64>(), totals.packets_sent);
        prop_assert_eq!(samples.packets_lost.iter().sum::<i64>(), totals.packets_lost as i64);
        prop_assert!(samples.bytes.len() <= 1200);
        let covered = samples.bytes.len() as u64 * u64::from(samples.interval_ms);
        let length = ticks.len() as u64 * 100;
        prop_assert!((length..length + u64::from(samples.interval_ms)).contains(&covered));
    }

    #[test]
    fn only_ids_are_ids(text in "[0-9a-f./-]{0,40}") {
        if let Ok(id) = text.parse::<RecordId>() {
            prop_assert_eq!(id.to_string(), text);
            prop_assert_eq!(id.to_string().len(), 27);
            prop_assert!(!id.to_string().contains(['/', '.']));
        }
    }
}

#[test]
fn a_full_store_keeps_the_oldest_and_counts_the_rest() {
    let run = RunId(5);
    let length = Record::Session(session(RecordId::new(0, run), run)).line().len() as u64;
    let limit = 2 * super::store::cost(length);
    let disk = Flaky::default();
    let mut store = Store::open(disk.clone(), limit, run).unwrap().store;
    let put = |store: &mut Store<Flaky>| {
        let id = RecordId::new(store.next_number(), run);
        (id.clone(), store.put(&Record::Session(session(id, run))))
    };
    let kept: Vec<RecordId> = (0..2).map(|_| put(&mut store).0).collect();
    assert!(matches!(put(&mut store).1, Put::NoRoom));
    assert_eq!((store.waiting().unwrap(), store.dropped()), (kept.clone(), 1));
    let mut store = Store::open(disk.clone(), limit, run).unwrap().store;
    assert_eq!(store.dropped(), 1, "counted over restarts");
    // Another program takes one away.
    Store::visit(disk).remove(&kept[0], 0).unwrap();
    assert!(matches!(put(&mut store).1, Put::Stored));
    assert!(matches!(put(&mut store).1, Put::NoRoom));
    store.remove(&kept[1], length as usize).unwrap();
    assert!(matches!(put(&mut store).1, Put::Stored));
}

/// What strangers upload costs a file each, and a full store looks seldom whether others have made room.
#[test]
fn a_flood_of_small_records_fills_the_limit_and_then_costs_little() {
    let (run, theirs) = (RunId(5), RunId(6));
    let disk = Flaky::default();
    let mut store = Store::open(disk.clone(), 1_000 * (4 << 10), run).unwrap().store;
    let record = |number| {
        let id = RecordId::new(number, theirs);
        Record::Track(Track { id, run: theirs, fixes: Vec::new(), distance_m: 0.0 })
    };
    let stored = (0..3_000).filter(|number| matches!(store.put(&record(*number)), Put::Stored)).count();
    assert!((900..1_000).contains(&stored), "{stored}");
    assert!(store.is_full() && store.dropped() == 3_000 - stored as u64);
    let looked = disk.0.borrow().looked.get();
    assert!(looked < 50, "{looked}");
    Store::visit(disk).remove(store.waiting().unwrap().first().unwrap(), 0).unwrap();
    store.recount();
    assert!(!store.is_full() && matches!(store.put(&record(5_000)), Put::Stored));
}

#[test]
fn what_cannot_be_read_is_kept_aside_and_the_rest_goes_on() {
    let run = RunId(6);
    let disk = Flaky::default();
    let mut store = open(disk.clone(), 6).store;
    let ids: Vec<RecordId> = (0..2).map(|number| RecordId::new(number, run)).collect();
    for id in &ids {
        assert!(matches!(store.put(&Record::Session(session(id.clone(), run))), Put::Stored));
    }
    disk.insert(format!("{}.jsonl", ids[0]), b"{\"kind\":\"session\",\0\0\0");
    disk.insert("state", b"\0\0");
    disk.insert("wlan0.draft", b"{");
    let mut opened = open(disk, 7);
    assert_eq!(opened.recovered, 0);
    let store = &mut opened.store;
    assert!(store.read(&ids[0]).unwrap().is_none() && store.read(&ids[1]).unwrap().is_some());
    let aside = store.take_set_aside();
    let expected = ["state.corrupt", "wlan0.draft.corrupt", &format!("{}.jsonl.corrupt", ids[0])];
    assert_eq!(aside, expected);
    assert!(store.take_set_aside().is_empty(), "said once");
    assert_eq!(store.next_number(), 2, "numbers go on");
}

#[test]
fn a_session_that_was_killed_becomes_a_record() {
    let run = RunId(8);
    let disk = Flaky::default();
    let mut store = open(disk.clone(), 8).store;
    let mut record = session(RecordId::new(store.next_number(), run), run);
    record.end = Ending::Interrupted;
    store.draft("wlan0", &Record::Session(record.clone())).unwrap();
    let mut opened = open(disk, 9);
    assert_eq!(opened.recovered, 1);
    let line = opened.store.read(&record.id).unwrap().unwrap();
    assert_eq!(Record::read(&line).unwrap(), Record::Session(record));
}

#[test]
fn draws_are_uniform_independent_and_repeat() {
    let pool = Pool {
        controllers: vec!["bbr".into(), "cubic".into()],
        directions: vec![Direction::Up, Direction::Down],
        flows: vec![1, 2, 4, 8, 16],
    };
    let draws: Vec<Configuration> = (0..4000).map(|number| pool.draw(7, number)).collect();
    assert_eq!(draws[17], pool.draw(7, 17));
    let mut cells: BTreeMap<(String, bool, u32), u32> = BTreeMap::new();
    for draw in &draws {
        *cells.entry((draw.controller.clone(), draw.direction == Direction::Up, draw.flows)).or_default() +=
            1;
    }
    let expected = 4000.0 / 20.0;
    let chi_square: f64 = cells.values().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
    // 19 degrees of freedom: 36.19 is exceeded with a probability of 1 %.
    assert!(cells.len() == 20 && chi_square < 36.19, "{chi_square}");
}

/// Three associations of an interface: an upload of 10 s, a hole of 5 s, a download of 20 s that the server saw, a hole of
/// 30 s, and an address without transport.
fn drive() -> Records {
    let run = RunId(1);
    let flow = |connected: Option<f64>, measured: Measured| Flow {
        index: 0,
        began_ms: 1.0,
        connected_ms: connected,
        measured,
    };
    let steady = |rtt: &[f64], bytes: u64| {
        let mut samples = Samples::default();
        for (step, rtt) in (1..).zip(rtt) {
            let totals =
                Totals { bytes: step * bytes, packets_sent: step, packets_lost: 0, rtt_ms: Some(*rtt) };
            samples.push(totals);
        }
        samples
    };
    let sender = |acked, lost, samples| Measured {
        acked_bytes: Some(acked),
        packets_sent: 1000,
        packets_lost: lost,
        samples,
        ..Measured::default()
    };
    let receiver = |bytes| Measured { received_bytes: Some(bytes), ..Measured::default() };
    let with_radio = |point: &str, latitude: f64, mut session: Session| {
        session.radio = Some(Radio { point: Some(point.into()), first_dbm: Some(-60.0), ..Radio::default() });
        session.position = Some(Position {
            fixes: 2,
            latitude,
            longitude: 11.0,
            distance_m: 100.0,
            speed_mps: Some(10.0),
            bounds: [latitude, 11.0, latitude + 0.001, 11.0],
        });
        session
    };
    let first = Session {
        flows: vec![flow(Some(51.0), sender(10_000_000, 10, steady(&[20.0; 40], 1000)))],
        ..session(RecordId::new(1, run), run)
    };
    let mut second = Session {
        run_ms: 15_000.0,
        association: 1,
        address_down_ms: Some(20_000.0),
        flows: vec![flow(Some(101.0), receiver(50_000_000))],
        ..session(RecordId::new(2, run), run)
    };
    second.configuration.direction = Direction::Down;
    let third = Session {
        run_ms: 65_000.0,
        association: 2,
        address_down_ms: Some(1_000.0),
        ok: false,
        flows: vec![flow(None, Measured::default())],
        dropped: 3,
        ..session(RecordId::new(3, run), run)
    };
    let server_flow = |number, session: &Session, measured| ServerFlow {
        id: RecordId::new(number, RunId(2)),
        session: session.id.clone(),
        index: 0,
        configuration: session.configuration.clone(),
        unix: 1.7e9,
        length_ms: 1.0,
        client: "192.0.2.7:1".into(),
        measured,
    };
    let mut rtts = vec![10.0; 20];
    rtts.extend([200.0; 20]);
    let flows = [
        server_flow(1, &first, receiver(10_050_000)),
        server_flow(2, &second, sender(50_000_000, 100, steady(&rtts, 5000))),
    ];
    let sessions = vec![with_radio("a", 44.0, first), with_radio("a", 44.002, second), third];
    let server_flows =
        flows.into_iter().map(|flow| ((flow.session.clone(), flow.index), vec![flow])).collect();
    Records { sessions, server_flows, ..Records::default() }
}

#[test]
fn a_report_has_the_metrics_of_the_thesis() {
    let report = Report::of(&drive());
    let group = &report.groups[0];
    assert_eq!((report.runs, report.dropped, report.groups.len()), (1, 3, 1));
    assert_eq!((group.associations, group.sessions, group.connected, group.access_points), (3, 3, 2, 1));
    let close = |found: f64, expected: f64| {
        assert!((found - expected).abs() < 1e-6 * expected.abs(), "{found} {expected}")
    };
    let mean = |spread: &Option<Spread>| spread.as_ref().unwrap().mean;
    close(mean(&group.address_s), (10.0 + 20.0 + 1.0) / 3.0);
    close(mean(&group.address_hole_s), (5.0 + 30.0) / 2.0);
    close(mean(&group.session_hole_s), 5.0);
    close(mean(&group.first_answer_s), (0.051 + 0.101) / 2.0);
    close(mean(&group.uploaded_mb), 10.05);
    close(mean(&group.downloaded_mb), 50.0);
    close(group.volumes_differ.unwrap(), 60_050_000.0 / 60_000_000.0 - 1.0);
    close(report.hours, 75_001.0 / 3.6e6);
    // Acknowledged bits from the first connect call (1 ms) to the end of the address.
    let up = report.goodput.iter().find(|row| row.direction == Direction::Up).unwrap();
    close(up.mbps.mean, 80.0 / 9.999);
    // The box around both: 0.003 degrees of latitude.
    close(mean(&group.coverage_m), 0.003_f64.to_radians() * 6_371_008.8);
    let fractions = group.fractions;
    assert_eq!(fractions.flows, 2, "one from the client, one from the server");
    assert_eq!((fractions.rtt_varies, fractions.loss_above_5_percent), (Some(0.5), Some(0.5)));
    assert_eq!(fractions.throughput_varies, Some(0.0));
    assert_eq!(group.correlations, [None; 4], "two pairs are too few");
    let page = report.html();
    assert!(
        page.contains("3 records were dropped")
            && page.contains("<svg")
            && page.contains("Life of an address")
    );
}

/// Anyone who reaches a server can add records that say anything.
#[test]
fn forged_records_cost_a_report_no_more_than_their_number() {
    let run = RunId(7);
    let most = u64::MAX;
    let samples = |interval_ms: u32| {
        let text = format!(
            r#"{{"interval_ms":{interval_ms},"bytes":[{most},{most}],"packets_sent":[],"packets_lost":[],"rtt_ms":[1e308]}}"#
        );
        serde_json::from_str::<Samples>(&text).unwrap()
    };
    let flow = |index, interval_ms| Flow {
        index,
        began_ms: -1e308,
        connected_ms: Some(1e308),
        measured: Measured {
            received_bytes: Some(most),
            acked_bytes: Some(most),
            packets_sent: most,
            packets_lost: most,
            min_rtt_ms: None,
            samples: samples(interval_ms),
        },
    };
    let forged = |number: u64| Session {
        interface: format!("<script>{number}</script>"),
        configuration: Configuration { controller: "<img src=x>".into(), ..configuration() },
        run_ms: if number.is_multiple_of(2) { 1e308 } else { -1e308 },
        stopped_ms: 1.7e308,
        address_down_ms: Some(1e308),
        flows: vec![flow(0, 0), flow(1, u32::MAX), flow(0, 500)],
        dropped: most,
        ..session(RecordId::new(number, run), run)
    };
    let mut records = Records { sessions: (0..2_000).map(forged).collect(), ..Records::default() };
    records.sessions.extend(drive().sessions);
    let report = Report::of(&records);
    let own = report.groups.iter().find(|group| group.name == "wlan0").unwrap();
    assert_eq!(own.sessions, 3, "with the most sessions it is among the rows");
    assert_eq!((report.groups.len(), report.interfaces_left_out), (33, 1_969));
    let page = report.html();
    assert!(page.contains("1969 further interfaces with fewer sessions"));
    assert!(!page.contains("<script>") && !page.contains("<img"), "names are text");
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(sessions_table(&records, &folder.path().join("x.csv")).unwrap().rows, 2_003);
}

#[test]
fn records_are_read_once_from_any_places() {
    let folder = tempfile::tempdir().unwrap();
    let all = drive().into_records();
    for record in &all {
        std::fs::write(folder.path().join(format!("{}.jsonl", record.id())), record.line()).unwrap();
    }
    let file = folder.path().join("all.jsonl");
    let mut text: Vec<u8> = all.iter().flat_map(Record::line).collect();
    text.extend(b"{}\n");
    std::fs::write(&file, text).unwrap();
    let records = Records::read(&[folder.path().to_owned(), file.clone()]).unwrap();
    assert_eq!(records.unreadable, [(file.clone(), all.len() + 1), (file, all.len() + 1)]);
    let table = folder.path().join("sessions.parquet");
    assert_eq!(sessions_table(&records, &table).unwrap().rows, 3);
    let table = crate::data::table::read_table(&table).unwrap();
    assert_eq!(table.numbers("acked_bytes").unwrap(), [Some(1e7), Some(5e7), None]);
    let lines = |records: &[Record]| records.iter().map(Record::line).collect::<Vec<_>>();
    assert_eq!(lines(&records.into_records()), lines(&all));
    let nothing = tempfile::tempdir().unwrap();
    let error = Records::read(&[nothing.path().to_owned()]).unwrap_err().to_string();
    assert!(error.contains("no records in"), "{error}");
}
