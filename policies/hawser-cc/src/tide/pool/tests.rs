use super::*;
use crate::testing::ack;
use crate::testing::bottleneck::RTT;

fn acknowledge(member: &Member, millis: u64, window: f64) -> Part {
    let delay = Duration::from_micros(40_000 + millis % 4_000 * 10);
    let ack = ack(Time::from_millis(millis), 1_200, RTT).with(|ack| ack.one_way_delay = Some(delay));
    member.on_ack(&ack, window)
}

#[test]
fn a_path_that_leaves_lets_the_other_go_on_by_itself() {
    let pool = Pool::shared();
    let members = [0, 1].map(|path| Member::new(pool.clone(), PathId(path)));
    members.iter().for_each(|member| member.enter(Time::ZERO, 100_000.0));
    let mut parts = [Part::ALONE; 2];
    for millis in (10..20_000).step_by(10) {
        parts = [0, 1]
            .map(|at: usize| acknowledge(&members[at], millis, if at == 0 { 100_000.0 } else { 300_000.0 }));
    }
    assert_eq!(parts.map(|part| part.share), [0.25, 0.75], "their delays are alike");
    members[0].on_cut(Time::from_millis(20_000));
    assert!(acknowledge(&members[1], 20_010, 300_000.0).make_room);
    members[1].on_cut(Time::from_millis(20_010));
    assert!(members[1].has_made_room(Time::from_millis(20_030), RTT), "a loss of its own is the same event");
    assert_eq!([0, 1].map(|at: usize| acknowledge(&members[at], 20_040, 100_000.0).make_room), [false; 2]);
    let [first, second] = members;
    drop(first);
    assert_eq!(acknowledge(&second, 20_050, 100_000.0), Part::ALONE);
}
