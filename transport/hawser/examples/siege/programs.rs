//! Attacks on programs that are no servers: by files that somebody was given, and by servers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hawser::{Endpoint, Identity, ServerConfig};

use super::Error;
use super::form::H3;
use super::program::{Ending, Program};
use super::run::{Bounds, Outcome};

/// An attack on a program that is run for it.
pub(crate) struct Trial {
    pub(crate) name: &'static str,
    /// As of forms.
    pub(crate) attacks: &'static [u8],
    pub(crate) tried: Tried,
    /// What the program may hold at most, in MiB.
    pub(crate) mebibytes: u64,
}

/// How a program is attacked.
pub(crate) enum Tried {
    /// By scenario files.
    Scenarios,
    /// By answers of a server.
    Answers,
}

impl Trial {
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds { name: self.name, micros: f64::INFINITY, mebibytes: self.mebibytes }
    }

    /// Runs the program in a folder of its own. The longest that it took stands for what a victim waits.
    pub(crate) async fn run(&self, command: &Path) -> Result<Outcome, Error> {
        let folder = std::env::temp_dir().join(format!("siege-{}-program", std::process::id()));
        fs::create_dir_all(&folder)?;
        let outcome = match self.tried {
            Tried::Scenarios => scenarios(command, &folder),
            Tried::Answers => answers(command, &folder).await,
        };
        fs::remove_dir_all(&folder)?;
        outcome
    }
}

pub(crate) const TRIALS: &[Trial] = &[
    // A recording of 256 MiB is read as a whole.
    Trial { name: "scenario files of any length", attacks: &[14], tried: Tried::Scenarios, mebibytes: 288 },
    Trial { name: "malformed answers to get", attacks: &[15], tried: Tried::Answers, mebibytes: 96 },
];

/// The longest that a program may take until it is stopped.
const PATIENCE: Duration = Duration::from_secs(20);

/// What ended as it should is only counted; what did not is wrong.
fn note(outcome: &mut Outcome, name: &str, bytes: u64, ending: &Ending) {
    outcome.packets += 1;
    outcome.bytes += bytes;
    outcome.held = outcome.held.max(ending.memory);
    outcome.waited = outcome.waited.max(ending.took);
    let problem = match ending.succeeded {
        Some(false) => return,
        Some(true) => "is taken",
        None => "does not end",
    };
    outcome.wrong.get_or_insert_with(|| format!("{name} {problem}"));
}

fn scenarios(command: &Path, folder: &Path) -> Result<Outcome, Error> {
    // Each includes the next one twice: the first stands for 2^25 of the last.
    let doubled = |number: u32| folder.join(format!("doubled{number}.toml"));
    for number in 0..26 {
        let next = format!("\"doubled{}.toml\"", number + 1);
        let text =
            if number == 25 { "version = 1\n".to_owned() } else { format!("include = [{next}, {next}]\n") };
        fs::write(doubled(number), text)?;
    }
    let including = |name: &str, file: &str| -> Result<PathBuf, Error> {
        let path = folder.join(name);
        fs::write(&path, format!("include = [\"{file}\"]\n"))?;
        Ok(path)
    };
    let cases = [
        ("a file that doubles", doubled(0)),
        ("a file that includes /dev/zero", including("zero.toml", "/dev/zero")?),
        ("a file that includes itself", including("itself.toml", "itself.toml")?),
        ("/dev/zero", PathBuf::from("/dev/zero")),
    ];
    let mut outcome = Outcome::default();
    for (name, path) in cases {
        let mut check = Command::new(command);
        let mut program = Program::start(check.args(["scenario", "check"]).arg(&path))?;
        let bytes = if name.ends_with("doubles") { 26 * 50 } else { 30 };
        note(&mut outcome, name, bytes, &program.ends(PATIENCE)?);
    }
    Ok(outcome)
}

/// HEADERS of lines that are encoded already (RFC 9204 section 4.5), with a base of zero.
fn headers(lines: &[u8]) -> Vec<u8> {
    [&[1, lines.len() as u8 + 2, 0, 0], lines].concat()
}

/// `:status: 200` of the static table.
const OK: u8 = 0xd9;

/// A line with the static table's `content-length`.
fn content_length(value: &str) -> Vec<u8> {
    [&[0x54, value.len() as u8], value.as_bytes()].concat()
}

/// Says the same to everybody who asks. Returns the port and the pin.
fn answer_with(bytes: Vec<u8>) -> Result<(u16, String), Error> {
    let identity = Identity::self_signed(&["localhost"])?;
    let pin = identity.pin()?.to_string();
    let config = ServerConfig::builder(identity).alpn([H3]).build()?;
    let endpoint = Endpoint::server(config, ([127, 0, 0, 1], 0).into())?;
    let port = endpoint.listening()[0].port();
    tokio::spawn(async move {
        let Some(incoming) = endpoint.accept().await else { return Ok(()) };
        let connection = incoming.await?;
        let mut control = connection.open_uni().await?;
        control.write_all(b"\x00\x04\x00").await?;
        while let Ok((mut send, mut receive)) = connection.accept_bi().await {
            receive.read_to_end(1 << 16).await?;
            send.write_all(&bytes).await?;
            send.finish()?;
        }
        Ok::<(), Error>(())
    });
    Ok((port, pin))
}

async fn answers(command: &Path, folder: &Path) -> Result<Outcome, Error> {
    let body = b"\x00\x04four";
    let honest = [headers(&[&[OK][..], &content_length("4")].concat()), body.to_vec()].concat();
    let lying =
        |value: &str| [headers(&[&[OK][..], &content_length(value)].concat()), body.to_vec()].concat();
    let cases = [
        ("a length above 2^64", lying("18446744073709551620")),
        (
            "two lengths",
            [headers(&[&[OK][..], &content_length("4"), &content_length("5")].concat()), body.to_vec()]
                .concat(),
        ),
        ("a length with a sign", lying("+4")),
        ("a length that is too small", lying("3")),
        ("a length that is too large", lying("5")),
        ("a status in trailers", [honest.clone(), headers(&[OK])].concat()),
        ("a frame that is cut off", [honest.clone(), b"\x00\x09five".to_vec()].concat()),
    ];
    let mut outcome = Outcome::default();
    let file = folder.join("file");
    for (name, bytes) in cases {
        let length = bytes.len() as u64;
        let ending = fetch(command, &file, bytes).await?;
        note(&mut outcome, name, length, &ending);
        if file.exists() {
            outcome.wrong.get_or_insert_with(|| format!("{name}: a file was kept"));
            fs::remove_file(&file)?;
        }
    }
    // That it is not the server as such which is refused.
    let ending = fetch(command, &file, honest).await?;
    if ending.succeeded != Some(true) || fs::read(&file)? != b"four" {
        outcome.wrong.get_or_insert_with(|| "an answer without fault is refused".to_owned());
    }
    Ok(outcome)
}

/// `hawser get` from a server that answers so.
async fn fetch(command: &Path, file: &Path, answer: Vec<u8>) -> Result<Ending, Error> {
    let (port, pin) = answer_with(answer)?;
    let mut get = Command::new(command);
    get.args(["get", "-q", "--pin", &pin, "-o"]).arg(file).arg(format!("https://127.0.0.1:{port}/x"));
    let mut program = Program::start(&mut get)?;
    tokio::task::spawn_blocking(move || program.ends(PATIENCE)).await?
}
