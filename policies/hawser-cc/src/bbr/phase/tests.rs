use super::*;

fn written(table: &Table) -> String {
    let line = |(from, to): &(Phase, &[Phase])| format!("{from:?} -> {to:?}");
    table.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The tables as a reader sees them; a change of one shows here.
#[test]
fn the_tables() {
    assert_eq!(
        written(V1),
        "Startup -> [Drain, ProbeRtt]\nDrain -> [Up, Cruise, ProbeRtt]\nUp -> [Down, ProbeRtt]\n\
         Down -> [Cruise, ProbeRtt]\nCruise -> [Up, ProbeRtt]\nProbeRtt -> [Up, Cruise, Startup]"
    );
    assert_eq!(
        written(V2_PLUS),
        "Startup -> [Drain, ProbeRtt]\nDrain -> [Down, ProbeRtt]\nDown -> [Cruise, Refill, ProbeRtt]\n\
         DownSlight -> [Cruise, ProbeRtt]\nCruise -> [Refill, Startup, ProbeRtt]\nRefill -> [Try1, Up, ProbeRtt]\n\
         Try1 -> [Try2, ProbeRtt]\nTry2 -> [Up, DownSlight, ProbeRtt]\nUp -> [PostUp, Down, ProbeRtt]\n\
         PostUp -> [Up, Down, ProbeRtt]\nProbeRtt -> [Down, Startup]"
    );
}

#[test]
fn every_phase_of_a_table_can_be_left_and_reached() {
    for table in [V1, V2, V3, V2_PLUS] {
        for (from, to) in table {
            assert!(!to.is_empty() && !to.contains(from), "{from:?}");
            for next in *to {
                assert!(table.iter().any(|(phase, _)| phase == next), "{next:?} has no row");
            }
            let reached = *from == Phase::Startup || table.iter().any(|(_, to)| to.contains(from));
            assert!(reached, "{from:?} is never entered");
        }
    }
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "illegal transition from Startup to Up")]
fn an_illegal_transition_fails_a_test() {
    Phases::new(V2, Time::ZERO).enter(Phase::Up, Time::ZERO);
}

#[test]
fn a_legal_one_starts_the_clock() {
    let mut phases = Phases::new(V2_PLUS, Time::ZERO);
    phases.enter(Phase::Drain, Time::from_secs(1));
    assert_eq!((phases.current(), phases.since()), (Phase::Drain, Time::from_secs(1)));
}
