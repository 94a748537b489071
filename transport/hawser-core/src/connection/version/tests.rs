use hawser_wire::Version;
use hawser_wire::transport_parameters::VersionInformation;

use super::VersionState;
use crate::{Code, Versions};

const V1: u32 = Version::V1.number();
const V2: u32 = Version::V2.number();

fn information(chosen: u32, available: &[u32]) -> VersionInformation {
    VersionInformation { chosen, available: available.to_vec() }
}

fn state(original: Version) -> VersionState {
    VersionState::new(original, Versions::new([Version::V2, Version::V1]).unwrap())
}

/// A client that began with version 2 and then with version 1, because a packet said that there is nothing else.
fn fallen_back() -> VersionState {
    let mut state = state(Version::V2);
    assert_eq!(state.on_negotiation([0x1a1a_1a1a, V1].into_iter()), Some(Ok(Version::V1)));
    state
}

/// RFC 9368 sections 4 and 8.
#[test]
fn what_the_server_says_has_to_fit() {
    let mut moved = state(Version::V1);
    moved.switch(Version::V2);
    for (case, state, server, fits) in [
        ("nothing said, nothing changed", state(Version::V1), None, true),
        ("nothing said, version 2 throughout", state(Version::V2), None, true),
        ("confirmed", state(Version::V1), Some(information(V1, &[V1, V2])), true),
        ("about to be given up", state(Version::V1), Some(information(V1, &[])), true),
        ("another one chosen", state(Version::V1), Some(information(V2, &[V1, V2])), false),
        ("moved and confirmed", moved, Some(information(V2, &[V1, V2])), true),
        ("fell back to the only one", fallen_back(), Some(information(V1, &[V1, 0x2a2a_2a2a])), true),
        ("fell back, a server that knows nothing of this", fallen_back(), None, true),
        ("a version was hidden", fallen_back(), Some(information(V1, &[V1, V2])), false),
        ("a version was hidden, this one not listed", fallen_back(), Some(information(V1, &[V2])), false),
        ("fell back, nothing listed", fallen_back(), Some(information(V1, &[])), false),
    ] {
        let result = state.check_server(server.as_ref());
        assert_eq!(result.is_ok(), fits, "{case}: {result:?}");
    }
    let mut moved = state(Version::V1);
    moved.switch(Version::V2);
    let error = moved.check_server(None).unwrap_err();
    assert_eq!(error.code, Code::VERSION_NEGOTIATION_ERROR, "moved without a word");
}

#[test]
fn what_the_client_says_has_to_fit() {
    let mut server = state(Version::V1);
    server.switch(Version::V2);
    assert!(server.check_client(None).is_ok());
    assert!(server.check_client(Some(&information(V1, &[V1, V2]))).is_ok());
    let error = server.check_client(Some(&information(V2, &[V1, V2]))).unwrap_err();
    assert_eq!(error.code, Code::VERSION_NEGOTIATION_ERROR);
}

#[test]
fn negotiation_is_ignored_or_followed_or_hopeless() {
    let follow = |versions: &[u32]| state(Version::V2).on_negotiation(versions.iter().copied());
    assert_eq!(follow(&[V1, V2]), None, "the version that was refused is in it");
    assert_eq!(follow(&[0x0a0a_0a0a, V1]), Some(Ok(Version::V1)));
    assert_eq!(follow(&[0x0a0a_0a0a]), Some(Err(vec![0x0a0a_0a0a])));
    assert_eq!(fallen_back().on_negotiation([V2].into_iter()), None, "once");
    let many: Vec<u32> = (10..300).collect();
    assert_eq!(follow(&many).unwrap().unwrap_err().len(), super::MAX_TOLD);
}

#[test]
fn the_first_crypto_data_settles_it() {
    let mut client = state(Version::V1);
    assert!(client.may_become(Version::V2) && !client.may_become(Version::V1));
    client.settle();
    assert!(!client.may_become(Version::V2));
    let only = VersionState::new(Version::V1, Versions::only(Version::V1));
    assert!(!only.may_become(Version::V2), "not offered");
}
