//! `hawser gateway user`: who may use a gateway.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use hawser_gateway::users::UsersError;

use super::user_file;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::report::{Channel, print};

/// What can be done about users.
#[derive(Subcommand, Debug)]
pub(super) enum UserCommand {
    /// Add a user, and print the key: it is kept nowhere else
    Add(Named),
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
        UserCommand::Add(Named { name, place }) => {
            let file = user_file(place.users, place.state)?;
            let key = file.add(&name).map_err(|error| failure(&error))?;
            if output.json {
                Channel::Stdout.print(&serde_json::json!({ "user": name, "key": key.secret() }));
            } else {
                print(key.secret());
            }
            output.remark(format_args!(
                "{name} may use the gateway with this key: hawser proxy --key-file FILE, or HAWSER_KEY"
            ));
        }
        UserCommand::Remove(Named { name, place }) => {
            let file = user_file(place.users, place.state)?;
            file.remove(&name).map_err(|error| failure(&error))?;
            output.remark(format_args!("{name} is removed"));
        }
        UserCommand::List(place) => {
            let users = user_file(place.users, place.state)?.read().map_err(|error| failure(&error))?;
            if output.json {
                let names: Vec<&String> = users.keys().collect();
                Channel::Stdout.print(&serde_json::json!({ "users": names }));
            } else {
                users.keys().for_each(print);
            }
        }
    }
    Ok(())
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
