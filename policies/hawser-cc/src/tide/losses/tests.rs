use super::*;

const DATAGRAM: f64 = 1_000.0;

/// A round trip of 300 datagrams of which some are lost while so many bytes are in the queue; 40 kB are a millisecond each.
fn round(losses: &mut Losses, lost: f64, queued: f64) {
    losses.on_ack((300.0 - lost) * DATAGRAM);
    if lost > 0.0 {
        losses.on_loss(lost * DATAGRAM, queued, queued / 4e6, (300.0 * DATAGRAM, DATAGRAM));
    }
    losses.on_round(DATAGRAM, false);
}

#[test]
fn a_single_loss_sets_no_ceiling() {
    let mut losses = Losses::default();
    round(&mut losses, 2.0, 100_000.0);
    assert_eq!(losses.ceiling(), None);
}

/// Less queue, no loss: it was the queue.
#[test]
fn what_ends_with_a_shorter_queue_was_an_overflow() {
    let mut losses = Losses::default();
    round(&mut losses, 20.0, 100_000.0);
    assert!(losses.ceiling().is_some_and(|ceiling| ceiling < 71_000.0), "{losses:?}");
    for _ in 0..10 {
        round(&mut losses, 0.0, 0.0);
    }
    assert!(losses.ceiling().is_some_and(|ceiling| ceiling < 72_000.0), "{losses:?}");
}

/// As much is lost with hardly any queue: the radio loses it, and the ceiling goes. Then it is usual.
#[test]
fn what_goes_on_without_queue_is_random() {
    let mut losses = Losses::default();
    for _ in 0..30 {
        let queue = losses.ceiling().unwrap_or(100_000.0).min(100_000.0);
        round(&mut losses, 15.0, queue);
    }
    assert_eq!(losses.ceiling(), None, "{losses:?}");
    assert!(!losses.take_foreign());
}

/// The queue is full again although this sender keeps its part below.
#[test]
fn a_queue_that_stays_full_was_filled_by_others() {
    let mut losses = Losses::default();
    for _ in 0..8 {
        round(&mut losses, 15.0, 100_000.0);
    }
    assert!(losses.take_foreign());
    assert!(!losses.take_foreign());
}

#[test]
fn a_ceiling_rises_where_the_queue_is_empty() {
    let mut losses = Losses::default();
    losses.on_overflow(100_000.0, DATAGRAM);
    for _ in 0..20 {
        losses.on_round(DATAGRAM, true);
    }
    assert!(losses.ceiling().is_some_and(|ceiling| ceiling > 300_000.0), "{losses:?}");
    losses.forget_above(250_000.0);
    assert_eq!(losses.ceiling(), None);
}
