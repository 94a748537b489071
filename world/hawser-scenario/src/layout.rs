//! A scenario's links and routes in a [`Fabric`], which the simulator and the emulator drive alike.

use hawser_link::{Fabric, Frame, LinkIndex, RouteIndex};

use crate::{Direction, Flow, FlowKind, Scenario};

/// Where the links and routes of a scenario are in a fabric.
///
/// Links come first, then segments, each up and down; link `2 i` of the fabric is number `i` of them up, `2 i + 1` the
/// same down. Likewise route `2 i` leads over link `i` up and `2 i + 1` down.
#[derive(Clone, Debug)]
pub struct Layout {
    links: Vec<[LinkIndex; 2]>,
    routes: Vec<[RouteIndex; 2]>,
}

impl Layout {
    /// Puts all links, segments and routes of a scenario into an empty fabric.
    pub fn build<P: Frame>(scenario: &Scenario, fabric: &mut Fabric<P>) -> Self {
        let links = scenario.links.iter().map(|link| (&link.name, [&link.up, &link.down]));
        let segments = scenario.segments.iter().map(|segment| (&segment.name, [&segment.up, &segment.down]));
        let mut layout = Layout { links: Vec::new(), routes: Vec::new() };
        for (name, configs) in links.chain(segments) {
            let add = |direction: Direction| {
                fabric.add_link(configs[direction as usize], scenario.seed_of(name, direction))
            };
            layout.links.push(Direction::BOTH.map(add));
        }
        for (index, link) in scenario.links.iter().enumerate() {
            let routes = Direction::BOTH.map(|direction| {
                let over =
                    |via: &Vec<usize>| layout.hops(scenario, Some(index), via, direction).into_boxed_slice();
                let alternatives = link.via.alternatives.iter().map(over).collect();
                fabric.add_scheduled_route(alternatives, link.via.schedule.clone())
            });
            layout.routes.push(routes);
        }
        layout
    }

    /// The links of the fabric: those of the scenario, then its segments, up and down.
    pub fn links(&self) -> &[[LinkIndex; 2]] {
        &self.links
    }

    /// The routes over the scenario's links, up and down.
    pub fn routes(&self) -> &[[RouteIndex; 2]] {
        &self.routes
    }

    /// Adds the route of a UDP flow: over its segments, or over its first link and the segments that this one leads over
    /// at first. `None` when the flow is of another kind.
    pub fn add_udp_route<P: Frame>(
        &self,
        scenario: &Scenario,
        fabric: &mut Fabric<P>,
        flow: &Flow,
    ) -> Option<RouteIndex> {
        let FlowKind::Udp { direction, ref over, .. } = flow.kind else { return None };
        let link = flow.links.first().copied().filter(|_| over.is_empty());
        let via = link.and_then(|link| scenario.links.get(link)?.via.alternatives.first());
        let hops = self.hops(scenario, link, via.unwrap_or(over), direction);
        Some(fabric.add_route(&hops))
    }

    /// A link, if there is one, and segments, in the order in which a packet crosses them.
    fn hops(
        &self,
        scenario: &Scenario,
        link: Option<usize>,
        segments: &[usize],
        direction: Direction,
    ) -> Vec<LinkIndex> {
        let segments = segments.iter().map(|segment| scenario.links.len() + segment);
        let mut hops: Vec<LinkIndex> =
            link.into_iter().chain(segments).map(|index| self.links[index][direction as usize]).collect();
        if direction == Direction::Down {
            hops.reverse();
        }
        hops
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
version = 1
[[link]]
name = "a0"
rate = "unlimited"
delay = "1 ms"
via = ["x", "y"]
[[link]]
name = "b0"
rate = "unlimited"
delay = "2 ms"
[[segment]]
name = "x"
rate = "unlimited"
delay = "10 ms"
[[segment]]
name = "y"
rate = "unlimited"
delay = "20 ms"
[segment.down]
delay = "40 ms"
[[flow]]
name = "noise"
kind = "cbr"
direction = "up"
rate = "1 Mbit/s"
over = ["y"]
"#;

    #[test]
    fn packets_cross_the_link_and_its_segments_both_ways() {
        let scenario = Scenario::parse(TEXT, "layout.toml", &mut |_| Err(String::new())).unwrap();
        let mut fabric = Fabric::<u32>::new();
        let layout = Layout::build(&scenario, &mut fabric);
        let noise = layout.add_udp_route(&scenario, &mut fabric, &scenario.flows[0]).unwrap();
        let routes = layout.routes().iter().flatten().copied().chain([noise]);
        for (number, route) in routes.enumerate() {
            assert_eq!(route.as_usize(), number);
            fabric.send(0, route, 100, number as u32);
        }
        let mut delays = [0; 5];
        while let Some(next) = fabric.next_event() {
            fabric.advance(next);
            while let Some(arrival) = fabric.poll_arrival() {
                delays[arrival.payload as usize] = arrival.at / 1_000_000;
            }
        }
        assert_eq!(delays, [31, 51, 2, 2, 20]);
        let crossed = layout.links()[3].map(|link| fabric.stats(link).map(|stats| stats.delivered_packets));
        assert_eq!(crossed, [Some(2), Some(1)], "segment y: up for the link and the flow, down for the link");
    }
}
