//! The examples, run.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// An example, which cargo builds with the tests.
fn example(name: &str) -> Command {
    let deps = std::env::current_exe().expect("a test is a file");
    let folder: PathBuf =
        deps.ancestors().nth(2).expect("tests lie below the target folder").join("examples");
    let program = folder.join(name);
    assert!(program.exists(), "cargo build -p hawser --examples makes {}", program.display());
    Command::new(program)
}

/// Ends a process with its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn printed(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it prints text")
}

#[test]
fn a_line_comes_back_from_the_echo_server() {
    let mut command = example("echo");
    command.args(["serve", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = Ended(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (address, pin) = line.trim().split_once(' ').unwrap();
    for text in ["hello", "once more"] {
        assert_eq!(printed(example("echo").args(["send", address, pin, text])), format!("{text}\n"));
    }
    let another_pin = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let refused = example("echo").args(["send", address, another_pin, "hello"]).output().unwrap();
    assert!(!refused.status.success());
    let mut errors = BufReader::new(server.0.stderr.take().unwrap()).lines();
    assert!(
        errors.any(|line| line.unwrap().contains("certificate is not acceptable")),
        "a failed handshake is printed"
    );
}

#[test]
fn sockets_interfaces_and_certificates_come_from_the_program() {
    let said = printed(&mut example("own_parts"));
    assert_eq!(said, "over two sockets, 2 paths\nthe client showed 1 certificate\n");
}
