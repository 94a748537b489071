use super::*;

/// `main` (engine) spends 10 itself and calls the core to send (140) and to receive (60). Either copies (80 and 20)
/// and looks at a stream (30 and 10), and the sender has code of the checksum within itself.
const PROFILE: &str = "\
version: 1
positions: line
events: Ir
summary: 210

fl=(1) /src/world/hawser-sim/src/engine.rs
fn=(1) main
1 8
fi=(9) /rustc/library/core/src/option.rs
+4 2
fe=(1)
cfi=(2) /src/transport/hawser-core/src/connection/build.rs
cfn=(2) hawser_core::connection::build::<impl hawser_core::connection::Connection>::poll_transmit
calls=1 5
* 140
cfn=(3) hawser_core::connection::receive::<impl hawser_core::connection::Connection>::handle_datagram
calls=1 5
-1 60

fl=(2)
fn=(2)
10 18
fi=(3) /src/transport/hawser-core/src/crypto/null/checksum.rs
20 12
fe=(2)
cfn=(4) memcpy
calls=3 1
11 80
cfi=(5) /src/transport/hawser-core/src/streams.rs
cfn=(5) stream
calls=1 1
12 30

fl=(6) /src/transport/hawser-core/src/connection/receive.rs
fn=(3)
9 30
cfn=(4)
calls=1 1
9 20
cfn=(5)
calls=1 1
9 10

fl=(7) ???
fn=(4)
0 100

fl=(5)
fn=(5)
1 40
";

fn share(shares: &Shares, component: Component) -> f64 {
    (shares[component as usize] * 1e6).round() / 1e6
}

#[test]
fn code_belongs_to_its_file_and_libraries_to_their_callers() {
    let shares = of(PROFILE).unwrap();
    assert_eq!(share(&shares, Send), 18.0 + 80.0 + 30.0);
    assert_eq!(share(&shares, Receive), 30.0 + 20.0 + 10.0);
    assert_eq!(share(&shares, Checksum), 12.0);
    assert_eq!(share(&shares, Engine), 10.0);
    assert_eq!(share(&shares, Core) + share(&shares, Links) + share(&shares, Applications), 0.0);
}

#[test]
fn components_are_in_the_order_of_their_numbers() {
    for (number, component) in COMPONENTS.into_iter().enumerate() {
        assert_eq!(component as usize, number);
    }
}

#[test]
fn a_profile_that_lost_instructions_is_refused() {
    assert!(of(&PROFILE.replace("20 12", "20 11")).unwrap_err().to_string().contains("209"));
}

#[test]
fn a_profile_without_the_core_is_refused() {
    assert!(of(&PROFILE.replace("poll_transmit", "renamed")).unwrap_err().to_string().contains("sending"));
}
