//! No file of the user is lost on the way to a new one.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;

use crate::support::*;

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn files_that_are_called_like_drafts_stay() {
    let server = Server::start(&[]);
    let content = noise(100_000);
    server.add("x", &content);
    for name in ["x.part", "x.part.json", "x.partial", ".x.hawser-new-0", "x.hawser.part"] {
        let here = tempfile::tempdir().unwrap();
        fs::write(here.path().join(name), "precious").unwrap();
        for more in [&[][..], &["--parallel", "3"]] {
            let mut command = server.get(&["-q", "-O", "--output-dir"]);
            command.arg(here.path()).args(more).arg(server.url("/x"));
            assert!(run(command).status.success());
            assert_eq!(fs::read_to_string(here.path().join(name)).unwrap(), "precious", "{name}");
            assert!(fs::read(here.path().join("x")).unwrap() == content);
            assert_eq!(fs::read_dir(here.path()).unwrap().count(), 2);
            fs::remove_file(here.path().join("x")).unwrap();
        }
    }
}

#[test]
fn files_of_one_command_that_collide_are_refused_before_the_first_byte() {
    let server = Server::start(&[]);
    for name in ["x", "x.part"] {
        server.add(name, name.as_bytes());
    }
    fs::create_dir(server.folder.path().join("sub")).unwrap();
    server.add("sub/x", b"other");
    for (a, b) in [("/x", "/sub/x"), ("/x", "/x.part"), ("/x.part", "/x")] {
        let here = tempfile::tempdir().unwrap();
        let mut command = server.get(&["-O", "--output-dir"]);
        command.arg(here.path()).args([server.url(a), server.url(b)]);
        let words = run_failing(command, 2);
        assert!(words.contains("--output-dir") && words.contains(&server.url(a)), "{words}");
        assert_eq!(fs::read_dir(here.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_replaced_file_keeps_its_mode_and_its_links() {
    let server = Server::start(&[]);
    server.add("x", b"new");
    let here = tempfile::tempdir().unwrap();
    let [real, link, hard] = ["real", "link", "hard"].map(|name| here.path().join(name));
    fs::write(&real, "old").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    symlink("real", &link).unwrap();
    let get = || run(server.get(&["-q", "-o", link.to_str().unwrap(), &server.url("/x")]));
    assert!(get().status.success());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!((fs::read(&real).unwrap(), mode(&real)), (b"new".to_vec(), 0o600));
    fs::write(&real, "old").unwrap();
    fs::hard_link(&real, &hard).unwrap();
    assert!(get().status.success());
    assert_eq!((fs::read(&hard).unwrap(), mode(&hard)), (b"new".to_vec(), 0o600));
    // A link to a file that is missing makes it, as curl does.
    fs::remove_file(&real).unwrap();
    assert!(get().status.success());
    assert_eq!(fs::read(&real).unwrap(), b"new");
    assert_eq!(fs::read_dir(here.path()).unwrap().count(), 3);
}

/// Spool files, and files that are mounted into a container.
#[test]
fn a_file_that_may_be_written_in_a_folder_that_may_not_is_written_in_place() {
    let server = Server::start(&[]);
    server.add("x", b"new");
    let here = tempfile::tempdir().unwrap();
    let target = here.path().join("x");
    fs::write(&target, "something older and longer").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(here.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let command = |name: &str| {
        let mut command = server.get(&["-q", "-o", here.path().join(name).to_str().unwrap()]);
        if nix::unistd::geteuid().is_root() {
            command.uid(65_534).gid(65_534);
        }
        command
    };
    let mut missing = command("x");
    missing.arg(server.url("/missing"));
    run_failing(missing, 44);
    assert_eq!(fs::read(&target).unwrap(), b"something older and longer", "a failure costs nothing");
    let mut get = command("x");
    get.arg(server.url("/x"));
    let output = run(get);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read(&target).unwrap(), b"new");
    let mut other = command("y");
    other.arg(server.url("/x"));
    assert!(run_failing(other, 23).contains("Permission denied"));
}

#[test]
fn an_upload_follows_links_inside_the_folder_and_keeps_the_mode() {
    let server = Server::start(&["--allow-put"]);
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("new");
    fs::write(&file, "new").unwrap();
    fs::create_dir(server.folder.path().join("sub")).unwrap();
    let real = server.add("sub/real", b"old");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    let link = |name: &str, to: &str| symlink(to, server.folder.path().join(name)).unwrap();
    link("link", "sub/real");
    link("sub/up", "../sub/./real");
    link("circle", "circle");
    link("out", here.path().join("precious").to_str().unwrap());
    link("away", "../precious");
    let put = |path: &str| server.put(&["-q", file.to_str().unwrap(), &server.url(path)]);
    for path in ["/link", "/sub/up"] {
        fs::write(&real, "old").unwrap();
        let output = run(put(path));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!((fs::read(&real).unwrap(), mode(&real)), (b"new".to_vec(), 0o600));
    }
    run_failing(put("/circle"), 22);
    run_failing(put("/out"), 43);
    assert_ne!(run(put("/away")).status.code(), Some(0));
    for name in ["link", "sub/up", "circle", "out", "away"] {
        assert!(fs::symlink_metadata(server.folder.path().join(name)).unwrap().is_symlink(), "{name}");
    }
    assert_eq!(fs::read_dir(here.path()).unwrap().count(), 1, "nothing is written outside");
}

/// A variable may be left over from another program, and a file of sessions be broken: neither is a reason not to transfer.
#[test]
fn what_is_of_the_environment_or_only_improves_does_not_end_a_command() {
    let server = Server::start(&[]);
    server.add("x", b"content");
    let here = tempfile::tempdir().unwrap();
    for variable in ["SSLKEYLOGFILE", "QLOGDIR"] {
        let mut command = server.get(&["-q", &server.url("/x")]);
        command.env(variable, "/proc/none/keys");
        let output = run(command);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && words.contains(variable), "{words}");
        assert_eq!(output.stdout, b"content");
    }
    run_failing(server.get(&["--keylog", "/proc/none/keys", &server.url("/x")]), 23);
    let notes = here.path().join("notes");
    fs::write(&notes, "buy milk").unwrap();
    let output = run(server.get(&["-q", "--session-file", notes.to_str().unwrap(), &server.url("/x")]));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && words.contains("is no file of sessions"), "{words}");
    assert_eq!(fs::read_to_string(&notes).unwrap(), "buy milk");
}

#[test]
fn names_that_are_no_utf_8_are_names() {
    use std::os::unix::ffi::OsStrExt;
    let server = Server::start(&["--allow-put"]);
    let here = tempfile::tempdir().unwrap();
    let name = std::ffi::OsStr::from_bytes(b"\xff\xfe.bin");
    let mut command = server.put(&["-q"]);
    fs::write(here.path().join(name), "content").unwrap();
    command.arg(here.path().join(name)).arg(server.url("/"));
    assert!(run(command).status.success());
    assert_eq!(fs::read(server.folder.path().join(name)).unwrap(), b"content");
    fs::remove_file(here.path().join(name)).unwrap();
    let mut command = server.get(&["-q", "-O", "--output-dir"]);
    command.arg(here.path()).arg(server.url("/%ff%FE.bin"));
    assert!(run(command).status.success());
    assert_eq!(fs::read(here.path().join(name)).unwrap(), b"content");
}

#[test]
fn a_folder_without_the_slash_is_found_by_the_redirect() {
    let server = Server::start(&[]);
    fs::create_dir(server.folder.path().join("sub")).unwrap();
    server.add("sub/file", b"content");
    for more in [&[][..], &["--parallel", "2", "-o", "/dev/null"]] {
        let output = run(server.get(&[&["-q"], more, &[server.url("/sub").as_str()]].concat()));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(!more.is_empty() || String::from_utf8_lossy(&output.stdout).contains("file"));
    }
}
