use std::fs;
use std::process::{Command, Stdio};

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

/// A killed client leaves neither the file nor half of it.
#[test]
fn half_a_file_is_not_stored() {
    let server = Server::start(&["--allow-put"]);
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("x");
    fs::write(&file, noise(4 << 20)).unwrap();
    let url = server.url("/x");
    let mut client = server.put(&["-q", "--limit-rate", "1M", file.to_str().unwrap(), &url]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1_000));
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(i32::try_from(client.id()).unwrap()),
        nix::sys::signal::Signal::SIGINT,
    )
    .unwrap();
    assert_eq!(client.wait().unwrap().code(), Some(130));
    run_failing(server.get(&[&url]), 44);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while fs::read_dir(server.folder.path()).unwrap().count() > 0 {
        assert!(std::time::Instant::now() < deadline, "the temporary file stays");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
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
