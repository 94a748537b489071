use std::fs;
use std::process::{Command, Stdio};

use crate::measure::signal;
use crate::support::*;

#[test]
fn a_file_is_stored_and_replaced() {
    let server = Server::start(&["--allow-put"]);
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("in put.bin");
    let content = noise(5 << 20);
    fs::write(&file, &content).unwrap();
    let report = run_json(server.put(&[file.to_str().unwrap(), &server.url("/")]));
    assert_eq!((&report["status"], &report["verified"]), (&201.into(), &true.into()));
    assert!(fs::read(server.folder.path().join("in put.bin")).unwrap() == content);
    fs::write(&file, b"other").unwrap();
    let report = run_json(server.put(&[file.to_str().unwrap(), &server.url("/in put.bin")]));
    assert_eq!(report["status"], 204);
    assert_eq!(fs::read(server.folder.path().join("in put.bin")).unwrap(), b"other");
    assert_eq!(fs::read_dir(server.folder.path()).unwrap().count(), 1, "nothing temporary stays");
}

#[test]
fn what_is_not_allowed_is_refused_with_reasons() {
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("x");
    fs::write(&file, noise(3 << 20)).unwrap();
    let file = file.to_str().unwrap();
    let server = Server::start(&[]);
    let words = run_failing(server.put(&[file, &server.url("/x")]), 43);
    assert!(words.contains("--allow-put"), "{words}");
    let server = Server::start(&["--allow-put"]);
    let words = run_failing(server.put(&[file, &server.url("/none/x")]), 22);
    assert!(words.contains("409") && words.contains("does not exist"), "{words}");
    fs::create_dir(server.folder.path().join("sub")).unwrap();
    run_failing(server.put(&[file, &server.url("/sub")]), 22);
    run_failing(server.put(&[file, &server.url("/../x")]), 22);
    run_failing(server.put(&["/does/not/exist", &server.url("/x")]), 26);
    assert_eq!(fs::read_dir(server.folder.path()).unwrap().count(), 1);
}

/// A client that is stopped leaves no file. What came waits, and one that goes on sends no more than the rest; another file of
/// that name does not go on with it.
#[test]
fn an_upload_that_was_stopped_is_gone_on_with() {
    let server = Server::start(&["--allow-put"]);
    let here = tempfile::tempdir().unwrap();
    let (file, other) = (here.path().join("x"), here.path().join("other"));
    let content = noise(4 << 20);
    fs::write(&file, &content).unwrap();
    fs::write(&other, [&content[1..], b"!"].concat()).unwrap();
    let (file, other) = (file.to_str().unwrap(), other.to_str().unwrap());
    let stop_in_the_middle = |url: &str| {
        let mut client = server.put(&["-q", "--limit-rate", "1M", file, url]).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1_500));
        signal(&client, nix::sys::signal::Signal::SIGINT);
        assert_eq!(client.wait().unwrap().code(), Some(130));
        run_failing(server.get(&[url]), 44);
    };
    // A server that is slow to notice that a client has gone has nothing to go on with yet.
    let (name, first) = (0..5)
        .find_map(|attempt| {
            let name = format!("x{attempt}");
            let url = server.url(&format!("/{name}"));
            stop_in_the_middle(&url);
            let report = run_json(server.put(&["--resume", other, &url]));
            assert_eq!(report["resumed_from"], 0, "it is another file");
            let report = run_json(server.put(&["--resume", file, &url]));
            let first = report["resumed_from"].as_u64().unwrap();
            assert_eq!(
                (&report["verified"], &report["bytes"]),
                (&true.into(), &(content.len() as u64 - first).into())
            );
            (first > 0).then_some((name, first))
        })
        .expect("the server keeps what came");
    assert!((256 << 10..3 << 20).contains(&first), "{first}");
    assert!(fs::read(server.folder.path().join(&name)).unwrap() == content);
    let report = run_json(server.put(&["--resume", file, &server.url(&format!("/{name}"))]));
    assert_eq!(report["resumed_from"], 0, "what is complete is no unfinished upload");
    let left = fs::read_dir(server.folder.path()).unwrap();
    let temporary =
        left.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
    assert_eq!(temporary.count(), 0);
}

