//! The scheduler that knows the links' future: what it makes of two links, and of an outage that it sees coming.

use hawser_scenario::Scenario;
use hawser_sim::oracle::OracleEdpf;
use hawser_sim::run::{NoRecorder, Options, Outcome, Simulation};

use crate::common;

const NEAR: &str =
    "[[link]]\nname = \"near0\"\nrate = \"40 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"200 kB\"\n";
const FAR: &str = "[[link]]\nname = \"far0\"\nrate = \"10 Mbit/s\"\ndelay = \"40 ms\"\nqueue = \"200 kB\"\n";
const BULK: &str = "[[flow]]\nname = \"main\"\nkind = \"bulk\"\n";
const ANSWERS: &str = "[[flow]]\nname = \"main\"\nkind = \"requests\"\nrequest = \"200 B\"\nresponse = \"64 kB\"\n\
                       think = \"100 ms\"\n";

fn run(scheduler: &str, links: &[&str], flow: &str, duration: &str) -> Outcome {
    let text = format!(
        "version = 1\nduration = \"{duration}\"\n[transport]\nscheduler = \"{scheduler}\"\ncongestion = \"cubic\"\n{}\n{flow}",
        links.concat()
    );
    let scenario = Scenario::parse(&text, "oracle.toml", &mut |_| Err(String::new()));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let simulation = Simulation::new(&scenario, &common::registry(), Options::default());
    simulation.expect("it can run").run(&mut NoRecorder)
}

#[test]
fn stable_links_add_up() {
    let goodput = |links: &[&str]| run(OracleEdpf::NAME, links, BULK, "40 s").goodput_bps;
    let share = goodput(&[NEAR, FAR]) / (goodput(&[NEAR]) + goodput(&[FAR]));
    println!("{share:.3} of the sum");
    assert!(share >= 0.99, "{share:.3} of the sum");
}

/// Every half second the near link loses everything for 60 ms. A sender that does not know sends into that, and waits for what was
/// lost; the oracle loses next to nothing, and its slow answers are those that the outage itself delays.
#[test]
fn an_outage_is_seen_coming() {
    let near = format!(
        "{NEAR}[link.down]\noutage = {{ every = \"500 ms\", duration = \"60 ms\", offset = \"3 s\" }}\n"
    );
    let lost = |outcome: &Outcome| {
        let lost: u64 = outcome.paths.iter().map(|path| path.packets_lost).sum();
        (lost, outcome.flows[0].delay.p99_ms)
    };
    let (losses, p99) = lost(&run(OracleEdpf::NAME, &[&near, FAR], ANSWERS, "60 s"));
    let (others_losses, others_p99) = lost(&run("minrtt", &[&near, FAR], ANSWERS, "60 s"));
    println!("{losses} lost, p99 {p99:.0} ms; minrtt {others_losses}, {others_p99:.0} ms");
    assert!(losses * 10 <= others_losses, "{losses} of {others_losses}");
    assert!(p99 < 0.8 * others_p99, "{p99:.0} of {others_p99:.0} ms");
}
