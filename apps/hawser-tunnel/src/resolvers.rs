//! Where programs of this machine have names looked up while a tunnel runs.
//!
//! Programs that ask systemd-resolved go on asking it, and it is told of the resolvers of the tunnel's device ([`resolved`]): no file
//! changes, and a crash leaves nothing behind. Anywhere else the file that names resolvers is another one for as long ([`resolv`]).
//!
//! [`resolved`]: crate::host::resolved
//! [`resolv`]: crate::host::resolv

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hawser_gateway::client::Say;
use tokio::sync::{Mutex, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::host::netlink::{Netlink, NetlinkError};
use crate::host::resolv::Resolv;
use crate::host::resolved::{self, Change, LinkResolvers, Resolved, ResolvedError};
use crate::host::split::Split;
use crate::host::state::{State, StateError};

/// How long programs may be without resolved before they ask others: it is back from a restart within a second or two.
const GRACE: Duration = Duration::from_secs(5);
/// How long the end of a tunnel waits for resolved; what that was told goes with the device anyway.
const FAREWELL: Duration = Duration::from_secs(2);

/// How programs come to ask the resolvers of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// They ask systemd-resolved, which is told.
    Resolved,
    /// The file names them.
    File,
}

/// What would be done, and why not otherwise.
pub enum Plan {
    /// This service is told.
    Resolved(Box<Resolved>),
    /// The file changes; with a reason where programs ask systemd-resolved nevertheless.
    File(Option<String>),
}

/// What there is to choose from.
pub struct Wanted<'a> {
    /// The file that names resolvers.
    pub file: &'a Path,
    /// Resolvers of the tunnel; perhaps none with domains.
    pub dns: &'a [IpAddr],
    /// What goes through the tunnel.
    pub split: &'a Split,
    /// Addresses that never do.
    pub direct: &'a [IpAddr],
}

impl Wanted<'_> {
    /// Chooses. Looks at this machine, and changes nothing.
    ///
    /// # Errors
    /// When the kernel does not say where routes lead.
    pub async fn plan(&self, netlink: &Netlink) -> Result<Plan, NetlinkError> {
        self.plan_with(netlink, Resolved::find()).await
    }

    async fn plan_with(
        &self,
        netlink: &Netlink,
        found: impl Future<Output = Result<Resolved, ResolvedError>>,
    ) -> Result<Plan, NetlinkError> {
        if !resolved::is_asked(self.file) {
            return Ok(Plan::File(None));
        }
        // Resolved asks over the device; what routes lead past it cannot be asked there. With domains this process asks.
        for resolver in self.dns.iter().filter(|_| self.split.domains.is_empty()) {
            if !self.leads_through(*resolver, netlink).await? {
                let why =
                    format!("{resolver} is reached past the tunnel, where systemd-resolved would not ask it");
                return Ok(Plan::File(Some(why)));
            }
        }
        let found = match found.await {
            Ok(found) => found,
            Err(error) => return Ok(Plan::File(Some(format!("systemd-resolved does not answer: {error}")))),
        };
        if self.dns.is_empty() && found.upstream().await.map_or(true, |upstream| upstream.is_empty()) {
            // Names of the domains would be asked for in a circle: here, at resolved, here.
            let why = "systemd-resolved has no resolvers of its own: --dns names one";
            return Ok(Plan::File(Some(why.to_owned())));
        }
        Ok(Plan::Resolved(Box::new(found)))
    }

    async fn leads_through(&self, resolver: IpAddr, netlink: &Netlink) -> Result<bool, NetlinkError> {
        let is_chosen =
            self.split.is_everything() || self.split.routes.iter().any(|route| route.contains(&resolver));
        Ok(is_chosen
            && !resolver.is_loopback()
            && !self.direct.contains(&resolver)
            && !netlink.has_near_route(resolver).await?)
    }
}

/// Why the resolvers cannot be others.
#[derive(Debug, thiserror::Error)]
pub enum ResolversError {
    /// The state file.
    #[error(transparent)]
    State(#[from] StateError),
    /// The file.
    #[error("cannot change {}: {source}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// What the file is to name, and what has to be undone about it.
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) names: Vec<IpAddr>,
    pub(crate) state: Arc<Mutex<State>>,
}

impl File {
    /// Has it name the resolvers of the tunnel.
    async fn take(&self) -> Result<(), ResolversError> {
        let failed = |source| ResolversError::File { path: self.path.clone(), source };
        let resolv = Resolv::read(&self.path).map_err(failed)?;
        self.state.lock().await.note_resolv(resolv.clone())?;
        resolv.replace(&self.names).map_err(failed)
    }

