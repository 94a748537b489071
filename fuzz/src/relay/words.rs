//! Lines, names and fields: of publishers and players, in stream ids of SRT, of players over HTTP, of hooks.

use hawser_live::fuzzing;

use crate::json;

/// The first byte says what the rest is.
pub(super) fn words(data: &[u8]) {
    let Some((&which, rest)) = data.split_first() else { return };
    let text = std::str::from_utf8(rest).ok();
    match which % 6 {
        0 => json::means_the_same(rest, fuzzing::request),
        1 => json::means_the_same(rest, fuzzing::answer),
        2 => {
            // No part of a path, and no parameters, are left in a key.
            let key = fuzzing::srt_key(rest);
            assert!(!key.contains(['/', '?', ':']) && key.len() <= 3 * rest.len());
        }
        3 => {
            if let Some(awaited @ (number, part)) = text.and_then(fuzzing::awaited) {
                let part = part.map(|part| format!("&_HLS_part={part}")).unwrap_or_default();
                assert_eq!(fuzzing::awaited(&format!("_HLS_msn={number}{part}")), Some(awaited));
            }
        }
        4 => {
            if let Some(name) = text.and_then(fuzzing::name) {
                assert!(rest.starts_with(name.as_bytes()) && name.len() < rest.len());
            }
        }
        _ => assert!(fuzzing::hook_status(rest).is_none_or(|status| (100..1_000).contains(&status))),
    }
}
