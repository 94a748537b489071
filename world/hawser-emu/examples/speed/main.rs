//! How exact and how fast the emulator is, next to kernel queues between veth devices. Needs root and a quiet machine.
//! `cargo run --release -p hawser-emu --example speed [accuracy|parallel|saturation|veth]...`

#[path = "../../tests/common/mod.rs"]
#[allow(dead_code)]
mod common;
mod machine;
mod veth;

use std::time::Duration;

use common::{FlowResult, scenario, uplink};
use hawser_emu::Emulation;
use machine::Busy;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Length of a measurement.
const DURATION: Duration = Duration::from_secs(3);
/// Total rates tried, Mbit/s.
const RATES: [u64; 11] = [100, 300, 600, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 8000];

fn main() -> Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let asked = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    if asked("accuracy") {
        accuracy()?;
    }
    if asked("parallel") {
        parallel()?;
    }
    if asked("saturation") {
        saturation()?;
    }
    if asked("veth") {
        veth::saturation()?;
    }
    Ok(())
}

/// Links of the same rate, in Mbit/s, and 20 ms.
fn links(number: u64, megabits: u64) -> String {
    let link = |index| {
        format!(
            "[[link]]\nname = \"l{index}\"\nrate = \"{megabits} Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"20 ms\"\n"
        )
    };
    (0..number).map(link).fold("version = 1\n".to_owned(), |text, link| text + &link)
}

/// One link of 50 Mbit/s and 20 ms: rate under overload, delay under half of the load.
fn accuracy() -> Result<()> {
    println!("one link of 50 Mbit/s and 20 ms (a packet of 1500 bytes takes 20.24 ms)");
    for (name, percent) in [("half load", 50), ("overload", 110)] {
        let emulation = Emulation::start(&scenario(&links(1, 50)))?;
        let flows = uplink(&emulation, 50_000_000 / 100 * percent, DURATION)?;
        print_flows(name, &flows);
        print_lateness(&emulation);
    }
    Ok(())
}

/// Eight links at once.
fn parallel() -> Result<()> {
    println!("\neight links of 30 Mbit/s and 20 ms");
    for (name, percent) in [("half load", 50), ("overload", 110)] {
        let emulation = Emulation::start(&scenario(&links(8, 30)))?;
        let busy = Busy::start();
        let flows = uplink(&emulation, 30_000_000 / 100 * percent, DURATION)?;
        print_flows(name, &flows);
        print_lateness(&emulation);
        println!("  {busy}");
    }
    Ok(())
}

/// The rate of one link that is offered 5 % more than that, up to where it falls short.
fn saturation() -> Result<()> {
    println!("\none link of growing rate, offered 5 % more, sender and receiver on the same cores");
    for megabits in RATES {
        let emulation = Emulation::start(&scenario(&links(1, megabits)))?;
        let busy = Busy::start();
        let flows = uplink(&emulation, megabits * 1_050_000, DURATION)?;
        let share = flows[0].rate_bps / (megabits as f64 * 1e6);
        println!(
            "  {megabits:>5} Mbit/s: {:>6.2} % of it carried, {:.2} offered; {busy}",
            share * 100.0,
            offered(&flows[0], megabits)
        );
        print_lateness(&emulation);
        if share < 0.97 {
            break;
        }
    }
    Ok(())
}

/// What the sender managed to send, as a share of the rate.
fn offered(flow: &FlowResult, megabits: u64) -> f64 {
    flow.sent as f64 * 1500.0 * 8.0 / DURATION.as_secs_f64() / (megabits as f64 * 1e6)
}

fn print_flows(name: &str, flows: &[FlowResult]) {
    for flow in flows {
        println!(
            "  {name}: {:.4} Mbit/s, {} of {} packets, one-way delay p1 {:.3} p50 {:.3} p99 {:.3} ms",
            flow.rate_bps / 1e6,
            flow.delays_ms.len(),
            flow.sent,
            flow.delay_ms(0.01),
            flow.delay_ms(0.5),
            flow.delay_ms(0.99)
        );
    }
}

fn print_lateness(emulation: &Emulation) {
    let stats = emulation.stats();
    let late = stats.lateness;
    let overruns: u64 = stats.links.iter().map(|link| link.overruns).sum();
    println!(
        "  late p50 {:.3} p99 {:.3} max {:.3} ms; overruns {overruns}",
        late.p50_ms, late.p99_ms, late.max_ms
    );
}
