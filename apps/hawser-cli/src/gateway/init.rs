//! `hawser gateway init`: a file of options that works, and what a client needs.

use std::fs::OpenOptions;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use ipnet::IpNet;
use qrcode::QrCode;
use qrcode::render::unicode;

use super::network::DEFAULT_POOLS;
use super::{in_url, user, user_file};
use crate::config_file::quoted;
use crate::gateway_client::DEFAULT_PORT;
use hawser_command::exit::Failure;
use hawser_command::options::{listen_address, prefix};
use hawser_command::output::Output;
use hawser_command::report::{Channel, print};
use hawser_command::server::{identity, state_folder, suggested_host};

/// What a new gateway is like.
#[derive(Args, Debug)]
pub(super) struct Init {
    /// The file to write; one that is there stays. Default: gateway.toml in the folder of --state
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Folder for the gateway's certificate, its users and their addresses. Default: hawser in $XDG_STATE_HOME or ~/.local/state
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// The first user
    #[arg(long, value_name = "NAME", default_value = "me")]
    user: String,
    /// Name or address by which clients reach this machine. Default: the address with which it goes out
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// UDP address to listen on. Default: [::]:4435, or 0.0.0.0:4435 on a machine without IPv6
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address)]
    listen: Option<SocketAddr>,
    /// For `hawser proxy` and `hawser forward` only: no packets, and so no root
    #[arg(long, conflicts_with = "pool")]
    no_nat: bool,
    /// Addresses for clients, one prefix of IPv4 and one of IPv6 at most
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    pool: Vec<IpNet>,
    /// Connect to these addresses, too, although they are private; repeat for more
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    allow_egress: Vec<IpNet>,
}

/// Makes certificate, user and file, and prints what the user types.
pub(super) fn run(arguments: &Init, output: Output) -> Result<(), Failure> {
    let state = match &arguments.state {
        Some(folder) => folder.clone(),
        None => state_folder()?,
    };
    // The file is to mean the same wherever the gateway is started.
    let state = std::path::absolute(&state).unwrap_or(state);
    let file = arguments.file.clone().unwrap_or_else(|| state.join("gateway.toml"));
    // Before anything is made: all of it, or nothing.
    if file.exists() {
        return Err(Failure::usage(format!(
            "{} is there already: remove it, or name another one with --file. `hawser gateway user add NAME` adds users to a gateway",
            file.display()
        )));
    }
    let pin = identity(None, None, Some(&state))?.pin()?;
    let users = user_file(None, Some(state.clone()))?;
    let key = users.add(&arguments.user).map_err(|error| user::failure(&error))?;
    write(&file, &arguments.text(&state))?;
    let listen = arguments.listen.unwrap_or_else(|| (IpAddr::from([0_u16; 8]), DEFAULT_PORT).into());
    let host = arguments.host.clone().unwrap_or_else(|| in_url(suggested_host(&[listen])));
    let verb = if arguments.no_nat { "proxy" } else { "tunnel" };
    let command = format!("HAWSER_KEY={} hawser {verb} --pin '{pin}' {host}:{}", key.secret(), listen.port());
    let gateway = format!("hawser gateway --config {}", file.display());
    if output.json {
        Channel::Stdout.print(&serde_json::json!({
            "file": file,
            "gateway": gateway,
            "user": arguments.user,
            "key": key.secret(),
            "pin": pin.to_string(),
            "client": command,
        }));
        return Ok(());
    }
    output.remark(format_args!(
        "{} and the key of {} are written. On this machine{}:",
        file.display(),
        arguments.user,
        arguments.as_root()
    ));
    print(format_args!("  {gateway}"));
    output.remark("On the machine with the links, with the key, which is kept nowhere else:");
    print(format_args!("  {command}"));
    if let Some(code) = code(&command) {
        output.remark("The same as a picture, for a camera:");
        print(code);
    }
    Ok(())
}

impl Init {
    fn as_root(&self) -> &'static str {
        if self.no_nat { "" } else { ", as root" }
    }

    /// The file.
    fn text(&self, state: &Path) -> String {
        let list = |prefixes: &[IpNet]| {
            let prefixes: Vec<String> = prefixes.iter().map(|prefix| quoted(&prefix.to_string())).collect();
            format!("[{}]", prefixes.join(", "))
        };
        let mut text = String::from(
            "# Options of `hawser gateway`, which reads this file with --config. `hawser config show gateway` prints all there are.\n",
        );
        text += &format!(
            "\n# Certificate, users, and who has which address.\nstate = {}\n",
            quoted(&state.display().to_string())
        );
        if let Some(host) = &self.host {
            text += &format!("\n# By which clients reach this machine.\nhost = {}\n", quoted(host));
        }
        if let Some(listen) = self.listen {
            text += &format!("\nlisten = {}\n", quoted(&listen.to_string()));
        }
        if !self.no_nat {
            let defaults: Vec<IpNet> = DEFAULT_POOLS.iter().filter_map(|pool| pool.parse().ok()).collect();
            let pools = if self.pool.is_empty() { &defaults } else { &self.pool };
            text += "\n# Packets of `hawser tunnel`, hidden behind this machine's addresses.\nnat = true\n";
            text += &format!("pool = {}\n", list(pools));
        }
        if self.allow_egress.is_empty() {
            text += "\n# Private networks that clients may reach.\n#allow-egress = [\"192.168.7.0/24\"]\n";
        } else {
            text += &format!(
                "\n# Private networks that clients may reach.\nallow-egress = {}\n",
                list(&self.allow_egress)
            );
        }
        text
    }
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error| Failure::write(file, &error);
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut opened =
        OpenOptions::new().write(true).create_new(true).mode(0o644).open(file).map_err(failed)?;
    opened.write_all(text.as_bytes()).map_err(failed)
}

/// A picture of a text, of characters; `None` of one that is too long.
fn code(text: &str) -> Option<String> {
    let code = QrCode::new(text.as_bytes()).ok()?;
    // Dark on light, also where terminals are light on dark.
    let light = unicode::Dense1x2::Light;
    Some(code.render().dark_color(unicode::Dense1x2::Dark).light_color(light).build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_square_modules_in_half_lines() {
        let code = code("hawser tunnel").unwrap();
        let (lines, columns) = (code.lines().count(), code.lines().next().unwrap().chars().count());
        assert_eq!(lines, columns.div_ceil(2), "{code}");
        assert!(code.chars().all(|letter| " ▀▄█\n".contains(letter)), "{code}");
    }
}
