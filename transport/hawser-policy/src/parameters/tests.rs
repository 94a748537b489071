use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn milliseconds(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn declared() -> Vec<ParameterInfo> {
    vec![
        ParameterInfo::number("beta", 0.1..=0.95, 0.7),
        ParameterInfo::integer("quantum", 1..=64, 8).unit("datagrams"),
        ParameterInfo::duration("interval", milliseconds(1)..=milliseconds(90_000), milliseconds(20)),
        ParameterInfo::rate(
            "floor",
            Rate::ZERO..=Rate::from_megabits_per_second(100_000),
            Rate::from_bits_per_second(1_500_000),
        ),
        ParameterInfo::flag("hystart", true),
        ParameterInfo::choice("mode", ["bytes", "packets"]),
    ]
}

fn read(text: &str) -> Result<Parameters, ParameterError> {
    Parameters::read(&declared(), &text.parse().unwrap())
}

#[test]
fn defaults_hold_for_what_is_not_mentioned() {
    let parameters = read("x").unwrap();
    assert_eq!(parameters, Parameters::defaults(&declared()));
    assert_eq!((parameters.number("beta"), parameters.integer("quantum")), (0.7, 8));
    assert_eq!(parameters.duration("interval"), milliseconds(20));
    assert_eq!(parameters.rate("floor").bits_per_second(), 1_500_000);
    assert_eq!((parameters.flag("hystart"), parameters.choice("mode")), (true, "bytes"));
}

#[test]
fn values_are_read_with_their_units() {
    let text = "x,beta=0.5,quantum=2,interval=1.5 s,floor=10Mbit,hystart=off,mode=Packets";
    let parameters = read(text).unwrap();
    assert_eq!((parameters.number("beta"), parameters.integer("quantum")), (0.5, 2));
    assert_eq!(parameters.duration("interval"), milliseconds(1_500));
    assert_eq!(parameters.rate("floor"), Rate::from_megabits_per_second(10));
    assert_eq!((parameters.flag("hystart"), parameters.choice("mode")), (false, "packets"));
    for (text, expected) in [("interval=1min", 60_000), ("interval=2000us", 2), ("interval=1000000ns", 1)] {
        assert_eq!(read(&format!("x,{text}")).unwrap().duration("interval"), milliseconds(expected));
    }
    for (text, expected) in [("floor=0", 0), ("floor=2.5 Gbit/s", 2_500_000_000), ("floor=7bit", 7)] {
        assert_eq!(read(&format!("x,{text}")).unwrap().rate("floor").bits_per_second(), expected);
    }
}

#[test]
fn what_does_not_fit_is_answered_with_range_and_default() {
    let wrong = [
        ("beta=1", "beta (0.1 to 0.95, default 0.7)"),
        ("beta=nan", "beta (0.1 to 0.95, default 0.7)"),
        ("quantum=0", "quantum (1 to 64 datagrams, default 8)"),
        ("quantum=1.5", "quantum (1 to 64 datagrams, default 8)"),
        ("interval=20", "interval (1ms to 90s, default 20ms)"),
        ("interval=2h", "interval (1ms to 90s, default 20ms)"),
        ("interval=-5ms", "interval (1ms to 90s, default 20ms)"),
        ("floor=10 Mb", "floor (0 to 100Gbit, default 1500kbit)"),
        ("hystart=maybe", "hystart (true or false, default true)"),
        ("mode=bits", "mode (bytes or packets, default bytes)"),
    ];
    for (text, expected) in wrong {
        match read(&format!("x,{text}")) {
            Err(ParameterError::Value { parameter, found }) => {
                assert_eq!((parameter.to_string(), text.ends_with(&found)), (expected.to_owned(), true));
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    assert_eq!(read("x,Beta=0.5"), Err(ParameterError::Unknown("Beta".to_owned())));
}

#[test]
fn a_default_beyond_its_range_counts_as_the_nearest_within() {
    assert_eq!(ParameterInfo::number("n", 0.0..=1.0, 2.0).default, ParameterValue::Number(1.0));
    assert_eq!(ParameterInfo::integer("n", 3..=5, 1).default, ParameterValue::Integer(3));
}

#[test]
#[should_panic(expected = "declares no parameter \"gamma\"")]
fn a_parameter_that_was_not_declared_is_a_mistake_of_the_program() {
    read("x").unwrap().number("gamma");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Values are written as they are read, so that a sweep's column names the very same policy again.
    #[test]
    fn values_are_written_as_they_are_read(
        number in 0.0f64..1e6, integer in any::<u64>(), nanos in any::<u64>(), bits in any::<u64>()
    ) {
        let every = Duration::ZERO..=Duration::MAX;
        let infos = [
            (ParameterInfo::number("n", 0.0..=1e6, 0.0), ParameterValue::Number(number)),
            (ParameterInfo::integer("n", 0..=u64::MAX, 0), ParameterValue::Integer(integer)),
            (
                ParameterInfo::duration("n", every, Duration::ZERO),
                ParameterValue::Duration(Duration::from_nanos(nanos)),
            ),
            (
                ParameterInfo::rate("n", Rate::ZERO..=Rate::MAX, Rate::ZERO),
                ParameterValue::Rate(Rate::from_bits_per_second(bits)),
            ),
        ];
        for (info, value) in infos {
            prop_assert_eq!(info.read(&value.to_string()), Some(value));
        }
    }

    #[test]
    fn no_text_panics(text in "[ -~é]{0,24}") {
        for info in declared() {
            info.read(&text);
        }
    }
}
