//! Scenes that play recordings.

use std::collections::BTreeMap;

use hawser_radio::{EventKind, Model, Scene};

use super::*;
use crate::files::matches;

/// Two carriers, measured down, with a handover of the second and a time without throughput of the first; 2.5 s.
const DRIVE: &str = "\
TIME_STAMP_x,DLtput_x,modified_tech_x,handover_status_x,TIME_STAMP_y,DLtput_y,modified_tech_y,handover_status_y
1000.0,20,LTE,,1000.0,8,LTE,
1000.5,30,LTE,,1000.6,,,Start
1001.0,0,LTE,,1000.7,,,End
1001.5,,,,1001.0,4,LTE,newtput
1002.0,5,LTE,,1002.0,4,LTE,
";

/// Files in memory, and which of them were read.
#[derive(Default)]
struct Memory {
    files: BTreeMap<&'static str, String>,
    is_backwards: bool,
    read: Vec<String>,
}

impl Files for Memory {
    fn read(&mut self, name: &str) -> Result<String, String> {
        self.read.push(name.to_owned());
        self.files.get(name).cloned().ok_or_else(|| format!("cannot read {name}"))
    }

    fn matching(&mut self, pattern: &str) -> Result<Vec<String>, String> {
        let found = self.files.keys().filter(|name| matches(pattern, name)).map(|name| (*name).to_owned());
        let mut found: Vec<String> = found.collect();
        if self.is_backwards {
            found.reverse();
        }
        Ok(found)
    }
}

