//! A wish for the scheduler of a server: it is the end that sends when files are fetched.

use std::time::Duration;

use clap::Args;
use serde::Serialize;
use tokio::sync::watch;

use crate::exit::Failure;
use crate::options::ClientSetup;
use crate::output::Output;
use hawser::{
    Connection, EndpointBuilder, PolicyKind, PolicySpec, Registry, SchedulerAnswer, SchedulerRequestError,
};

/// How long the answer of the server is waited for.
const PATIENCE: Duration = Duration::from_secs(3);
/// What remains of the option where the server does not follow.
const ONLY_HERE: &str = "--scheduler affects only what this side sends";

/// Which schedulers a server lets its clients choose.
#[derive(Args, Clone, Debug, Default)]
pub struct AllowedSchedulers {
    /// Let clients choose this scheduler for what is sent to them (their --scheduler); repeatable, or behind commas.
    /// Default: none
    #[arg(long = "allow-scheduler", value_name = "NAME", value_delimiter = ',')]
    names: Vec<String>,
}

impl AllowedSchedulers {
    /// Allows them, if they exist.
    ///
    /// # Errors
    /// Names the schedulers that do.
    pub fn check(&self, registry: &Registry) -> Result<(), Failure> {
        self.names.iter().try_for_each(|name| {
            let spec = PolicySpec::new(name).map_err(Into::into);
            let checked = spec.and_then(|spec| registry.check(PolicyKind::Scheduler, &spec));
            checked
                .map_err(|error: hawser::PolicyError| Failure::usage(format!("--allow-scheduler: {error}")))
        })
    }

    /// An endpoint that allows them.
    pub fn apply(&self, builder: EndpointBuilder) -> EndpointBuilder {
        builder.allow_schedulers(&self.names)
    }
}

/// What a server said to a wish for its scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerScheduler {
    asked: String,
    /// Whether the server uses it; `null` where it gave no answer.
    accepted: Option<bool>,
    /// What became of it, in words.
    message: String,
}

impl ServerScheduler {
    fn new(asked: &PolicySpec, answer: Result<SchedulerAnswer, SchedulerRequestError>) -> Self {
        let (accepted, message) = match answer {
            Ok(SchedulerAnswer::Accepted(scheduler)) => {
                (Some(true), format!("the server uses {scheduler} now"))
            }
            Ok(SchedulerAnswer::Refused(reason)) => {
                (Some(false), format!("the server refused {asked}: {reason}; {ONLY_HERE}"))
            }
            Err(SchedulerRequestError::Unsupported) => {
                (None, format!("the server does not know requests for schedulers; {ONLY_HERE}"))
            }
            Err(error) => {
                (None, format!("no answer of the server to the request for {asked}: {error}; {ONLY_HERE}"))
            }
        };
        ServerScheduler { asked: asked.to_string(), accepted, message }
    }
}

/// A wish that is on its way.
#[derive(Clone, Debug)]
pub struct Wish(watch::Receiver<Option<ServerScheduler>>);

impl Wish {
    /// Asks the server for the scheduler that was chosen for this end, if one was. What is sent after this is answered with it
    /// already: nobody has to wait. What came of it is said when it is known.
    pub fn send(connection: &Connection, client: &ClientSetup, output: Output) -> Option<Self> {
        let asked = client.scheduler.clone()?;
        let answer = connection.request_scheduler(&asked);
        let (tell, told) = watch::channel(None);
        tokio::spawn(async move {
            let answer = match tokio::time::timeout(PATIENCE, answer).await {
                Ok(answer) => ServerScheduler::new(&asked, answer),
                Err(_) => ServerScheduler {
                    asked: asked.to_string(),
                    accepted: None,
                    message: format!(
                        "the server did not answer within {} s; {ONLY_HERE}",
                        PATIENCE.as_secs()
                    ),
                },
            };
            output.remark(format_args!("hawser: {}", answer.message));
            tell.send_replace(Some(answer));
        });
        Some(Wish(told))
    }

    /// What the server said.
    pub async fn answer(mut self) -> Option<ServerScheduler> {
        self.0.wait_for(Option::is_some).await.ok()?.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_told_plainly() {
        let asked: PolicySpec = "ecf".parse().expect("a name");
        let told = |answer| {
            let told = ServerScheduler::new(&asked, answer);
            (told.accepted, told.message)
        };
        assert_eq!(
            told(Ok(SchedulerAnswer::Accepted("ecf".to_owned()))),
            (Some(true), "the server uses ecf now".to_owned())
        );
        assert_eq!(
            told(Ok(SchedulerAnswer::Refused("not today".to_owned()))),
            (
                Some(false),
                "the server refused ecf: not today; --scheduler affects only what this side sends".to_owned()
            )
        );
        assert_eq!(
            told(Err(SchedulerRequestError::Unsupported)),
            (
                None,
                "the server does not know requests for schedulers; --scheduler affects only what this side sends"
                    .to_owned()
            )
        );
    }
}
