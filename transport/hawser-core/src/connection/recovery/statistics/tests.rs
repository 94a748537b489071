use super::*;

#[test]
fn the_share_follows_the_recent_past() {
    let mut loss = RecentLoss::default();
    assert_eq!(loss.ppm(), 0);
    let mut round = 0;
    let mut play = |loss: &mut RecentLoss, packets: u64, lost_every: u64| {
        for packet in 1..=packets {
            if packet % lost_every == 0 {
                loss.on_lost(1200)
            } else {
                loss.on_acked(1200)
            }
            if packet % 50 == 0 {
                round += 1;
                loss.age(round);
            }
        }
    };
    play(&mut loss, 1000, 10);
    assert_eq!(loss.ppm(), 100_000);
    play(&mut loss, 6000, u64::MAX);
    assert!(loss.ppm() < 5_000, "{} ppm", loss.ppm());
    play(&mut loss, 3000, 8);
    assert!((100_000..130_000).contains(&loss.ppm()), "{} ppm", loss.ppm());
}

#[test]
fn spurious_losses_are_no_losses() {
    let mut loss = RecentLoss::default();
    loss.on_lost(1200);
    loss.on_lost(1200);
    loss.on_acked(2400);
    assert_eq!(loss.ppm(), 500_000);
    loss.on_spurious(1200);
    assert_eq!(loss.ppm(), 250_000);
}
