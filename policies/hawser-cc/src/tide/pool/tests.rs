use std::sync::Arc;

use hawser_policy::{ControllerFactory, ParameterInfo, Parameters, Side};

use super::*;
use crate::testing::ack;
use crate::testing::bottleneck::{BDP, Link, Network, RTT, measure};
use crate::tide::{factory, info};

const PRODUCTS: [f64; 5] = [0.5, 1.0, 2.0, 4.0, 8.0];

/// The factory of one connection.
fn connection() -> Arc<dyn ControllerFactory> {
    let mut parameters: Vec<ParameterInfo> = info().parameters;
    parameters.retain(|parameter| parameter.name != "forward");
    parameters.push(ParameterInfo::flag("forward", false));
    factory(&Parameters::defaults(&parameters)).for_connection(Side::Server, 0).expect("its paths share a pool")
}

/// Adds paths over these links, those of one connection or each of its own.
fn add_paths(network: &mut Network, links: &[usize], coupled: bool) {
    let of_all = connection();
    for (path, link) in links.iter().enumerate() {
        let factory = if coupled { of_all.clone() } else { connection() };
        network.add(|init| factory.build(init), (*link, 0), RTT, (Time::from_millis(170 * path as u64), Time::FAR_FUTURE));
    }
}

/// What two paths at one bottleneck get together next to a CUBIC that comes later, or was there first: the mean of several beginnings.
fn share_of_two(products: f64, coupled: bool, rival_first: bool) -> f64 {
    const OFFSETS: [u64; 3] = [5_000, 5_370, 5_710];
    let share = |offset: u64| {
        let mut network = Network::new(vec![Link::new(40.0, (products * BDP as f64) as u64)]);
        let (own, rival) = if rival_first { (offset, 0) } else { (0, offset) };
        let of_all = connection();
        for path in 0..2 {
            let factory = if coupled { of_all.clone() } else { connection() };
            let starts = Time::from_millis(own + 170 * path);
            network.add(|init| factory.build(init), (0, 0), RTT, (starts, Time::FAR_FUTURE));
        }
        let build = |init: &hawser_policy::ControllerInit| crate::testing::build_with("cubic", init);
        network.add(build, (0, 1), RTT, (Time::from_millis(rival), Time::FAR_FUTURE));
        let network = measure(network, 30, 60);
        let own = network.goodput(0) + network.goodput(1);
        own / (own + network.goodput(2))
    };
    OFFSETS.map(share).iter().sum::<f64>() / OFFSETS.len() as f64
}

#[test]
fn two_paths_at_one_bottleneck_have_the_share_of_one_flow() {
    for rival_first in [false, true] {
        let coupled = PRODUCTS.map(|products| share_of_two(products, true, rival_first));
        let each = PRODUCTS.map(|products| share_of_two(products, false, rival_first));
        println!("rival first {rival_first}: {coupled:.2?}, each by itself {each:.2?}");
    }
}

/// Each next to a CUBIC of its own: two links, two shares.
#[test]
fn paths_with_bottlenecks_of_their_own_have_a_share_of_each() {
    for products in PRODUCTS {
        let share = |coupled: bool| {
            let buffer = (products * BDP as f64) as u64;
            let mut network = Network::new(vec![Link::new(40.0, buffer), Link::new(40.0, buffer)]);
            add_paths(&mut network, &[0, 1], coupled);
            for link in 0..2 {
                let build = |init: &hawser_policy::ControllerInit| crate::testing::build_with("cubic", init);
                let starts = Time::from_millis(5_000 + 730 * link as u64);
                network.add(build, (link, 1 + link), RTT, (starts, Time::FAR_FUTURE));
            }
            let network = measure(network, 30, 60);
            [0, 1].map(|path| network.goodput(path) / (network.goodput(path) + network.goodput(path + 2)))
        };
        let (coupled, each) = (share(true), share(false));
        println!("{products} products: {coupled:.2?}, each by itself {each:.2?}");
    }
}

fn acknowledge(member: &Member, millis: u64, window: f64) -> Part {
    let delay = Duration::from_micros(40_000 + millis % 4_000 * 10);
    let ack = ack(Time::from_millis(millis), 1_200, RTT).with(|ack| ack.one_way_delay = Some(delay));
    member.on_ack(&ack, window)
}

#[test]
fn a_path_that_leaves_lets_the_other_go_on_by_itself() {
    let pool = Pool::shared();
    let members = [0, 1].map(|path| Member::new(pool.clone(), PathId(path)));
    members.iter().for_each(|member| member.enter(Time::ZERO, 100_000.0));
    let mut parts = [Part::ALONE; 2];
    for millis in (10..20_000).step_by(10) {
        parts = [0, 1].map(|at: usize| acknowledge(&members[at], millis, if at == 0 { 100_000.0 } else { 300_000.0 }));
    }
    assert_eq!(parts.map(|part| part.share), [0.25, 0.75], "their delays are alike");
    members[0].on_cut(Time::from_millis(20_000));
    assert!(acknowledge(&members[1], 20_010, 300_000.0).make_room);
    members[1].on_cut(Time::from_millis(20_010));
    assert!(members[1].has_made_room(Time::from_millis(20_030), RTT), "a loss of its own is the same event");
    assert_eq!([0, 1].map(|at: usize| acknowledge(&members[at], 20_040, 100_000.0).make_room), [false; 2]);
    let [first, second] = members;
    drop(first);
    assert_eq!(acknowledge(&second, 20_050, 100_000.0), Part::ALONE);
}
