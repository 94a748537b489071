use super::callers::key_of;
use super::*;

#[test]
fn the_key_is_found_in_every_usual_stream_id() {
    for id in [
        "a-key",
        "live/a-key",
        "publish:live/a-key",
        "publish:a-key:user:pass",
        "#!::r=live/a-key,m=publish",
        "#!::m=publish,r=a-key",
        "a-key?x=y",
    ] {
        assert_eq!(key_of(id.as_bytes()), "a-key", "{id}");
    }
    assert_eq!(
        (key_of(b""), key_of(b"#!::m=publish"), key_of(&[0xff])),
        (String::new(), String::new(), "\u{fffd}".to_owned())
    );
}

#[test]
fn a_server_is_named_by_a_url() {
    let target: Target = "srt://host:9001?streamid=publish:live/x&mode=caller".parse().unwrap();
    assert_eq!(
        (target.address.to_string().as_str(), target.stream_id.as_str()),
        ("host:9001", "publish:live/x")
    );
    assert_eq!("srt://host".parse::<Target>().unwrap().address.to_string(), "host:9000");
    for text in ["host:9000", "srt://", "srt://host?passphrase=secret", "srt://host?mode=listener"] {
        assert!(text.parse::<Target>().is_err(), "{text}");
    }
}

#[test]
fn what_is_neither_an_address_nor_a_call_is_told_of_both() {
    let said = "9000".parse::<Direction>().err().unwrap_or_default();
    assert!(said.contains("ADDRESS:PORT") && said.contains("srt://HOST:PORT?streamid=ID"), "{said}");
}