/// A disk of 1 MiB, in a mount namespace; skipped where that is not allowed.
#[test]
fn a_full_disk_of_the_server_is_said() {
    let allowed = Command::new("unshare").args(["-m", "true"]).stderr(Stdio::null()).status();
    if !allowed.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no mount namespaces here");
        return;
    }
    let (disk, state, here) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", "mount -t tmpfs -o size=1m tmpfs \"$1\" && exec \"$0\" serve \"$1\" --allow-put --json -q --listen 127.0.0.1:0 --state \"$2\""]);
    command.arg(env!("CARGO_BIN_EXE_hawser")).arg(disk.path()).arg(state.path());
    let (mut process, hello) = spawn_and_read_line(command);
    let hello: serde_json::Value = serde_json::from_str(&hello).unwrap();
    let file = here.path().join("x");
    fs::write(&file, noise(4 << 20)).unwrap();
    let url = format!("https://127.0.0.1:{}/x", hello["port"]);
    let command = hawser(["put", "--pin", hello["pin"].as_str().unwrap(), file.to_str().unwrap(), &url]);
    let output = run(command);
    process.kill().unwrap();
    process.wait().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(70), "{words}");
    assert!(words.contains("disk is full"), "{words}");
}

//= rfc9114-4.1.1-1
#[test]
fn a_file_that_is_too_long_is_refused() {
    let server = Server::start(&["--allow-put", "--max-upload", "1M"]);
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("x");
    fs::write(&file, noise(1 << 20)).unwrap();
    let file = file.to_str().unwrap();
    run_json(server.put(&[file, &server.url("/x")]));
    fs::write(file, noise((1 << 20) + 1)).unwrap();
    let words = run_failing(server.put(&[file, &server.url("/y")]), 22);
    assert!(words.contains("413") && words.contains("1.0 MiB"), "{words}");
    assert_eq!(fs::read_dir(server.folder.path()).unwrap().count(), 1);
}

/// What a killed server leaves goes when the next one starts.
#[test]
fn leftovers_of_a_killed_server_are_removed() {
    let mut server = Server::start(&["--allow-put"]);
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("x");
    fs::write(&file, noise(4 << 20)).unwrap();
    let url = server.url("/x");
    let mut client = server.put(&["-q", "--limit-rate", "1M", file.to_str().unwrap(), &url]).spawn().unwrap();
    let left = |server: &Server| fs::read_dir(server.folder.path()).unwrap().count();
    wait_until("an upload has begun", || left(&server) == 1);
    server.crash_and_restart_with(&["--allow-put"]);
    wait_until("nothing is left", || left(&server) == 0);
    client.kill().unwrap();
    client.wait().unwrap();
}

#[test]
fn what_another_program_writes_is_stored() {
    let server = Server::start(&["--allow-put"]);
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("x");
    let content = noise(3 << 20);
    fs::write(&file, &content).unwrap();
    let mut command = server.put(&["-", &server.url("/piped.bin")]);
    command.stdin(fs::File::open(&file).unwrap());
    let report = run_json(command);
    assert_eq!((&report["status"], &report["verified"]), (&201.into(), &true.into()));
    assert!(fs::read(server.folder.path().join("piped.bin")).unwrap() == content);
    let words = run_failing(server.put(&["-", &server.url("/")]), 2);
    assert!(words.contains("no file name"), "{words}");
}

#[test]
fn all_uploads_together_have_a_quota() {
    let server = Server::start(&["--allow-put", "--upload-quota", "1M"]);
    let here = tempfile::tempdir().unwrap();
    let file = |name: &str, length| {
        let path = here.path().join(name);
        fs::write(&path, noise(length)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (large, small) = (file("large", 400 << 10), file("small", 100 << 10));
    run_json(server.put(&[&large, &server.url("/x")]));
    run_json(server.put(&[&large, &server.url("/y")]));
    let words = run_failing(server.put(&[&large, &server.url("/z")]), 70);
    assert!(words.contains("507") && words.contains("--upload-quota"), "{words}");
    assert!(!server.folder.path().join("z").exists());
    // A smaller file in the place of one makes room.
    run_json(server.put(&[&small, &server.url("/x")]));
    run_json(server.put(&[&large, &server.url("/z")]));
}
