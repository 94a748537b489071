//! An interface and its addresses, as the kernel reports them.

use std::net::IpAddr;
use std::time::Instant;

use tokio::sync::mpsc;

use hawser::policy::{LinkId, LinkInfo};
use hawser::{Interface, InterfaceNews, interface_news};
use hawser_command::exit::{Exit, Failure};

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
        Some(
            LinkInfo::new(self.link, self.name.clone(), interface.addresses.clone())
                .with(|info| info.kind = interface.kind),
        )
    }

    /// Waits for an address from which one of these can be reached: the link, the address, since when, and whether it
    /// was there at the beginning.
    pub(super) async fn until_there(&mut self, remotes: &[IpAddr]) -> (LinkInfo, IpAddr, Instant, bool) {
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
