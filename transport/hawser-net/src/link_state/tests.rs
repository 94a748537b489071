use std::fs::File;
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use hawser_policy::{AttachmentPoint, HandOver, Rate};
use nix::sys::stat::Mode;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn link(id: u32, name: &str, address: &str) -> LinkInfo {
    LinkInfo::new(LinkId(id), name.to_owned(), vec![address.parse::<IpAddr>().unwrap()])
}

fn links() -> Vec<LinkInfo> {
    vec![link(0, "wwan0", "198.51.100.7"), link(1, "wlan0", "192.0.2.5")]
}

/// A place for a source, and an observer of it that knows the links.
fn watch() -> (tempfile::TempDir, PathBuf, LinkStateFile) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("links");
    let mut file = LinkStateFile::new(&path);
    file.on_links(&links());
    (folder, path, file)
}

fn append(path: &Path, text: &str) {
    let mut file = File::options().create(true).append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn line(name: &str, uplink: u64) -> String {
    format!("{{\"link\":\"{name}\",\"uplink\":{{\"bps\":{uplink}}}}}\n")
}

fn uplink(file: &mut LinkStateFile, now: Time, link: u32) -> Option<u64> {
    file.observe(now, LinkId(link))?.uplink.capacity.map(Rate::bits_per_second)
}

fn at(millis: u64) -> Time {
    Time::from_millis(millis)
}

#[test]
fn a_line_says_all_that_a_link_state_has() {
    let (_folder, path, mut file) = watch();
    append(
        &path,
        concat!(
            r#"{"link":"wwan0","up":true,"uplink":{"bps":12e6,"loss":0.01,"delay_ms":18.5},"#,
            r#""downlink":{"bps":60000000},"signal":{"dbm":-97,"snr_db":11.5},"attached_to":{"cell":27447297},"#,
            r#""hand_over":{"in_ms":800,"to":{"satellite":44713},"interruption_ms":60},"#,
            r#""candidates":[{"point":{"access_point":"02:00:5E:10:00:01"},"signal":{"dbm":-60}}],"#,
            r#""position":[1,2,3.5],"forecasts":[{"in_ms":1000,"up":false},{"in_ms":500,"uplink":{"bps":1e6}}]}"#,
            "\n"
        ),
    );
    let now = at(5_000);
    let state = file.observe(now, LinkId(0)).unwrap();
    assert!(state.is_up);
    assert_eq!(state.uplink.capacity, Some(Rate::from_megabits_per_second(12)));
    assert_eq!((state.uplink.loss, state.uplink.delay), (Some(0.01), Some(Duration::from_micros(18_500))));
    assert_eq!(state.downlink.capacity, Some(Rate::from_megabits_per_second(60)));
    assert_eq!((state.downlink.loss, state.downlink.delay), (None, None));
    assert_eq!((state.signal.strength_dbm, state.signal.snr_db), (Some(-97.0), Some(11.5)));
    assert_eq!(state.attached_to, Some(AttachmentPoint::Cell(27_447_297)));
    let hand_over = state.hand_over.unwrap();
    assert_eq!(hand_over.to, Some(AttachmentPoint::Satellite(44_713)));
    assert_eq!(hand_over.interruption, Some(Duration::from_millis(60)));
    assert_eq!(state.candidates[0].point, AttachmentPoint::AccessPoint([2, 0, 0x5e, 0x10, 0, 1]));
    assert_eq!(state.candidates[0].signal.strength_dbm, Some(-60.0));
    assert_eq!(state.position, Some([1.0, 2.0, 3.5]));
    // The file is as old as its last change, a moment.
    let forecasts = file.forecasts(now, LinkId(0));
    let times: Vec<_> = forecasts.iter().map(|forecast| forecast.at.since(now)).collect();
    assert!(
        times[0] <= SECOND / 2 && times[0] > SECOND / 4 && times[1] - times[0] == SECOND / 2,
        "{times:?}"
    );
    assert_eq!(forecasts[0].state.uplink.capacity, Some(Rate::from_megabits_per_second(1)));
    assert!(!forecasts[1].state.is_up);
    // Steps: what is expected in half a second holds until the next forecast.
    let between = file.forecast(now, LinkId(0), now + SECOND * 3 / 4).unwrap();
    assert_eq!(between.state, forecasts[0].state);
    assert_eq!(file.forecast(now, LinkId(0), now + SECOND / 8), None);
    // What was to come has come.
    assert_eq!(file.observe(at(6_000), LinkId(0)).unwrap().hand_over, None::<HandOver>);
    assert_eq!(file.forecasts(at(6_001), LinkId(0)), []);
}

#[test]
fn the_newest_line_of_a_link_counts_and_addresses_are_names_too() {
    let (_folder, path, mut file) = watch();
    append(&path, &format!("{}{}{}", line("wwan0", 1), line("198.51.100.7", 2), line("unknown0", 3)));
    assert_eq!(uplink(&mut file, at(100), 0), Some(2));
    assert_eq!(uplink(&mut file, at(100), 1), None, "nobody spoke of it");
    append(&path, &line("wlan0", 4));
    assert_eq!(uplink(&mut file, at(100), 1), None, "it is looked at once for each time");
    assert_eq!(uplink(&mut file, at(200), 1), Some(4));
}

#[test]
fn a_wrong_line_is_ignored_and_said_to_be_wrong() {
    let wrong = [
        ("{\"link\":\"a\"", "EOF while parsing an object (column 11)"),
        ("{}", "missing field `link` (column 2)"),
        ("{\"link\":\"a\",\"rssi\":-80}", "unknown field `rssi`"),
        ("{\"link\":\"a\",\"uplink\":{\"loss\":2}}", "expected 0 to 1 for `loss`, found 2"),
        ("{\"link\":\"a\",\"uplink\":{\"bps\":-1}}", "expected 0 to 10^15 bit/s for `bps`, found -1"),
        ("{\"link\":\"a\",\"downlink\":{\"delay_ms\":1e300}}", "for `delay_ms`"),
        ("{\"link\":\"a\",\"time\":-5}", "expected seconds since 1970 for `time`, found -5"),
        ("{\"link\":\"a\",\"signal\":{\"dbm\":1e9}}", "expected -300 to 300 for `dbm`"),
        ("{\"link\":\"a\",\"attached_to\":{\"access_point\":\"02:00\"}}", "`02:00` is no access point"),
        ("{\"link\":\"a\",\"attached_to\":{\"tower\":1}}", "unknown variant `tower`"),
        ("\u{1}\u{2}", "expected value"),
    ];
    for (text, reason) in wrong {
        let reading = record::Reading { now: at(0), unix: SECOND, age: Duration::ZERO };
        let error = record::Record::read(text.as_bytes(), reading).unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
    let forecasts = vec!["{\"in_ms\":1}"; 17].join(",");
    let candidates = vec!["{\"point\":{\"cell\":1}}"; 17].join(",");
    let (_folder, path, mut file) = watch();
    append(&path, &format!("{{\"link\":\"wwan0\",\"forecasts\":[{forecasts}]}}\n"));
    append(&path, &format!("{{\"link\":\"wwan0\",\"candidates\":[{candidates}]}}\n\n"));
    append(&path, &format!("{}\n{}", "x".repeat(40_000), line("wwan0", 7)));
    assert_eq!(uplink(&mut file, at(100), 0), Some(7), "what follows is read");
    assert_eq!(file.ignored_lines(), 3, "an empty line is none");
}

#[test]
fn what_is_too_old_is_forgotten() {
    let (_folder, path, mut file) = watch();
    append(&path, &line("wwan0", 1));
    append(&path, "{\"link\":\"wlan0\",\"uplink\":{\"bps\":2},\"valid_ms\":60000}\n");
    let seen = |file: &mut LinkStateFile, millis| [0, 1].map(|link| uplink(file, at(millis), link));
    assert_eq!(seen(&mut file, 1_000), [Some(1), Some(2)]);
    assert_eq!(seen(&mut file, 10_000), [Some(1), Some(2)]);
    assert_eq!(seen(&mut file, 11_001), [None, Some(2)], "ten seconds unless it says otherwise");
    assert_eq!(seen(&mut file, 61_001), [None, None]);
    // A line may say when it was written, by the machine's clock.
    let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64();
    for (age, known) in [(8.0, Some(5)), (11.0, None)] {
        append(&path, &format!("{{\"link\":\"wwan0\",\"uplink\":{{\"bps\":5}},\"time\":{}}}\n", unix - age));
        assert_eq!(uplink(&mut file, at(70_000 + age as u64), 0), known);
        assert_eq!(uplink(&mut file, at(75_000 + age as u64), 0), None);
    }
}

#[test]
fn a_file_left_over_from_yesterday_says_nothing_until_it_is_written() {
    let (_folder, path, mut file) = watch();
    append(&path, &line("wwan0", 1));
    File::options().append(true).open(&path).unwrap().set_modified(SystemTime::now() - 20 * SECOND).unwrap();
    assert_eq!(uplink(&mut file, at(100_000), 0), None);
    append(&path, &line("wwan0", 2));
    assert_eq!(uplink(&mut file, at(100_100), 0), Some(2));
}

#[test]
fn a_file_may_come_late_be_replaced_or_be_written_anew() {
    let (folder, path, mut file) = watch();
    assert_eq!(uplink(&mut file, at(0), 0), None);
    append(&path, &line("wwan0", 1));
    assert_eq!(uplink(&mut file, at(900), 0), None, "it is looked for once a second");
    assert_eq!(uplink(&mut file, at(1_000), 0), Some(1));
    let other = folder.path().join("other");
    append(&other, &line("wwan0", 2));
    std::fs::rename(&other, &path).unwrap();
    assert_eq!(uplink(&mut file, at(2_000), 0), Some(2));
    // As long as before: only the time of the change tells.
    std::thread::sleep(Duration::from_millis(20));
    std::fs::write(&path, line("wwan0", 3)).unwrap();
    assert_eq!(uplink(&mut file, at(3_000), 0), Some(3));
    std::fs::write(&path, "").unwrap();
    assert_eq!(uplink(&mut file, at(3_100), 0), Some(3));
    append(&path, &line("wwan0", 4));
    assert_eq!(uplink(&mut file, at(3_200), 0), Some(4));
}

#[test]
fn of_a_long_log_the_end_is_read() {
    let (_folder, path, mut file) = watch();
    append(&path, &line("wlan0", 9));
    append(&path, &line("wwan0", 1).repeat(20_000));
    append(&path, &line("wwan0", 2));
    assert_eq!(uplink(&mut file, at(100), 0), Some(2));
    assert_eq!((uplink(&mut file, at(100), 1), file.ignored_lines()), (None, 0));
}

#[test]
fn a_fifo_may_have_one_writer_after_the_other() {
    let (_folder, path, mut file) = watch();
    nix::unistd::mkfifo(&path, Mode::S_IRWXU).unwrap();
    assert_eq!(uplink(&mut file, at(0), 0), None);
    let mut writer = File::options().write(true).open(&path).unwrap();
    assert_eq!(uplink(&mut file, at(100), 0), None, "it does not wait");
    writer.write_all(line("wwan0", 1).as_bytes()).unwrap();
    assert_eq!(uplink(&mut file, at(200), 0), Some(1));
    writer.write_all(b"{\"link\":\"wwan0\",\"uplink\"").unwrap();
    assert_eq!(uplink(&mut file, at(300), 0), Some(1));
    writer.write_all(b":{\"bps\":2}}").unwrap();
    drop(writer);
    assert_eq!(uplink(&mut file, at(400), 0), Some(2), "its last line has no end");
    let mut writer = File::options().write(true).open(&path).unwrap();
    writer.write_all(line("wwan0", 3).as_bytes()).unwrap();
    assert_eq!(uplink(&mut file, at(500), 0), Some(3));
    assert_eq!(file.ignored_lines(), 0);
}

#[test]
fn a_socket_is_connected_to_again() {
    let (_folder, path, mut file) = watch();
    let server = UnixListener::bind(&path).unwrap();
    assert_eq!(uplink(&mut file, at(0), 0), None);
    let (mut writer, _) = server.accept().unwrap();
    writer.write_all(line("wwan0", 1).as_bytes()).unwrap();
    assert_eq!(uplink(&mut file, at(100), 0), Some(1));
    drop(writer);
    assert_eq!(uplink(&mut file, at(200), 0), Some(1));
    assert_eq!(uplink(&mut file, at(1_200), 0), Some(1));
    let (mut writer, _) = server.accept().unwrap();
    writer.write_all(line("wwan0", 2).as_bytes()).unwrap();
    assert_eq!(uplink(&mut file, at(1_300), 0), Some(2));
    // The program behind it restarts.
    drop((writer, server));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(uplink(&mut file, at(2_400), 0), Some(2));
    let server = UnixListener::bind(&path).unwrap();
    assert_eq!(uplink(&mut file, at(3_500), 0), Some(2));
    let (mut writer, _) = server.accept().unwrap();
    writer.write_all(line("wwan0", 3).as_bytes()).unwrap();
    assert_eq!(uplink(&mut file, at(3_600), 0), Some(3));
}

/// Says of each link what the test put there.
#[derive(Clone, Default)]
struct Scripted(Arc<Mutex<Vec<(LinkId, LinkState)>>>);

impl Scripted {
    fn say(&self, states: Vec<(LinkId, LinkState)>) {
        *self.0.lock().unwrap() = states;
    }
}

impl LinkObserver for Scripted {
    fn observe(&mut self, _: Time, link: LinkId) -> Option<LinkState> {
        let script = self.0.lock().unwrap();
        script.iter().find(|(id, _)| *id == link).map(|(_, state)| state.clone())
    }

    fn forecast(&mut self, _: Time, _: LinkId, _: Time) -> Option<Forecast> {
        None
    }
}

#[test]
fn connections_hear_of_what_changed_and_once_of_what_is_not_known_any_more() {
    let script = Scripted::default();
    let mut observer = Observer::new(script.clone());
    let down = LinkState::default().with(|state| state.is_up = false);
    assert_eq!(observer.ask(at(0), links()), []);
    script.say(vec![(LinkId(1), down.clone()), (LinkId(7), down.clone())]);
    let news = observer.ask(at(100), links());
    assert_eq!(
        news.iter().map(|item| (item.link, item.state.clone())).collect::<Vec<_>>(),
        [(LinkId(1), down.clone())]
    );
    assert_eq!(observer.ask(at(200), links()), []);
    script.say(Vec::new());
    let news = observer.ask(at(300), links());
    assert_eq!(news[0].state, LinkState::default());
    assert_eq!(observer.ask(at(400), links()), []);
    // A link that went and comes back is reported again.
    script.say(vec![(LinkId(1), down)]);
    assert_eq!(observer.ask(at(500), links()).len(), 1);
    assert_eq!(observer.ask(at(600), vec![links().remove(0)]), []);
    assert_eq!(observer.ask(at(700), links()).len(), 1);
}
