//! An interface, its addresses one after the other, and the sessions of each.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use hawser_lab::data::measure::Ending;
use tokio::sync::mpsc;

use super::client::Context;
use super::session::{Plan, Running};
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use hawser::policy::{LinkId, LinkInfo, PathStatus};
use hawser::{Interface, InterfaceNews, interface_news};

/// Before another session where one came to nothing, doubled each time up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What the kernel says of one interface.
pub(super) struct Follower {
    name: String,
    link: LinkId,
    news: mpsc::Receiver<InterfaceNews>,
    /// The newest word; before the first, none.
    current: Option<InterfaceNews>,
    /// The kernel will say nothing more.
    is_over: bool,
}

impl Follower {
    /// Listens from now on.
    pub(super) async fn listen(name: &str, number: u32) -> Result<Follower, Failure> {
        let news = interface_news().await.map_err(|error| {
            let text = format!("the kernel does not tell of interfaces (netlink): {error}");
            Failure::new(Exit::Failure, text)
        })?;
        Ok(Follower { name: name.to_owned(), link: LinkId(number), news, current: None, is_over: false })
    }

    async fn next(&mut self) {
        match self.news.recv().await {
            Some(news) => self.current = Some(news),
            None => {
                self.is_over = true;
                std::future::pending::<()>().await;
            }
        }
    }

    fn interface(&self) -> Option<&Interface> {
        let interfaces = &self.current.as_ref()?.interfaces;
        interfaces.iter().find(|interface| interface.name == self.name)
    }

    fn link(&self) -> Option<LinkInfo> {
        let interface = self.interface()?;
        Some(LinkInfo {
            id: self.link,
            name: self.name.clone(),
            addresses: interface.addresses.clone(),
            kind: interface.kind,
            preference: PathStatus::Available,
            metered: false,
        })
    }

    /// Waits for an address from which one of these can be reached: the link, the address, since when, and whether it
    /// was there at the beginning.
    async fn until_there(&mut self, remotes: &[IpAddr]) -> (LinkInfo, IpAddr, Instant, bool) {
        let mut is_first = self.current.is_none();
        loop {
            if let (Some(link), Some(news)) = (self.link(), &self.current) {
                // Before its name is known the server may be of either family.
                let any = || link.addresses.first().copied().filter(|_| remotes.is_empty());
                let source = remotes.iter().find_map(|remote| link.source_for(*remote)).or_else(any);
                if let Some(address) = source {
                    let noticed = news.noticed;
                    return (link, address, noticed, is_first);
                }
            }
            is_first = self.current.is_none();
            self.next().await;
        }
    }

    /// Waits until the interface no longer has this address, and returns when the kernel told so. May be dropped and called
    /// again.
    pub(super) async fn until_gone(&mut self, address: IpAddr) -> Instant {
        let index = self.interface().map(|interface| interface.index);
        loop {
            let is_there = self
                .interface()
                .is_some_and(|now| Some(now.index) == index && now.addresses.contains(&address));
            match &self.current {
                Some(news) if !is_there => return news.noticed,
                _ => self.next().await,
            }
        }
    }
}

/// Measures on an interface until the user stops it.
pub(super) async fn follow(
    context: &Context,
    mut follower: Follower,
    mut interrupt: Interrupt,
) -> Result<(), Failure> {
    let mut association = 0;
    loop {
        let remotes = context.server.known();
        let there = tokio::select! {
            there = follower.until_there(&remotes) => there,
            () = interrupt.raised() => return Ok(()),
        };
        let (link, address, since, present_at_start) = there;
        let mut plan = Plan {
            link,
            address,
            association,
            attempt: 0,
            present_at_start,
            began: since,
            pause: Duration::ZERO,
        };
        let mut pause = FIRST_PAUSE;
        loop {
            let (end, ok) = Running::new(context, &plan).run(&mut follower, &mut interrupt).await;
            match end {
                Ending::AddressGone => break,
                Ending::Stopped | Ending::Interrupted => return Ok(()),
                Ending::TimeOver => (plan.pause, pause) = (Duration::ZERO, FIRST_PAUSE),
                Ending::ServerLost | Ending::Refused => {
                    if ok {
                        pause = FIRST_PAUSE;
                    }
                    plan.pause = pause;
                    pause = (2 * pause).min(LONGEST_PAUSE);
                }
            }
            plan.attempt += 1;
            plan.began = Instant::now();
        }
        association += 1;
    }
}
