//! Programs in C: the example is compiled, linked against both libraries, and moves a file.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// The newest library of this name next to the test program, which is where Cargo puts what a test needs.
fn library(extension: &str) -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let files = fs::read_dir(program.parent().unwrap()).unwrap().map(|file| file.unwrap().path());
    let named = files.filter(|file| {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("libhawser_ffi") && file.extension().is_some_and(|found| found == extension)
    });
    named.max_by_key(|file| fs::metadata(file).unwrap().modified().unwrap()).unwrap()
}

fn succeeded(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn compile(compiler: &str, library: &Path, program: &Path) {
    let output = Command::new(compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-o"])
        .arg(program)
        .arg(format!("-I{HERE}/include"))
        .arg(format!("{HERE}/examples/file.c"))
        .arg(library)
        .args(["-lpthread", "-ldl", "-lm"])
        .output();
    succeeded(&output.unwrap());
}

fn is_there(compiler: &str) -> bool {
    Command::new(compiler).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Compiles the example, and moves a file with it over two links.
fn moves_a_file(compiler: &str, extension: &str) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("file");
    let library = library(extension);
    compile(compiler, &library, &program);
    let (from, to) = (folder.path().join("in"), folder.path().join("out"));
    let content: Vec<u8> =
        (0..3_000_000_u32).map(|place| (place.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(&from, &content).unwrap();
    let output = Command::new(&program)
        .arg("both")
        .args([&from, &to])
        .env("LD_LIBRARY_PATH", library.parent().unwrap())
        .output();
    let said = succeeded(&output.unwrap());
    assert!(fs::read(&to).unwrap() == content, "the file arrived as another");
    let paths: Vec<&str> = said.lines().filter(|line| line.starts_with("path ")).collect();
    assert_eq!(paths.len(), 2, "{said}");
    for path in paths {
        let sent: u64 = path.split_whitespace().nth(6).unwrap().parse().unwrap();
        assert!(sent > 10_000, "a path carried nothing of the file: {said}");
    }
}

#[test]
fn a_program_in_c_moves_a_file_over_two_links() {
    moves_a_file("cc", "a");
    moves_a_file("cc", "so");
}

#[test]
fn clang_compiles_the_example_where_it_is_installed() {
    if is_there("clang") {
        moves_a_file("clang", "so");
    }
}

#[test]
fn the_header_declares_each_function_of_the_library() {
    let header = fs::read_to_string(format!("{HERE}/include/hawser.h")).unwrap();
    let exported: BTreeSet<String> = fs::read_dir(format!("{HERE}/src"))
        .unwrap()
        .flat_map(|file| names(&fs::read_to_string(file.unwrap().path()).unwrap(), "extern \"C\" fn "))
        .collect();
    let declared: BTreeSet<String> = header
        .split("hawser_")
        .skip(1)
        .filter_map(|rest| rest.split_once('(').filter(|(name, _)| is_name(name)))
        .map(|(name, _)| format!("hawser_{name}"))
        .collect();
    assert_eq!(declared, exported, "`make ffi` writes the header");
    assert!(exported.len() > 30, "{exported:?}");
}

fn names(text: &str, before: &str) -> Vec<String> {
    let found = text.split(before).skip(1).filter_map(|rest| rest.split_once('(')).map(|(name, _)| name);
    found.filter(|name| name.starts_with("hawser_") && is_name(name)).map(str::to_owned).collect()
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}