    /// Writes it as it was before.
    async fn restore(&self) -> Result<(), ResolversError> {
        Ok(self.state.lock().await.restore_resolv()?)
    }
}

/// The resolvers of a tunnel that runs.
pub(crate) struct Resolvers {
    pub(crate) way: Way,
    /// Who keeps resolved informed, and how that ends.
    keeper: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Resolvers {
    /// Has names looked up at the resolvers of the tunnel: by resolved, else by the file.
    pub(crate) async fn start(
        plan: Plan,
        link: LinkResolvers,
        file: File,
        say: &Say,
    ) -> Result<Self, ResolversError> {
        let why = match plan {
            Plan::Resolved(resolved) => match resolved.tell(&link).await {
                Ok(()) => {
                    let (stop, stopped) = oneshot::channel();
                    let keeper = Keeper { resolved, link, file, say: say.clone(), is_in_file: false };
                    let task = tokio::spawn(keeper.run(stopped));
                    return Ok(Resolvers { way: Way::Resolved, keeper: Some((stop, task)) });
                }
                Err(error) => Some(format!("systemd-resolved refuses the resolvers of the tunnel: {error}")),
            },
            Plan::File(why) => why,
        };
        if let Some(why) = why {
            say(&format!("{why}; {} names them instead", file.path.display()));
        }
        file.take().await?;
        Ok(Resolvers { way: Way::File, keeper: None })
    }

    /// Has resolved forget them. The state says what else has to be undone.
    pub(crate) async fn stop(self) {
        let Some((stop, mut task)) = self.keeper else { return };
        let _ = stop.send(());
        if tokio::time::timeout(FAREWELL, &mut task).await.is_err() {
            task.abort();
            let _ = task.await;
        }
    }
}

/// Keeps resolved informed for as long as a tunnel runs.
struct Keeper {
    resolved: Box<Resolved>,
    link: LinkResolvers,
    file: File,
    say: Say,
    /// Whether the file names the resolvers, too.
    is_in_file: bool,
}

impl Keeper {
    async fn run(mut self, stopped: oneshot::Receiver<()>) {
        tokio::select! {
            () = self.keep() => {}
            _ = stopped => {}
        }
        self.resolved.revert(&self.link).await;
    }

    /// Tells resolved again when it has been restarted. While it is gone longer, the file names the resolvers.
    async fn keep(&mut self) {
        let mut late = None;
        loop {
            let change = match late {
                None => Some(self.resolved.changed().await),
                Some(late) => tokio::time::timeout_at(late, self.resolved.changed()).await.ok(),
            };
            match change {
                Some(Change::Here) => {
                    late = None;
                    self.tell_again().await;
                }
                Some(Change::Gone) if self.is_in_file => {}
                Some(Change::Gone) => {
                    late = late.or_else(|| Some(Instant::now() + GRACE));
                }
                None => {
                    late = None;
                    self.take_file("systemd-resolved is gone").await;
                }
            }
        }
    }

    async fn tell_again(&mut self) {
        match self.resolved.tell(&self.link).await {
            Ok(()) => {
                tracing::info!("systemd-resolved was restarted, and told of the resolvers again");
                if self.is_in_file {
                    self.restore_file().await;
                }
            }
            Err(error) if !self.is_in_file => {
                let why = format!("systemd-resolved refuses the resolvers of the tunnel: {error}");
                self.take_file(&why).await;
            }
            Err(error) => tracing::info!(%error, "systemd-resolved refuses the resolvers of the tunnel"),
        }
    }

    async fn take_file(&mut self, why: &str) {
        let path = self.file.path.display();
        match self.file.take().await {
            Ok(()) => {
                (self.say)(&format!("{why}; {path} names the resolvers of the tunnel instead"));
                self.is_in_file = true;
            }
            Err(error) => (self.say)(&format!("{why}, and names may not be found: {error}")),
        }
    }

    async fn restore_file(&mut self) {
        match self.file.restore().await {
            Ok(()) => {
                let path = self.file.path.display();
                (self.say)(&format!(
                    "systemd-resolved is there again, and told of the resolvers; {path} is as it was"
                ));
                self.is_in_file = false;
            }
            Err(error) => (self.say)(&format!("{error}; the end of the tunnel tries again")),
        }
    }
}

#[cfg(test)]
mod tests;
