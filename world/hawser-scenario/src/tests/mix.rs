//! What a tunnel carries at once.

use std::time::Duration;

use super::*;
use crate::{MixPackets, MixWeb, TunnelMix};

const HEAD: &str = r#"
version = 1
duration = "20 s"
[[link]]
name = "a"
rate = "10 Mbit/s"
delay = "10 ms"
[[flow]]
name = "tunnel"
kind = "tunnel-mix"
"#;

fn mix(parts: &str) -> Result<TunnelMix, String> {
    let scenario = parse(&format!("{HEAD}{parts}")).map_err(|error| error.to_string())?;
    match &scenario.flows[0].kind {
        FlowKind::TunnelMix(mix) => Ok(mix.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn mix_has_a_download_pages_a_call_and_a_game_unless_told_otherwise() {
    let all = mix("").unwrap();
    assert_eq!((all.bulk, all.udp, all.copies), (Some(Direction::Down), None, true));
    assert_eq!(all.call, Some(MixPackets { size: 160, every: Duration::from_millis(20) }));
    assert_eq!(all.web, Some(MixWeb { objects: 30, size: 30_000, think: Duration::from_secs(1) }));
    let parts = r#"
        bulk = { direction = "up" }
        web = false
        call = { every = "10 ms" }
        game = true
        udp = { rate = "8 Mbit/s", size = 1000 }
        copies = false
    "#;
    let some = mix(parts).unwrap();
    assert_eq!((some.bulk, some.web, some.copies), (Some(Direction::Up), None, false));
    assert_eq!(some.call, Some(MixPackets { size: 160, every: Duration::from_millis(10) }));
    assert_eq!(
        (some.game, some.udp),
        (all.game, Some(MixPackets { size: 1_000, every: Duration::from_millis(1) }))
    );
}

#[test]
fn wrong_parts_of_a_mix_are_named_with_what_is_allowed() {
    let said = |parts: &str| mix(parts).expect_err(parts);
    for (parts, place, why) in [
        ("call = 3", "flow.tunnel.call", "a table, or false to leave it out"),
        ("udp = true", "flow.tunnel.udp", "a table, or false to leave it out"),
        ("udp = { size = 500 }", "flow.tunnel.udp", "rate"),
        ("udp = { rate = \"900 Gbit/s\" }", "flow.tunnel.udp.rate", "a packet per microsecond"),
        ("call = { size = 8 }", "flow.tunnel.call.size", "16 to 1132 bytes"),
        ("game = { size = 1200 }", "flow.tunnel.game.size", "16 to 1132 bytes"),
        ("game = { sizes = 100 }", "flow.tunnel.game", "sizes"),
        ("web = { objects = 0 }", "flow.tunnel.web.objects", "1"),
        ("bulk = { direction = \"sideways\" }", "flow.tunnel.bulk.direction", "\"up\""),
        ("bulk = { size = \"5 MB\" }", "flow.tunnel.bulk", "size"),
        ("copies = \"yes\"", "flow.tunnel.copies", "true or false"),
        ("bulk = false\nweb = false\ncall = false\ngame = false", "flow.tunnel", "at least one of"),
        ("on_off = { on = \"1 s\", off = \"1 s\" }", "flow.tunnel.on_off", "leave `on_off` out"),
        ("awaited = true", "flow.tunnel.awaited", "no end to wait for"),
    ] {
        let said = said(parts);
        assert!(said.contains(place) && said.contains(why), "{parts}: {said}");
    }
}
