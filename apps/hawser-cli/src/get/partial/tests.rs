use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn version() -> Version {
    Version { etag: Some("\"1\"".into()), last_modified: None }
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

/// An attempt that broke off after these bytes.
fn interrupted(target: &Path, bytes: &[u8]) -> PathBuf {
    let mut partial = Partial::open(target, false).unwrap();
    partial.truncate(0).unwrap();
    partial.set_version(version()).unwrap();
    partial.writer().unwrap().write_all(bytes).unwrap();
    partial.path().to_owned()
}

/// The whole file, got from its beginning.
fn got(target: &Path, bytes: &[u8]) {
    let mut partial = Partial::open(target, false).unwrap();
    partial.truncate(0).unwrap();
    partial.writer().unwrap().write_all(bytes).unwrap();
    partial.complete(true).unwrap();
}

#[test]
fn a_part_is_kept_and_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("x");
    assert_eq!(interrupted(&target, b"half"), folder.path().join("x.part"));
    assert!(!target.exists());
    let mut second = Partial::open(&target, true).unwrap();
    assert_eq!((second.length(), second.version()), (4, &version()));
    second.truncate(4).unwrap();
    second.writer().unwrap().write_all(b" done").unwrap();
    second.complete(true).unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"half done");
    assert_eq!(count(folder.path()), 1);
}

#[test]
fn an_attempt_that_gets_no_answer_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("x");
    interrupted(&target, b"half");
    let without_resuming = Partial::open(&target, false).unwrap();
    assert_eq!(without_resuming.length(), 0);
    drop(without_resuming);
    assert_eq!(Partial::open(&target, true).unwrap().length(), 4);
}

#[test]
fn only_one_writes_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("x");
    let first = Partial::open(&target, false).unwrap();
    first.writer().unwrap().write_all(b"half").unwrap();
    let refused = Partial::open(&target, false).unwrap_err();
    assert!(refused.message.contains("another process"), "{refused}");
    drop(first);
    assert_eq!(Partial::open(&target, true).unwrap().length(), 4, "the other one spoiled nothing");
}

#[test]
fn nothing_is_left_of_nothing() {
    let folder = tempfile::tempdir().unwrap();
    drop(Partial::open(&folder.path().join("x"), false).unwrap());
    assert_eq!(count(folder.path()), 0);
}

#[test]
fn a_file_of_another_program_is_gone_on_with_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("x");
    fs::write(&target, b"beginning").unwrap();
    let partial = Partial::open(&target, true).unwrap();
    assert_eq!((partial.length(), partial.path()), (9, target.as_path()));
}

/// Neither when the rest turns out to be of another file, nor when the server sends all of it.
#[test]
fn a_file_that_is_no_beginning_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("x");
    fs::write(&target, b"precious").unwrap();
    let mut partial = Partial::open(&target, true).unwrap();
    partial.truncate(8).unwrap();
    partial.writer().unwrap().write_all(b" and more").unwrap();
    partial.discard();
    drop(partial);
    assert_eq!(fs::read(&target).unwrap(), b"precious");
    let mut partial = Partial::open(&target, true).unwrap();
    partial.truncate(0).unwrap();
    partial.writer().unwrap().write_all(b"new").unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"precious", "until the new one is complete");
    partial.complete(true).unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"new");
}

#[test]
fn files_of_the_user_with_the_names_of_drafts_stay() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("x");
    for name in ["x.part", "x.part.json"] {
        let file = folder.path().join(name);
        fs::write(&file, b"precious").unwrap();
        got(&target, b"new");
        assert_eq!(
            (fs::read(&file).unwrap(), fs::read(&target).unwrap()),
            (b"precious".to_vec(), b"new".to_vec())
        );
        assert_eq!(count(folder.path()), 2);
        fs::remove_file(&target).unwrap();
        fs::remove_file(&file).unwrap();
    }
}

/// What another program left is copied, and judged by the digest alone.
#[test]
fn the_part_of_another_program_stays_whatever_comes_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let (target, part) = (folder.path().join("x"), folder.path().join("x.part"));
    fs::write(&part, b"half").unwrap();
    for verified in [false, true] {
        let mut partial = Partial::open(&target, true).unwrap();
        assert_eq!((partial.length(), partial.version().validator()), (4, None));
        partial.truncate(4).unwrap();
        partial.writer().unwrap().write_all(b" done").unwrap();
        assert_eq!(partial.complete(verified).is_ok(), verified, "without a digest it is not believed");
        drop(partial);
        assert_eq!(fs::read(&part).unwrap(), b"half");
        assert_eq!(count(folder.path()), 1 + usize::from(verified));
    }
    assert_eq!(fs::read(&target).unwrap(), b"half done");
}

#[test]
fn a_part_of_version_0_1_is_gone_on_with_if_its_note_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("x");
    fs::write(folder.path().join("x.part"), b"half").unwrap();
    let note = folder.path().join("x.part.json");
    for (text, is_ours) in [
        (r#"{"etag":"\"1\"","last_modified":null}"#, true),
        (r#"{"etag":null,"last_modified":null}"#, false),
        (r#"{"etag":"\"1\"","last_modified":null,"size":4}"#, false),
    ] {
        fs::write(&note, text).unwrap();
        let mut partial = Partial::open(&target, true).unwrap();
        assert_eq!((partial.length(), partial.version() == &version()), (4, is_ours), "{text}");
        assert_eq!(partial.path() == folder.path().join("x.part"), is_ours, "{text}");
        if !is_ours {
            partial.discard();
            assert_eq!(fs::read_to_string(&note).unwrap(), text);
        }
    }
}

#[test]
fn mode_and_links_of_the_target_stay() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real"), folder.path().join("link"));
    fs::write(&real, b"old").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&real, &link).unwrap();
    got(&link, b"new");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&real).unwrap(), b"new");
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(count(folder.path()), 2);
}

#[test]
fn a_target_that_appeared_stays_and_the_whole_file_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("x");
    let mut partial = Partial::open(&target, false).unwrap();
    partial.truncate(0).unwrap();
    partial.writer().unwrap().write_all(b"new").unwrap();
    fs::write(&target, b"precious").unwrap();
    let failure = partial.complete(true).unwrap_err();
    assert!(failure.message.contains("appeared") && failure.message.contains("x.part"), "{failure}");
    drop(partial);
    assert_eq!(fs::read(&target).unwrap(), b"precious");
    assert_eq!(fs::read(folder.path().join("x.part")).unwrap(), b"new");
}

#[test]
fn links_in_the_place_of_our_own_files_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (target, precious) = (folder.path().join("x"), folder.path().join("precious"));
    fs::write(&precious, b"precious").unwrap();
    for name in ["x.part", "x.part.json"] {
        let link = folder.path().join(name);
        symlink(&precious, &link).unwrap();
        for resume in [false, true] {
            let mut partial = Partial::open(&target, resume).unwrap();
            assert_eq!(
                (partial.length(), partial.path()),
                (0, folder.path().join("x.hawser.part").as_path())
            );
            partial.set_version(version()).unwrap();
        }
        fs::remove_file(&link).unwrap();
    }
    assert_eq!(fs::read(&precious).unwrap(), b"precious");
}
