//! Measures the emulator itself: rate, delay, lateness and the forwarding thread's share of a core.
//! `measure [LINKS] [MBIT/S PER LINK] [SECONDS]`

#[path = "../tests/common/mod.rs"]
mod common;

use std::fs;
use std::time::{Duration, Instant};

use common::{FlowResult, scenario, uplink};
use hawser_emu::Emulation;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut next = |default| arguments.next().unwrap_or(Ok(default));
    let (links, megabits, seconds) = (next(1)?, next(50)?, next(5)?);
    let mut text = "version = 1\n".to_owned();
    for index in 0..links {
        text += &format!(
            "[[link]]\nname = \"l{index}\"\nrate = \"{megabits} Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"20 ms\"\n"
        );
    }
    let duration = Duration::from_secs(seconds);
    for (name, percent) in [("half load", 50), ("overload", 110)] {
        let emulation = Emulation::start(&scenario(&text))?;
        let (began, cpu) = (Instant::now(), forwarder_cpu());
        let flows = uplink(&emulation, megabits * 10_000 * percent, duration)?;
        let share = (forwarder_cpu() - cpu) / began.elapsed().as_secs_f64();
        println!("{name}: {links} x {megabits} Mbit/s, forwarder {:.0} % of a core", share * 100.0);
        flows.iter().for_each(print_flow);
        let stats = emulation.stats();
        let late = stats.lateness;
        let overruns: u64 = stats.links.iter().map(|link| link.overruns).sum();
        println!(
            "  late p50 {:.3} p99 {:.3} max {:.3} ms; overruns {overruns}",
            late.p50_ms, late.p99_ms, late.max_ms
        );
    }
    Ok(())
}

fn print_flow(flow: &FlowResult) {
    println!(
        "  {:.4} Mbit/s, {} of {} packets, one-way delay p1 {:.3} p50 {:.3} p99 {:.3} ms",
        flow.rate_bps / 1e6,
        flow.delays_ms.len(),
        flow.sent,
        flow.delay_ms(0.01),
        flow.delay_ms(0.5),
        flow.delay_ms(0.99)
    );
}

/// CPU seconds used so far by the forwarding thread.
fn forwarder_cpu() -> f64 {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return 0.0 };
    let cpu = |path: std::path::PathBuf| {
        let name = fs::read_to_string(path.join("comm")).ok()?;
        // The first number of schedstat is the time on a CPU, in nanoseconds.
        let spent: f64 =
            fs::read_to_string(path.join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()?;
        (name.trim() == "hawser-emu").then_some(spent / 1e9)
    };
    tasks.filter_map(|task| cpu(task.ok()?.path())).sum()
}
