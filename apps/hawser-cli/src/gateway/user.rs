//! `hawser gateway user`: who may use a gateway.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use hawser_gateway::grants::{Grants, ListenRule};
use hawser_gateway::users::UsersError;

use super::user_file;
use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;
use hawser_command::report::{Channel, print};
use hawser_command::units::{bit_rate, parse_bit_rate, parse_bytes};

/// What can be done about users.
#[derive(Subcommand, Debug)]
pub(super) enum UserCommand {
    /// Add a user, and print the key: it is kept nowhere else
    Add(Granted),
    /// Change what a user may; a gateway that runs does so within a second
    Set(Granted),
    /// Remove a user; the tunnels that are open end
    Remove(Named),
    /// List the users
    List(Place),
}

/// A user.
#[derive(Args, Debug)]
pub(super) struct Named {
    /// The user's name
    name: String,
    #[command(flatten)]
    place: Place,
}

/// A user, and what that one may.
#[derive(Args, Debug)]
pub(super) struct Granted {
    #[command(flatten)]
    named: Named,
    /// Let the user have these ports of the gateway lead to hosts of his own (`hawser forward -R`): of 127.0.0.1,
    /// of ADDR, or of all addresses (*)
    ///
    /// Repeat for more; none takes all away
    #[arg(long, value_name = "[ADDR:]PORT[-PORT][/udp]|none")]
    listen: Vec<String>,
    /// Most bits per second in each direction, of all tunnels of the user together (suffixes k, M, G); none for no limit
    #[arg(long, value_name = "RATE|none", value_parser = rate)]
    rate: Option<Limit>,
    /// Most bytes within 30 days, both directions together (suffixes k, M, G); none for no limit
    #[arg(long, value_name = "SIZE|none", value_parser = volume)]
    volume: Option<Limit>,
}

/// A limit, or none.
#[derive(Clone, Copy, Debug)]
struct Limit(Option<u64>);

fn rate(text: &str) -> Result<Limit, String> {
    limit(text, parse_bit_rate)
}

fn volume(text: &str) -> Result<Limit, String> {
    limit(text, parse_bytes)
}

fn limit(text: &str, parse: fn(&str) -> Result<u64, String>) -> Result<Limit, String> {
    match text {
        "none" => Ok(Limit(None)),
        text => match parse(text)? {
            0 => Err(
                "0 would let nothing pass: `hawser gateway user remove` does that, and none sets no limit"
                    .to_owned(),
            ),
            limit => Ok(Limit(Some(limit))),
        },
    }
}

impl Granted {
    /// What is to be changed.
    fn change(&self, grants: &mut Grants) -> Result<(), Failure> {
        match &self.listen[..] {
            [] => {}
            [none] if none == "none" => grants.listen.clear(),
            rules => {
                let rules = rules.iter().map(|rule| rule.parse::<ListenRule>());
                grants.listen = rules.collect::<Result<_, String>>().map_err(Failure::usage)?;
            }
        }
        if let Some(Limit(rate)) = self.rate {
            grants.rate = rate;
        }
        if let Some(Limit(volume)) = self.volume {
            grants.volume = volume;
        }
        Ok(())
    }
}

/// Where users are kept.
#[derive(Args, Debug)]
pub(super) struct Place {
    /// File of users. Default: gateway-users.toml in the folder of --state
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,
    /// Folder that keeps the gateway's own certificate, and the users. Default: hawser in $XDG_STATE_HOME or ~/.local/state
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

pub(super) fn run(command: UserCommand, output: Output) -> Result<(), Failure> {
    match command {
        UserCommand::Add(granted) => {
            let mut grants = Grants::default();
            granted.change(&mut grants)?;
            let Named { name, place } = granted.named;
            let file = user_file(place.users, place.state)?;
            let key = file.add_with(&name, grants).map_err(|error| failure(&error))?;
            if output.json {
                Channel::Stdout.print(&serde_json::json!({ "user": name, "key": key.secret() }));
            } else {
                print(key.secret());
            }
            output.remark(format_args!(
                "{name} may use the gateway with this key: hawser proxy --key-file FILE, or HAWSER_KEY"
            ));
        }
        UserCommand::Set(granted) => {
            let mut wanted = Grants::default();
            // Before anything is changed: whether it can be read.
            granted.change(&mut wanted)?;
            let Named { name, place } = &granted.named;
            let file = user_file(place.users.clone(), place.state.clone())?;
            let change = |grants: &mut Grants| drop(granted.change(grants));
            file.grant(name, change).map_err(|error| failure(&error))?;
            output.remark(format_args!("{name} is changed"));
        }
        UserCommand::Remove(Named { name, place }) => {
            let file = user_file(place.users, place.state)?;
            file.remove(&name).map_err(|error| failure(&error))?;
            output.remark(format_args!("{name} is removed"));
        }
        UserCommand::List(place) => {
            let file = user_file(place.users, place.state)?;
            let users = file.read().map_err(|error| failure(&error))?;
            if users.is_empty() {
                let path = file.path().display();
                output
                    .remark(format_args!("{path} has no users: hawser gateway user add NAME --users {path}"));
            }
            if output.json {
                let names: Vec<&String> = users.keys().collect();
                let grants: BTreeMap<&String, &Grants> =
                    users.iter().map(|(name, account)| (name, &account.grants)).collect();
                Channel::Stdout.print(&serde_json::json!({ "users": names, "grants": grants }));
            } else {
                users
                    .iter()
                    .for_each(|(name, account)| print(format_args!("{name}{}", words(&account.grants))));
            }
        }
    }
    Ok(())
}

/// What a user may, behind the name; nothing where nothing is said.
fn words(grants: &Grants) -> String {
    let listen = grants.listen.iter().map(|rule| format!(" --listen {rule}")).collect::<String>();
    let rate = grants.rate.map(|rate| format!(" --rate {}", bit_rate(rate as f64).replace(' ', "")));
    let volume = grants.volume.map(|volume| format!(" --volume {volume}"));
    listen + &rate.unwrap_or_default() + &volume.unwrap_or_default()
}

/// What a failure of the file of users means for the command.
pub(super) fn failure(error: &UsersError) -> Failure {
    let exit = match error {
        UsersError::Read { .. } | UsersError::Malformed { .. } => Exit::NotRead,
        UsersError::Write { .. } => Exit::NotWritten,
        UsersError::Name(_) => Exit::Usage,
        UsersError::Exists(_) | UsersError::Unknown(_) => Exit::Failure,
    };
    Failure::new(exit, error.to_string())
}
