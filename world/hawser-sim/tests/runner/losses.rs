//! Cases in which packets are lost or damaged at random.

use crate::bed::{Case, KB, MB};

/// Handshakes of the runner's cases of this kind, one after the other.
const HANDSHAKES: usize = 50;

fn handshakes(link: &'static str, seed: u64, seconds: f64) {
    let connections = vec![vec![KB]; HANDSHAKES];
    let mut bed = Case { connections, seed, ..Case::new(link, &[]) }.start();
    bed.finish(seconds);
}

fn transfer(link: &'static str, seed: u64, seconds: f64) {
    let mut bed = Case { seed, ..Case::new(link, &[2 * MB]) }.start();
    bed.finish(seconds);
}

#[test]
fn handshakeloss() {
    let link = "drop-rate --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_server=30 --rate_to_client=30 \
                --burst_to_server=3 --burst_to_client=3";
    for seed in 1..=3 {
        handshakes(link, seed, 85.0);
    }
}

#[test]
fn transferloss() {
    let link = "drop-rate --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_server=2 --rate_to_client=2 \
                --burst_to_server=3 --burst_to_client=3";
    for seed in 1..=3 {
        transfer(link, seed, 5.5);
    }
}

#[test]
fn handshakecorruption() {
    let link = "corrupt-rate --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_server=30 --rate_to_client=30 \
                --burst_to_server=3 --burst_to_client=3";
    for seed in 1..=3 {
        handshakes(link, seed, 85.0);
    }
}

#[test]
fn transfercorruption() {
    let link = "corrupt-rate --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_server=2 --rate_to_client=2 \
                --burst_to_server=3 --burst_to_client=3";
    for seed in 1..=3 {
        transfer(link, seed, 5.5);
    }
}
