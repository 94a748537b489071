//! The two cases that the runner measures instead of judging them.

use crate::bed::{Case, MB, SIMPLE};

/// Megabits per second of a file that took so long.
fn goodput(length: u64, seconds: f64) -> f64 {
    length as f64 * 8.0 / seconds / 1e6
}

#[test]
fn goodput_of_10_mb() {
    let mut bed = Case::new(SIMPLE, &[10 * MB]).start();
    let took = bed.finish(9.3);
    let goodput = goodput(10 * MB, took);
    println!("{goodput:.3} Mbit/s, at most {} bytes in the queue", bed.largest_queue());
    // 1,452 of 1,480 bytes are UDP payload, 1,425 stream data.
    assert!(goodput > 9.2, "{goodput:.3}");
}

/// The runner's rival is a TCP connection with CUBIC; here it is a connection of our own with CUBIC, as nothing here speaks
/// TCP.
#[test]
fn crosstraffic() {
    let mut bed = Case { rival: Some(100 * MB), ..Case::new(SIMPLE, &[25 * MB]) }.start();
    let took = bed.finish(50.0);
    let goodput = goodput(25 * MB, took);
    println!("{goodput:.3} of 10 Mbit/s");
    assert!((3.5..6.0).contains(&goodput), "{goodput:.3} beside an equal");
}
