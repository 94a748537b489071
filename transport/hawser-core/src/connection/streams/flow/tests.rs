use super::*;

const RTT: Duration = Duration::from_millis(50);

fn window() -> ReceiveWindow {
    ReceiveWindow::new(1_000, 3_000, Time::ZERO)
}

fn move_bytes(window: &mut ReceiveWindow, bytes: u64) {
    window.check(bytes).expect("within the window");
    window.receive(bytes);
    window.consume(bytes);
}

//= rfc9000-4.2-1
#[test]
fn a_peer_may_fill_the_window_and_no_more() {
    let mut window = window();
    assert_eq!(window.check(1_001), Err(Overrun { total: 1_001, limit: 1_000 }));
    window.receive(1_000);
    assert!(window.check(0).is_ok() && window.check(1).is_err());
    assert!(!window.wants_update(), "nothing was read");
    window.consume(249);
    assert!(!window.wants_update());
    window.consume(1);
    assert!(window.wants_update());
    assert_eq!(window.announce(), 1_250);
    assert!(!window.wants_update());
}

#[test]
fn a_window_doubles_up_to_its_cap_while_half_of_it_goes_in_two_round_trips() {
    let mut window = window();
    let mut now = Time::ZERO;
    for expected in [2_000, 3_000, 3_000] {
        now += RTT;
        let bytes = window.size() / 2;
        move_bytes(&mut window, bytes);
        window.tune(now, RTT, u64::MAX);
        window.announce();
        assert_eq!(window.size(), expected);
    }
}

#[test]
fn a_slow_reader_does_not_grow_the_window() {
    let mut window = window();
    let mut now = Time::ZERO;
    for _ in 0..20 {
        now += RTT;
        move_bytes(&mut window, 200);
        window.tune(now, RTT, u64::MAX);
        window.announce();
    }
    assert_eq!(window.size(), 1_000);
}

/// A retransmission takes a round trip and more. A reader that waits for it is not slow.
#[test]
fn a_window_that_is_used_up_behind_a_hole_doubles() {
    let mut window = window();
    assert!(!window.receive(800), "a fifth is left");
    assert!(window.receive(200));
    window.wait_at_hole();
    window.consume(1_000);
    window.tune(Time::ZERO + 3 * RTT, RTT, u64::MAX);
    assert_eq!(window.size(), 2_000);
    // Once.
    window.announce();
    move_bytes(&mut window, 1_000);
    window.tune(Time::ZERO + 6 * RTT, RTT, u64::MAX);
    assert_eq!(window.size(), 2_000);
}

//= rfc9000-4.1-3, rfc9000-13.3-5
#[test]
fn credit_never_falls() {
    let mut credit = SendCredit::default();
    assert!(credit.raise(100) && !credit.raise(50) && !credit.raise(100));
    credit.take(60);
    assert_eq!(credit.left(), 40);
}
