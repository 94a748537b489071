//! Interfaces that lose their address while their link is down, as WiFi does: the host is told, and so are path managers.

use hawser_link::{NEVER, Outages};
use hawser_policy::{LinkId, LinkInfo, PathEvent, Time};

/// The links of a session whose interface comes and goes. Links that are not among them always have their address.
#[derive(Debug)]
pub(super) struct Interfaces(Vec<Interface>);

#[derive(Debug)]
struct Interface {
    info: LinkInfo,
    outages: Outages,
    has_address: bool,
    /// When that changes.
    next: Option<Time>,
}

impl Interfaces {
    /// At time zero.
    pub(super) fn new(links: impl Iterator<Item = (LinkInfo, Outages)>) -> Self {
        let interface = |(info, outages): (LinkInfo, Outages)| {
            let mut interface = Interface { info, outages, has_address: true, next: None };
            interface.look(Time::ZERO);
            interface
        };
        Interfaces(links.map(interface).collect())
    }

    /// Whether a link can be used.
    pub(super) fn has_address(&self, link: LinkId) -> bool {
        self.0.iter().all(|known| known.info.id != link || known.has_address)
    }

    /// When the next one comes or goes.
    pub(super) fn next_change(&self) -> Option<Time> {
        self.0.iter().filter_map(|known| known.next).min()
    }

    /// What has changed until now.
    pub(super) fn advance(&mut self, now: Time) -> Vec<PathEvent> {
        let due = self.0.iter_mut().filter(|known| known.next.is_some_and(|next| next <= now));
        due.filter_map(|interface| {
            let before = interface.has_address;
            interface.look(now);
            (interface.has_address != before).then(|| interface.event())
        })
        .collect()
    }
}

impl Interface {
    fn look(&mut self, now: Time) {
        let now = now.as_nanos();
        self.has_address = !self.outages.is_down(now);
        let next = match self.has_address {
            true => self.outages.next_down(now),
            false => Some(self.outages.next_up(now)).filter(|up| *up < NEVER),
        };
        self.next = next.map(Time::from_nanos);
    }

    fn event(&self) -> PathEvent {
        match self.has_address {
            true => PathEvent::LinkUp(self.info.clone()),
            false => PathEvent::LinkDown(self.info.id),
        }
    }
}

#[cfg(test)]
mod tests {
    use hawser_policy::LinkKind;

    use super::*;

    fn link(number: u32) -> LinkInfo {
        LinkInfo::new(LinkId(number), format!("wifi{number}"), Vec::new())
            .with(|info| info.kind = LinkKind::Wifi)
    }

    #[test]
    fn addresses_go_and_come_with_the_outages() {
        let outages = Outages::none().with_window(0, 100).with_window(200, 250).with_window(900, NEVER);
        let mut interfaces = Interfaces::new([(link(1), outages)].into_iter());
        let at = Time::from_nanos;
        assert!(!interfaces.has_address(LinkId(1)) && interfaces.has_address(LinkId(0)));
        assert_eq!((interfaces.next_change(), interfaces.advance(at(99)).len()), (Some(at(100)), 0));
        assert_eq!(interfaces.advance(at(100)), [PathEvent::LinkUp(link(1))]);
        assert_eq!(interfaces.next_change(), Some(at(200)));
        // Both ends of an outage that nobody looked at: it was as if it had not been.
        assert_eq!(interfaces.advance(at(260)), []);
        assert_eq!(interfaces.advance(at(900)), [PathEvent::LinkDown(LinkId(1))]);
        assert_eq!(interfaces.next_change(), None);
    }
}
