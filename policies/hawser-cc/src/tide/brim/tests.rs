use super::*;

/// Cycles of a queue that grows from 10 to 20 ms; a packet in `random` is lost anywhere, and so many at the top of each.
fn cycles(random: Option<u64>, at_top: f64) -> Brim {
    let mut brim = Brim::default();
    for packet in 0..2_000u64 {
        let queue = 0.01 + 0.01 * (packet % 500) as f64 / 500.0;
        brim.on_ack(1.0, queue);
        if random.is_some_and(|every| packet % every == every - 1) {
            brim.on_loss(1.0, queue);
        }
        if packet % 500 == 499 {
            brim.on_loss(at_top, queue);
        }
    }
    brim
}

#[test]
fn losses_at_the_brim_alone_are_an_overflow() {
    assert_eq!(cycles(None, 1.0).overflowed(300.0), Some(true));
}

#[test]
fn losses_anywhere_are_random() {
    for every in [20, 97, 503] {
        assert_eq!(cycles(Some(every), 0.0).overflowed(300.0), Some(false), "{every}");
    }
}

/// An overflow on a path that loses 1 % anyway shows when it is worth it.
#[test]
fn an_overflow_shows_among_random_losses() {
    assert_eq!(cycles(Some(97), 20.0).overflowed(300.0), Some(true));
}

#[test]
fn without_packets_below_the_brim_it_cannot_be_told() {
    let mut brim = Brim::default();
    brim.on_ack(1_000.0, 0.02);
    brim.on_loss(10.0, 0.02);
    assert_eq!(brim.overflowed(300.0), None);
}

#[test]
fn an_answered_overflow_does_not_count_again() {
    let mut brim = cycles(None, 1.0);
    brim.begin_again();
    assert_eq!(brim.overflowed(300.0), Some(false));
}
