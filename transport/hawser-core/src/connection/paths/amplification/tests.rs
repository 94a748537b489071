use proptest::prelude::*;

use super::Amplification;

#[test]
fn three_times_what_came_until_validated() {
    let mut limit = Amplification::unvalidated();
    assert_eq!(limit.allowance(), 0);
    limit.on_received(1200);
    limit.on_sent(1200);
    assert_eq!(limit.allowance(), 2400);
    limit.on_sent(2400);
    assert_eq!(limit.allowance(), 0);
    limit.on_received(10);
    assert_eq!(limit.allowance(), 30);
    limit.validate();
    assert_eq!(limit.allowance(), u64::MAX);
}

proptest! {
    //= rfc9000-8-1
    #[test]
    fn a_sender_that_heeds_it_never_amplifies(steps in prop::collection::vec((any::<bool>(), 1usize..2000), 0..100)) {
        let mut limit = Amplification::unvalidated();
        let (mut received, mut sent) = (0, 0);
        for (is_received, size) in steps {
            if is_received {
                limit.on_received(size);
                received += size as u64;
            } else if limit.allowance() >= size as u64 {
                limit.on_sent(size);
                sent += size as u64;
            }
            prop_assert!(sent <= 3 * received);
            prop_assert_eq!(limit.allowance(), 3 * received - sent);
        }
    }
}
