use super::*;
use crate::testing::{init, loss, sibling};
use hawser_policy::{LossCause, PathId, Sibling, Time};

fn of(own: u32, paths: &[Sibling]) -> (f64, u64) {
    let bytes = paths.iter().find(|path| path.path == PathId(own)).unwrap().congestion_window;
    let siblings = Siblings { own: PathId(own), paths };
    let mut window = Window::new(&init(bytes));
    let increase = increase(&window, &siblings);
    let event = loss(Time::ZERO, LossCause::Loss, true);
    BaliaRule { hystart: true }.reduce(&mut window, &event, &siblings);
    (increase, window.bytes())
}

fn assert_close(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 1e-9, "{actual} instead of {expected}");
}

/// By hand: rates 100 and 200 per second, so a = 2 and 1: 1000/90000 * 1.5 * 1.2 = 0.02 and 2000/90000; losses take three
/// quarters of the slower one and half of the faster.
#[test]
fn increases_and_cuts() {
    let paths = [sibling(0, 10, 100), sibling(1, 20, 100)];
    let (slow, fast) = (of(0, &paths), of(1, &paths));
    assert_close(slow.0, 0.02);
    assert_close(fast.0, 1.0 / 45.0);
    assert_eq!((slow.1, fast.1), (2_500, 10_000));
}

#[test]
fn alone_it_is_reno() {
    let (increase, left) = of(0, &[sibling(0, 10, 100)]);
    assert_close(increase, 0.1);
    assert_eq!(left, 5_000);
}
