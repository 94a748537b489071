use super::*;

fn report(newly_marked: u64, counts: Option<(u64, u64, u64)>) -> EcnReport {
    let counts = counts.map(|(ect0, ect1, ce)| EcnCounts { ect0, ect1, ce });
    EcnReport { newly_marked, counts, previous: EcnCounts::default(), marked_total: 10 }
}

fn tested(marked: u32) -> EcnValidator {
    let mut ecn = EcnValidator::new(true);
    for _ in 0..marked {
        assert_eq!(ecn.mark(), Some(Ecn::Ect0));
        ecn.on_marked_sent();
    }
    ecn
}

#[test]
fn ten_packets_test_the_path_and_a_true_report_validates_it() {
    let mut ecn = tested(10);
    assert_eq!((ecn.state(), ecn.mark()), (EcnState::Unknown, None));
    assert_eq!(ecn.on_report(&report(2, Some((2, 0, 0)))), EcnVerdict::default());
    assert_eq!((ecn.state(), ecn.mark()), (EcnState::Capable, Some(Ecn::Ect0)));
}

#[test]
fn congestion_marks_count_on_a_validated_path() {
    let mut ecn = tested(10);
    assert_eq!(ecn.on_report(&report(3, Some((1, 0, 2)))).congestion_marks, 2);
    let previous = EcnCounts { ect0: 1, ect1: 0, ce: 2 };
    let next = EcnReport { previous, ..report(1, Some((1, 0, 3))) };
    assert_eq!(ecn.on_report(&next), EcnVerdict { congestion_marks: 1, failed: false });
}

/// RFC 9000 section 13.4.2.1, each way to fail.
//= rfc9000-13.4.2.2-1, rfc9000-13.4.2.2-2
#[test]
fn false_reports_end_it() {
    let failing = [
        ("no counts", report(1, None)),
        ("fewer than acknowledged", report(3, Some((2, 0, 0)))),
        ("ECT(1), which we never send", report(1, Some((1, 1, 0)))),
        ("more than were ever marked", report(1, Some((9, 0, 2)))),
        (
            "fewer than before",
            EcnReport { previous: EcnCounts { ect0: 2, ect1: 0, ce: 0 }, ..report(0, Some((1, 0, 5))) },
        ),
        ("overflow", report(1, Some((u64::MAX, 0, u64::MAX)))),
    ];
    for (what, report) in failing {
        let mut ecn = tested(10);
        assert_eq!(ecn.on_report(&report), EcnVerdict { congestion_marks: 0, failed: true }, "{what}");
        assert_eq!((ecn.state(), ecn.mark()), (EcnState::Failed, None), "{what}");
        assert_eq!(ecn.on_report(&report), EcnVerdict::default(), "reported once: {what}");
    }
}

#[test]
fn a_report_about_unmarked_packets_proves_nothing() {
    let mut ecn = tested(10);
    assert_eq!(ecn.on_report(&report(0, None)), EcnVerdict::default());
    assert_eq!(ecn.on_report(&report(0, Some((0, 0, 0)))), EcnVerdict::default());
    assert_eq!(ecn.state(), EcnState::Unknown);
}

#[test]
fn a_path_that_loses_all_marked_packets_gets_no_more() {
    let mut ecn = tested(10);
    for _ in 0..9 {
        ecn.on_marked_lost();
    }
    assert_eq!(ecn.state(), EcnState::Unknown);
    ecn.on_marked_lost();
    assert_eq!(ecn.state(), EcnState::Failed);
    assert_eq!(EcnValidator::new(false).mark(), None);
}

#[test]
fn a_batch_that_outlasts_the_test_fails_only_if_all_of_it_is_lost() {
    let mut ecn = tested(10);
    for _ in 0..20 {
        ecn.on_marked_sent();
    }
    for _ in 0..29 {
        ecn.on_marked_lost();
    }
    assert_eq!(ecn.state(), EcnState::Unknown);
    ecn.on_marked_lost();
    assert_eq!(ecn.state(), EcnState::Failed);
}