fn memory<const N: usize>(files: [(&'static str, &str); N]) -> Memory {
    let files = files.map(|(name, text)| (name, text.to_owned()));
    Memory { files: BTreeMap::from(files), ..Memory::default() }
}

fn read(scene: &str, overrides: &[&str], files: &mut Memory) -> Result<Scenario, ScenarioError> {
    let text = format!(
        "version = 1\nduration = \"6 s\"\n[scene.drive]\n{scene}\n\
         [link.a]\nchannel = {{ scene = \"drive\", link = \"atnt\" }}\n\
         [link.b]\nchannel = {{ scene = \"drive\", link = \"verizon\" }}\n"
    );
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    Scenario::read(ReadOptions { text: &text, file: "d.toml", overrides: &overrides, files, registry: None })
}

fn refused(scene: &str, overrides: &[&str], files: &mut Memory) -> String {
    read(scene, overrides, files).expect_err("it must be refused").to_string()
}

const MODEL: &str = "model = \"two-carriers\"";

fn playing(recordings: &str) -> String {
    format!("{MODEL}\nrecordings = {recordings}")
}

#[test]
fn what_was_measured_takes_the_place_of_what_the_model_gives() {
    let scenario = read(&playing("\"drive.csv\""), &[], &mut memory([("drive.csv", DRIVE)])).unwrap();
    let generated = Model::named("two-carriers").unwrap();
    let generated = generated.profiles(6 * SECOND, derive_seed(1, "scene/drive")).unwrap();
    let [a, b] = &scenario.links[..] else { panic!("two links") };
    let rate = |link: &ScenarioLink, ms: u64| {
        let RateModel::Scheduled(rate) = &link.down.rate else { panic!("a schedule") };
        rate.value_at(ms * MILLISECOND)
    };
    // Once, and again after 2.5 s: half a second after the last sample.
    for start in [0, 2500] {
        let of = |link, times: [u64; 4]| times.map(|ms| rate(link, start + ms) / 1_000_000);
        assert_eq!(of(a, [0, 500, 1000, 2499]), [20, 30, 0, 5]);
        assert_eq!(of(b, [0, 999, 1000, 2000]), [8, 8, 4, 4]);
        for direction in [&b.up, &b.down] {
            let is_down = |ms: u64| direction.outages.is_down((start + ms) * MILLISECOND);
            assert_eq!([599, 600, 699, 700].map(is_down), [false, true, true, false], "a handover");
        }
    }
    assert_eq!(a.up.outages.next_down(0), None, "no handover was recorded, and none is invented");
    let RateModel::Scheduled(up) = &a.up.rate else { panic!("a schedule") };
    for sample in &generated[0].up {
        assert_eq!(up.value_at(sample.at), sample.rate, "upwards nothing was measured");
        assert_eq!(a.up.delay.base.value_at(sample.at), sample.delay);
    }
    for sample in &generated[0].down {
        assert_eq!(a.down.delay.base.value_at(sample.at), sample.delay, "the delay was not measured");
    }
    let profile = &b.forecasts.as_ref().unwrap().profile;
    assert_eq!((profile.count(EventKind::HandOverStart), profile.count(EventKind::HandOverEnd)), (3, 3));
    assert_eq!(b.marks[1], (600 * MILLISECOND, "handover start, cell 1".to_owned()));
    // Foreseen is an average of the recording, without the handover.
    let foreseen: Vec<_> = profile.forecast.down.iter().map(|sample| sample.rate / 1_000_000).collect();
    assert!(foreseen[0] == 8 && foreseen.iter().all(|rate| (4..=8).contains(rate)), "{foreseen:?}");
    assert!(profile.forecast.down.iter().all(|sample| sample.up));
    let source = scenario.scenes[0].to_string();
    let expected = "scene drive: recording drive.csv over two-carriers; repeats after 2.500 s; \
                    not recorded, so generated: rate up, delay, loss";
    assert_eq!(source, expected);
}

#[test]
fn the_seed_chooses_one_of_the_files_and_only_that_is_read() {
    let other = |rate: &str| DRIVE.replace(",20,", rate);
    let texts = [",1,", ",2,", ",3,"].map(other);
    let mut files = memory([("d/1.csv", &texts[0]), ("d/2.csv", &texts[1]), ("d/3.csv", &texts[2])]);
    files.files.insert("d/readme.txt", "about the data".to_owned());
    let scene = playing("{ files = \"d/*.csv\", otherwise = \"generate\" }");
    let mut played = BTreeMap::new();
    for seed in 1..=120 {
        let seed = format!("seed={seed}");
        files.is_backwards = false;
        let first = read(&scene, &[&seed], &mut files).unwrap();
        files.is_backwards = true;
        assert_eq!(read(&scene, &[&seed], &mut files).unwrap(), first, "whatever the order of the folder");
        let [before, after] = &std::mem::take(&mut files.read)[..] else { panic!("one file each") };
        assert_eq!((&first.scenes[0].files[..], before), (&[after.clone()][..], after));
        *played.entry(after.clone()).or_insert(0) += 1;
    }
    assert_eq!(played.len(), 3, "{played:?}");
    assert!(played.values().all(|count| *count >= 25), "{played:?}");
    // The scene's own seed fixes it.
    let fixed = format!("{scene}\nseed = 4");
    let files_of =
        |seed: &str, files: &mut Memory| read(&fixed, &[seed], files).unwrap().scenes[0].files.clone();
    assert_eq!(files_of("seed=1", &mut files), files_of("seed=2", &mut files));
}

#[test]
fn a_window_at_random_begins_elsewhere_for_each_seed() {
    let begins = |window: &str, seed: u64| {
        let scene = playing(&format!("{{ files = \"b.csv\"{window} }}"));
        let seed = format!("seed={seed}");
        let scenario = read(&scene, &[&seed], &mut memory([("b.csv", DRIVE)])).unwrap();
        let down = |link: usize| match &scenario.links[link].down.rate {
            RateModel::Scheduled(rate) => rate.value_at(0) / 1_000_000,
            other => panic!("{other:?}"),
        };
        ([down(0), down(1)], scenario.scenes[0].to_string())
    };
    let start = begins("", 1).0;
    assert!((1..20).all(|seed| begins(", window = \"start\"", seed).0 == start));
    let mut seen: Vec<_> = (1..40).map(|seed| begins(", window = \"random\"", seed).0).collect();
    assert_eq!(begins(", window = \"random\"", 3), begins(", window = \"random\"", 3));
    assert!(begins(", window = \"random\"", 3).1.contains(" s on; repeats after"));
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() > 2 && seen.contains(&start), "{seen:?}");
}

#[test]
fn without_the_files_the_model_generates_and_says_so() {
    let plain = read(MODEL, &[], &mut Memory::default()).unwrap();
    assert_eq!(plain.scenes[0].to_string(), "scene drive: generated by two-carriers");
    let scene = playing("{ files = [\"a/*.csv\", \"b.csv\"], otherwise = \"generate\" }");
    let without = read(&scene, &[], &mut Memory::default()).unwrap();
    assert_eq!(without.links, plain.links);
    let expected = "scene drive: generated by two-carriers; no recording is there: a/*.csv, b.csv";
    assert_eq!(without.scenes[0].to_string(), expected);
    assert_eq!(without.scenes[0].kind, SourceKind::Model);
    let mut files = memory([("b.csv", DRIVE)]);
    assert_eq!(read(&scene, &[], &mut files).unwrap().scenes[0].kind, SourceKind::Recording);
    let none = read(&scene, &["scene.drive.recordings=none"], &mut files).unwrap();
    assert_eq!((none.links, none.scenes), (plain.links, plain.scenes));
}

#[test]
fn only_what_is_written_as_optional_may_be_missing() {
    let optional = playing("{ files = \"a.csv\", otherwise = \"generate\" }");
    let mut files = memory([("b.csv", DRIVE)]);
    for (scene, overrides, expected) in [
        (playing("\"a.csv\""), &[][..], "d.toml:5: scene.drive.recordings: there is no file a.csv"),
        (
            playing("[\"b.csv\", \"a.csv\"]"),
            &[],
            "d.toml:5: scene.drive.recordings[1]: there is no file a.csv",
        ),
        (playing("{ files = \"x/*\" }"), &[], "d.toml:5: scene.drive.recordings.files: there is no file x/*"),
        (
            optional.clone(),
            &["scene.drive.recordings=c.csv"],
            "--set scene.drive.recordings=c.csv: scene.drive.recordings: there is no file c.csv",
        ),
        (
            optional.clone(),
            &["scene.drive.recordings.files=c.csv"],
            "--set scene.drive.recordings.files=c.csv: scene.drive.recordings.files: there is no file c.csv",
        ),
    ] {
        assert_eq!(refused(&scene, overrides, &mut files), expected);
    }
    let both = "scene.drive.recordings={ files = 'c.csv', otherwise = 'generate' }";
    assert!(read(&optional, &[both], &mut files).is_ok());
    assert!(read(&optional, &["scene.drive.recordings=b.csv"], &mut files).is_ok());
}

#[test]
fn mistakes_name_the_file_and_the_line() {
    let damaged = DRIVE.replacen(",30,", ",fast,", 1);
    let single = "ul_Mbps,dl_Mbps,ul_ms,dl_ms,ul_loss,dl_loss,t_ms\n1,2,3,4,0,0,0\n";
    let mut files =
        memory([("damaged.csv", &damaged), ("one.csv", single), ("empty.csv", ""), ("b.csv", DRIVE)]);
    for (recordings, expected) in [
        (
            "{ files = \"damaged.csv\", otherwise = \"generate\" }",
            "d.toml:5: scene.drive.recordings: damaged.csv:3: the throughput in Mbit/s is \"fast\"; expected a number",
        ),
        ("\"empty.csv\"", "recordings: empty.csv is empty"),
        (
            "\"one.csv\"",
            "recordings: one.csv: it is about the links one; those of the scene are atnt, verizon",
        ),
        ("\"*/b.csv\"", "recordings: only the last part of a name may have *"),
        ("[]", "expected at least one file"),
        ("5", "expected a string in quotes, found integer"),
        ("[5]", "recordings[0]: expected a string in quotes"),
        ("{ otherwise = \"generate\" }", "the field `files` is missing"),
        ("{ files = \"b.csv\", otherwise = \"guess\" }", "allowed: \"fail\", \"generate\""),
        (
            "{ files = \"b.csv\", links = 2 }",
            "unknown field; allowed here: direction, files, interval, otherwise, window",
        ),
        (
            "[[\"b.csv\", \"delay.txt\"]]",
            "recordings[0][1]: there is no file delay.txt, which completes b.csv",
        ),
        ("[[\"*.csv\"]]", "recordings[0][0]: 4 files match"),
    ] {
        let message = refused(&playing(recordings), &[], &mut files);
        assert!(message.contains(expected), "{recordings}: {message}");
    }
    let brief = memory([("short.down", "1\n")]);
    let text = "version = 1\nduration = \"20 h\"\n[scene.dish]\nmodel = \"starlink-slots\"\n\
                recordings = \"short.down\"\n[link.leo]\nchannel = \"dish\"\n";
    let options = ReadOptions { text, file: "d.toml", overrides: &[], files: &mut { brief }, registry: None };
    let message = Scenario::read(options).unwrap_err().to_string();
    assert!(message.contains("it has 72000000 steps; at most 10000000 can be played"), "{message}");
}

#[test]
fn several_files_make_one_recording_of_one_direction() {
    // 8 chances in 20 ms, of which 6 in the first half; a delay every 10 ms.
    let rate = "1\n2\n3\n4\n5\n10\n15\n20\n";
    let mut files = memory([("bw_x.txt", rate), ("delay_x.txt", "30\n40\n")]);
    let text = "version = 1\nduration = \"1 s\"\n[scene.dish]\nmodel = \"starlink-slots\"\n\
                recordings = { files = [[\"bw_x.txt\", \"delay_x.txt\"]], direction = \"down\", otherwise = \"generate\" }\n\
                [link.leo]\nchannel = \"dish\"\n";
    let options = ReadOptions { text, file: "d.toml", overrides: &[], files: &mut files, registry: None };
    let scenario = Scenario::read(options).unwrap();
    let link = &scenario.links[0];
    let RateModel::Scheduled(rate) = &link.down.rate else { panic!("a schedule") };
    let half = |index: u64| {
        (rate.value_at(index * 10 * MILLISECOND), link.down.delay.base.value_at(index * 10 * MILLISECOND))
    };
    assert_eq!(
        [0, 1, 98].map(half),
        [(7_200_000, 30_000_000), (2_400_000, 40_000_000), (7_200_000, 30_000_000)]
    );
    let generated =
        Model::named("starlink-slots").unwrap().profile(SECOND, derive_seed(1, "scene/dish")).unwrap();
    let RateModel::Scheduled(up) = &link.up.rate else { panic!("a schedule") };
    assert_eq!(up.value_at(0), generated.up[0].rate);
    assert!(matches!(&link.down.loss, LossModel::Series(_)), "losses are those of the model");
    assert_eq!(scenario.scenes[0].files, ["bw_x.txt", "delay_x.txt"]);
}
