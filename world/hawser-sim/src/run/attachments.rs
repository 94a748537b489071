//! Links that policies may have attached elsewhere: those whose `via` lists several routes, each behind a cell, an access
//! point or a satellite of its own, and those of a scene that knows what other sites would give.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use hawser_policy::{AttachRequest, AttachResult, AttachmentPoint, LinkCandidate, LinkKind, Signal, Time};
use hawser_radio::{Profile, attachment_point};
use hawser_scenario::{Scenario, ScenarioLink};

use super::link_forecasts::link_kind;

/// What the clients of a run want attached where. All clients and the run share it.
#[derive(Clone, Debug)]
pub(super) struct Attachments(Rc<RefCell<State>>);

#[derive(Debug)]
struct State {
    links: Vec<Attachable>,
    orders: VecDeque<Order>,
    /// Orders so far.
    count: u64,
}

/// A link, and where it is.
#[derive(Debug)]
struct Attachable {
    kind: LinkKind,
    /// Of how many routes one is in use, once somebody chose.
    routes: u64,
    route: Option<u64>,
    /// Where it may be attached to any site.
    sites: Option<Arc<Profile>>,
    outage: u64,
}

/// A link is to be moved.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) link: usize,
    pub(super) to: Target,
    /// Orders before it.
    pub(super) number: u64,
}

/// Where to.
#[derive(Debug)]
pub(super) enum Target {
    /// Over another of its routes.
    Route(usize),
    /// To another site, behind which the link is like this.
    Profile(Arc<Profile>),
}

impl Attachable {
    fn of(link: &ScenarioLink) -> Self {
        let profile = link.forecasts.as_ref().map(|source| source.profile.clone());
        Attachable {
            kind: link_kind(link.medium),
            routes: link.via.alternatives.len() as u64,
            route: None,
            sites: profile.filter(|profile| profile.sites.is_some() && link.attach_outage.is_some()),
            outage: link.attach_outage.unwrap_or(0),
        }
    }

    /// Where a request leads.
    fn target(&mut self, now: Time, to: AttachmentPoint) -> Result<Option<Target>, AttachResult> {
        if let Some(profile) = &self.sites {
            let at = now.as_nanos();
            let sites = profile.sites.as_ref().ok_or(AttachResult::Failed)?;
            let is = |site: u64| attachment_point(self.kind, site) == to;
            let site = sites.within_reach(at).iter().map(|reach| reach.site).find(|site| is(*site));
            // Where it is already nothing changes, and nothing is silent.
            if site.is_some() && profile.serving_at(at) == site {
                return Ok(None);
            }
            let moved = site.and_then(|site| sites.attached(profile, at, site, self.outage));
            let moved = Arc::new(moved.ok_or(AttachResult::Failed)?);
            self.sites = Some(moved.clone());
            return Ok(Some(Target::Profile(moved)));
        }
        if self.routes < 2 {
            return Err(AttachResult::Unsupported);
        }
        let is = |number: &u64| attachment_point(self.kind, *number) == to;
        let number = (0..self.routes).find(is).ok_or(AttachResult::Failed)?;
        // Where it is already nothing changes, and nothing is silent.
        let stays = self.outage > 0 && self.route.unwrap_or(0) == number;
        self.route = Some(number);
        Ok((!stays).then_some(Target::Route(number as usize)))
    }
}

impl Attachments {
    pub(super) fn of(scenario: &Scenario) -> Self {
        let links = scenario.links.iter().map(Attachable::of).collect();
        Attachments(Rc::new(RefCell::new(State { links, orders: VecDeque::new(), count: 0 })))
    }

    /// Attaches a link from this instant on, if that is possible.
    pub(super) fn attach(&self, now: Time, request: AttachRequest) -> AttachResult {
        let state = &mut *self.0.borrow_mut();
        let link = request.link.0 as usize;
        let Some(attachable) = state.links.get_mut(link) else { return AttachResult::Unsupported };
        match attachable.target(now, request.to) {
            Ok(Some(to)) => {
                state.orders.push_back(Order { link, to, number: state.count });
                state.count += 1;
                AttachResult::Attached
            }
            Ok(None) => AttachResult::Attached,
            Err(result) => result,
        }
    }

    /// What a link follows since it was attached elsewhere; `None` where the scene's own profile still holds.
    pub(super) fn profile(&self, link: usize) -> Option<Arc<Profile>> {
        self.0.borrow().links.get(link)?.sites.clone()
    }

    /// Where a link of several routes is, and where it could be.
    pub(super) fn routes(&self, link: usize) -> Option<(AttachmentPoint, Vec<LinkCandidate>)> {
        let state = self.0.borrow();
        let attachable = state.links.get(link)?;
        let point = |number| attachment_point(attachable.kind, number);
        let candidate = |number| LinkCandidate { point: point(number), signal: Signal::default() };
        Some((point(attachable.route.unwrap_or(0)), (0..attachable.routes).map(candidate).collect()))
    }

    /// Whether a link is to be moved: asked at every event.
    #[inline]
    pub(super) fn has_orders(&self) -> bool {
        !self.0.borrow().orders.is_empty()
    }

    /// The next link to be moved.
    pub(super) fn poll_order(&self) -> Option<Order> {
        self.0.borrow_mut().orders.pop_front()
    }
}
