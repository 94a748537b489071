use super::*;

fn command() -> Command {
    let tunnel = Command::new("tunnel")
        .arg(Arg::new("gateway").required(true))
        .arg(
            Arg::new("dns")
                .long("dns")
                .action(ArgAction::Append)
                .value_parser(clap::value_parser!(std::net::IpAddr))
                .value_name("ADDRESS"),
        )
        .arg(
            Arg::new("no_dns")
                .long("no-dns")
                .action(ArgAction::SetTrue)
                .conflicts_with("dns")
                .help("Leave the resolvers"),
        )
        .arg(
            Arg::new("mtu")
                .long("mtu")
                .alias("packet-size")
                .value_parser(clap::value_parser!(u16))
                .default_value("1400"),
        )
        .arg(Arg::new("key_file").long("key-file"));
    with_option_for(Command::new("hawser").subcommand(tunnel).subcommand(Command::new("other")))
}

/// Only those commands are there.
fn with_option_for(command: Command) -> Command {
    add_option(command, &["tunnel"])
}

fn expanded(text: &str, words: &[&str]) -> Result<Vec<String>, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let name = file.path().display().to_string();
    let words = ["hawser", "tunnel", "--config", &name].iter().chain(words).map(OsString::from).collect();
    let expanded = expand(&command(), words).map_err(|failure| failure.message.replace(&name, "FILE"))?;
    Ok(expanded.into_iter().skip(4).map(|word| word.into_string().unwrap()).collect())
}

#[test]
fn each_key_is_an_option() {
    let text = "gateway = 'g.example'\nmtu = 1300\ndns = ['9.9.9.9', '::1']\nno-dns = false\n";
    assert_eq!(
        expanded(text, &[]),
        Ok(["g.example", "--mtu=1300", "--dns=9.9.9.9", "--dns=::1"].map(str::to_owned).to_vec())
    );
    assert_eq!(
        expanded("gateway = 'g'\npacket-size = 1300\n", &[]).unwrap(),
        ["g", "--mtu=1300"],
        "a former name"
    );
    let other: Vec<OsString> = ["hawser", "other"].map(OsString::from).to_vec();
    assert_eq!(expand(&command(), other.clone()).unwrap(), other);
}

#[test]
fn the_command_line_goes_before_the_file() {
    let text = "gateway = 'g.example'\nmtu = 1300\ndns = '9.9.9.9'\n";
    assert_eq!(
        expanded(text, &["--mtu", "1200", "--dns", "::2", "h.example"]).unwrap(),
        ["--mtu", "1200", "--dns", "::2", "h.example"]
    );
    // Options that exclude each other: the one of the command line counts.
    assert_eq!(expanded(text, &["--no-dns"]).unwrap(), ["--no-dns", "g.example", "--mtu=1300"]);
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let wrong = |text: &str| expanded(text, &["g.example"]).unwrap_err();
    assert_eq!(
        wrong("# nothing\nmtuu = 1\n"),
        "FILE:2: hawser tunnel has no option \"mtuu\" (did you mean \"mtu\"?); `hawser config show tunnel` prints all"
    );
    assert!(wrong("no_dns = true").contains("did you mean \"no-dns\"?"));
    assert!(
        wrong("\n\nmtu = 'much'").starts_with("FILE:3: invalid value 'much' for '--mtu"),
        "{}",
        wrong("mtu = 'much'")
    );
    assert_eq!(wrong("no-dns = 1"), "FILE:1: no-dns is either true or false");
    assert_eq!(wrong("mtu = true"), "FILE:1: mtu takes a value, not true or false");
    assert_eq!(wrong("mtu = [1, 2]"), "FILE:1: mtu takes one value, not a list");
    assert!(wrong("mtu = 1\nmtu = 2").starts_with("FILE:2: duplicate key"), "{}", wrong("mtu = 1\nmtu = 2"));
    assert!(wrong("[tunnel]\nmtu = 1").contains("there are no sections"));
    assert!(wrong("mtu =").starts_with("FILE:1: "));
    let missing =
        expand(&command(), ["hawser", "tunnel", "--config", "/nowhere/x"].map(OsString::from).to_vec());
    assert!(missing.unwrap_err().message.contains("/nowhere/x"));
}

#[test]
fn a_file_with_every_option_is_one_that_is_understood() {
    let below = find(&command(), &["tunnel"]).unwrap();
    let text = show::template("tunnel", &below, &[]);
    assert!(text.contains("\n# Leave the resolvers\n#no-dns = false\n"), "{text}");
    assert!(text.contains("#mtu = 1400\n") && text.contains("#dns = [\"ADDRESS\"]\n"), "{text}");
    assert_eq!(expanded(&text, &["g.example"]).unwrap(), ["g.example"]);
    let keys: Vec<&str> = text.lines().filter(|line| line.starts_with('#') && line.contains(" = ")).collect();
    let set = keys
        .iter()
        .map(|line| line.trim_start_matches('#'))
        .filter(|line| !line.contains("ADDRESS") && !line.contains("VALUE"));
    let set: Vec<&str> = set.collect();
    assert!(expanded(&set.join("\n"), &["g.example"]).is_ok(), "{set:?}");
}

#[test]
fn letters_that_differ_are_counted() {
    assert_eq!(
        (distance("mtu", "mtu"), distance("mtu", "mtuu"), distance("listen", "lisen"), distance("", "ab")),
        (0, 1, 1, 2)
    );
}
