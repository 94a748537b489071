use proptest::prelude::*;

use super::*;

fn spec(text: &str) -> Result<PolicySpec, SpecError> {
    text.parse()
}

#[test]
fn a_text_is_a_name_and_values() {
    let spec = spec(" stms , gap-scale = 1.5,mode=a b=c").unwrap();
    assert_eq!(spec.name(), "stms");
    assert_eq!(spec.values().collect::<Vec<_>>(), [("gap-scale", "1.5"), ("mode", "a b=c")]);
    assert_eq!(spec.value("gap"), None);
    assert_eq!(spec.to_string(), "stms,gap-scale=1.5,mode=a b=c");
}

#[test]
fn what_names_no_policy_is_refused_with_what_was_found() {
    for text in ["", ",beta=1", "min rtt", "größe", &"x".repeat(65)] {
        assert!(matches!(spec(text), Err(SpecError::Name { .. })), "{text}");
    }
    for text in ["cubic,", "cubic,beta", "cubic,beta=", "cubic,=1", "cubic,be ta=1", "cubic,,beta=1"] {
        assert!(matches!(spec(text), Err(SpecError::Parameter { .. })), "{text}");
    }
    assert_eq!(spec("cubic,beta=1, beta=2"), Err(SpecError::Twice { parameter: "beta".to_owned() }));
    assert_eq!(spec(&"x".repeat(1_001)), Err(SpecError::TooLong { found: 1_001 }));
    assert_eq!(
        spec("cubic,beta").unwrap_err().to_string(),
        "expected PARAMETER=VALUE after each comma, such as \"beta=0.8\", found \"beta\""
    );
}

#[test]
fn a_value_is_replaced_or_added() {
    let spec = spec("cubic,beta=0.5").unwrap().with("c", 0.4).unwrap().with("beta", 0.9).unwrap();
    assert_eq!(spec.to_string(), "cubic,beta=0.9,c=0.4");
    assert!(spec.with("beta", "0.5,c=1").is_err(), "would be read back as two values");
}

fn values() -> impl Strategy<Value = Vec<(String, String)>> {
    let value = "[!-+\\--~]( ?[!-+\\--~]){0,6}";
    prop::collection::vec(("[a-z][a-z0-9_-]{0,8}", value), 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_spec_is_read_back_as_it_was(name in "[A-Za-z0-9._+*-]{1,20}", values in values()) {
        let mut spec = PolicySpec::new(&name).unwrap();
        for (parameter, value) in &values {
            spec = spec.with(parameter, value).unwrap();
        }
        prop_assert_eq!(spec.to_string().parse::<PolicySpec>(), Ok(spec));
    }

    #[test]
    fn any_text_is_read_or_refused_and_what_is_read_round_trips(text in "[ -~é]{0,40}") {
        if let Ok(spec) = text.parse::<PolicySpec>() {
            prop_assert_eq!(spec.to_string().parse::<PolicySpec>(), Ok(spec));
        }
    }
}
