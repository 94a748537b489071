//! Links that policies may have attached elsewhere: those whose `via` lists several routes, each behind a cell, an access
//! point or a satellite of its own.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use hawser_policy::{AttachRequest, AttachResult, LinkKind};
use hawser_radio::attachment_point;
use hawser_scenario::Scenario;

use super::link_forecasts::link_kind;

/// What the clients of a run want attached where. All clients and the run share it.
#[derive(Clone, Debug)]
pub(super) struct Attachments {
    /// For each link its kind, and how many routes it has.
    links: Rc<[(LinkKind, u64)]>,
    /// Link and route, in order.
    orders: Rc<RefCell<VecDeque<(usize, usize)>>>,
}

impl Attachments {
    pub(super) fn of(scenario: &Scenario) -> Self {
        let routes = |link: &hawser_scenario::ScenarioLink| link.via.alternatives.len() as u64;
        let links = scenario.links.iter().map(|link| (link_kind(link.medium), routes(link)));
        Attachments { links: links.collect(), orders: Rc::default() }
    }

    /// Attaches a link from this instant on, if that is possible.
    pub(super) fn attach(&self, request: AttachRequest) -> AttachResult {
        let link = request.link.0 as usize;
        let Some(&(kind, routes)) = self.links.get(link).filter(|(_, routes)| *routes > 1) else {
            return AttachResult::Unsupported;
        };
        match (0..routes).find(|number| attachment_point(kind, *number) == request.to) {
            Some(number) => {
                self.orders.borrow_mut().push_back((link, number as usize));
                AttachResult::Attached
            }
            None => AttachResult::Failed,
        }
    }

    /// Whether a link is to be moved: asked at every event.
    #[inline]
    pub(super) fn has_orders(&self) -> bool {
        !self.orders.borrow().is_empty()
    }

    /// The next link to be moved, and to which of its routes.
    pub(super) fn poll_order(&self) -> Option<(usize, usize)> {
        self.orders.borrow_mut().pop_front()
    }
}
