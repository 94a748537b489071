//! Uploads of clients that show a certificate (`serve --client-ca`), downloads of all others.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::Signal;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use crate::support::*;

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut parameters = CertificateParams::new(Vec::<String>::new()).unwrap();
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap()
}

/// The files of a test: authorities, certificates of clients, and what they store.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Files(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), content).unwrap();
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Writes a certificate for a client, which ends with that year, and its key. Returns the options that name them.
    fn issue(&self, name: &str, issuer: &CertifiedIssuer<'static, KeyPair>, last_year: i32) -> [String; 4] {
        let mut parameters = CertificateParams::new(vec!["client".to_owned()]).unwrap();
        parameters.not_after = rcgen::date_time_ymd(last_year, 12, 31);
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.signed_by(&key, issuer).unwrap();
        let chain = self.write(&format!("{name}.pem"), certificate.pem());
        let secret = self.write(&format!("{name}.key"), key.serialize_pem());
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        ["--client-cert".to_owned(), chain, "--client-key".to_owned(), secret]
    }
}

fn with(mut command: Command, options: &[String]) -> Command {
    command.args(options);
    command
}

fn stored(server: &Server, name: &str) -> Option<Vec<u8>> {
    fs::read(server.folder.path().join(name)).ok()
}

#[test]
fn who_has_a_certificate_stores_files_and_everybody_reads_them() {
    let (files, own) = (Files::new(), authority("own"));
    let ca = files.write("ca.pem", own.pem());
    let client = files.issue("client", &own, 2090);
    let file = files.write("file", noise(1 << 20));
    let server = Server::start(&["--allow-put", "--client-ca", &ca]);
    let url = server.url("/x");
    let words = run_failing(server.put(&[&file, &url]), 43);
    assert!(words.contains("403") && words.contains("--client-cert"), "{words}");
    assert_eq!(stored(&server, "x"), None);
    let report = run_json(with(server.put(&[&file, &url]), &client));
    assert_eq!((&report["status"], &report["verified"]), (&201.into(), &true.into()));
    assert!(stored(&server, "x").unwrap() == noise(1 << 20));
    for options in [&[][..], &client] {
        let got = files.path("got");
        let report = run_json(with(server.get(&["-o", got.to_str().unwrap(), &url]), options));
        assert_eq!(report["verified"], true);
        assert!(fs::read(&got).unwrap() == noise(1 << 20));
    }
}

#[test]
fn refused_certificates_are_said_at_both_ends() {
    let (files, own) = (Files::new(), authority("own"));
    let ca = files.write("ca.pem", own.pem());
    let (file, log) = (files.write("file", b"content"), files.path("log"));
    let server = Server::start_logging(&log, &["--allow-put", "--client-ca", &ca]);
    let url = server.url("/x");
    for (name, issuer, last_year, reason) in [
        ("expired", &own, 2020, "it has expired"),
        ("elsewhere", &authority("elsewhere"), 2090, "no authority that the server knows has signed it"),
        ("same-name", &authority("own"), 2090, "no authority that the server knows has signed it"),
    ] {
        let options = files.issue(name, issuer, last_year);
        let lines = |log: &Path| {
            let text = fs::read_to_string(log).unwrap();
            text.lines()
                .filter(|line| line.contains("certificate is refused") && line.contains(reason))
                .count()
        };
        let before = lines(&log);
        for command in [server.put(&[&file, &url]), server.get(&[&url])] {
            let words = run_failing(with(command, &options), 43);
            assert!(words.contains("refuses the client's certificate") && words.contains(reason), "{words}");
        }
        wait_until("the server has said it twice", || lines(&log) == before + 2);
    }
    assert_eq!(stored(&server, "x"), None);
}

#[test]
fn a_key_is_needed_besides_where_both_are_asked_for() {
    let (files, own) = (Files::new(), authority("own"));
    let ca = files.write("ca.pem", own.pem());
    let client = files.issue("client", &own, 2090);
    let keys = files.write("keys", "0123456789abcdef\n");
    let file = files.write("file", b"content");
    let server = Server::start(&["--allow-put", "--client-ca", &ca, "--put-key", &keys]);
    let url = server.url("/x");
    let words = run_failing(with(server.put(&[&file, &url]), &client), 43);
    assert!(words.contains("401"), "{words}");
    let words = run_failing(server.put(&["--key-file", &keys, &file, &url]), 43);
    assert!(words.contains("403"), "{words}");
    run_json(with(server.put(&["--key-file", &keys, &file, &url]), &client));
    assert_eq!(stored(&server, "x").as_deref(), Some(&b"content"[..]));
}

#[test]
fn another_authority_counts_after_a_reload() {
    let (files, first, second) = (Files::new(), authority("first"), authority("second"));
    let ca = files.write("ca.pem", first.pem());
    let (former, latter) = (files.issue("former", &first, 2090), files.issue("latter", &second, 2090));
    let file = files.write("file", b"content");
    let server = Server::start(&["--allow-put", "--client-ca", &ca]);
    let put = |options: &[String]| run(with(server.put(&[&file, &server.url("/x")]), options)).status.code();
    assert_eq!((put(&former), put(&latter)), (Some(0), Some(43)));
    files.write("ca.pem", second.pem());
    server.signal(Signal::SIGHUP);
    wait_until("the new authority counts", || put(&latter) == Some(0));
    assert_eq!(put(&former), Some(43));
}

#[test]
fn wrong_files_are_named() {
    let (files, own) = (Files::new(), authority("own"));
    let ca = files.write("ca.pem", own.pem());
    let [cert_option, cert, key_option, key] = files.issue("client", &own, 2090);
    let other = files.issue("other", &own, 2090)[3].clone();
    let file = files.write("file", b"content");
    let server = Server::start(&["--allow-put", "--client-ca", &ca]);
    let url = server.url("/x");
    let put = |options: &[&str]| server.put(&[options, &[file.as_str(), url.as_str()]].concat());
    run_failing(put(&[&cert_option, &cert]), 2);
    run_failing(put(&[&key_option, &key]), 2);
    let words = run_failing(put(&[&cert_option, &cert, &key_option, &other]), 1);
    assert!(words.contains(&other) && words.contains("is not that of the certificate"), "{words}");
    let words = run_failing(put(&[&cert_option, &file, &key_option, &key]), 26);
    assert!(words.contains(&file) && words.contains("holds no certificate"), "{words}");
    run_failing(put(&[&cert_option, "/does/not/exist", &key_option, &key]), 26);
    let sessions = files.path("sessions");
    let sessions = ["--session-file", sessions.to_str().unwrap()];
    run_failing(put(&[&[&*cert_option, &cert, &key_option, &key][..], &sessions].concat()), 2);
    // A key that others can read is used, and said.
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let output = run(put(&[&cert_option, &cert, &key_option, &key]));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && words.contains("every user of this machine can read"), "{words}");
    let state = files.path("state");
    let options = ["--listen", "127.0.0.1:0", "--state", state.to_str().unwrap(), "--allow-put"];
    let words = run_failing(hawser([&["serve", ".", "--client-ca", &file][..], &options].concat()), 26);
    assert!(words.contains(&file) && words.contains("holds no certificate"), "{words}");
    let words = run_failing(hawser(["serve", ".", "--client-ca", &ca]), 2);
    assert!(words.contains("--allow-put"), "{words}");
}
