//! Whether the kernel passes packets on from one device to another.

use std::io;

use super::sysctl::Sysctl;

/// Interfaces that are looked at.
const MOST_INTERFACES: usize = 4_096;

/// What has to change for the kernel to forward packets of a family: before and after.
pub(crate) fn changes(is_v4: bool) -> io::Result<Vec<(Sysctl, Sysctl)>> {
    let mut wanted: Vec<(String, &str)> = Vec::new();
    if is_v4 {
        wanted.push(("ipv4/ip_forward".to_owned(), "1"));
    } else {
        // A router does not listen to others, unless it is told to: this machine's own addresses and routes may come from them.
        for name in listening_interfaces()? {
            wanted.push((format!("ipv6/conf/{name}/accept_ra"), "2"));
        }
        wanted.push(("ipv6/conf/all/forwarding".to_owned(), "1"));
    }
    let mut changes = Vec::new();
    for (name, value) in wanted {
        let Some(before) = Sysctl::read(&name)? else { continue };
        if before.value != value {
            changes.push((before, Sysctl { name, value: value.to_owned() }));
        }
    }
    Ok(changes)
}

/// Interfaces that listen to router advertisements only while this machine is none.
fn listening_interfaces() -> io::Result<Vec<String>> {
    let folder = match std::fs::read_dir("/proc/sys/net/ipv6/conf") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        folder => folder?,
    };
    let mut names = Vec::new();
    for entry in folder.take(MOST_INTERFACES) {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let accepts = Sysctl::read(&format!("ipv6/conf/{name}/accept_ra"))?;
        if !matches!(name.as_str(), "all" | "default" | "lo")
            && accepts.is_some_and(|accepts| accepts.value == "1")
        {
            names.push(name);
        }
    }
    Ok(names)
}
