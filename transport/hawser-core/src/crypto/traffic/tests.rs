use ::rustls::CipherSuite;
use ::rustls::crypto::tls13::OkmBlock;
use hawser_policy::Side;
use hawser_wire::Version;

use super::{KeyDerivation, TrafficSecrets};
use crate::crypto::default_provider;

const SECRET: &str = "9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b";

/// RFC 9001 and RFC 9369, appendix A.5: from the secret to the packet, and to the secret of the next key phase.
#[test]
fn chacha20_packets_of_the_standards() {
    let provider = default_provider();
    let name = CipherSuite::TLS13_CHACHA20_POLY1305_SHA256;
    let suite = provider.cipher_suites.iter().find(|suite| suite.suite() == name).unwrap().tls13().unwrap();
    let secret = OkmBlock::new(&hex::decode(SECRET).unwrap());
    let secrets = TrafficSecrets { client: OkmBlock::new(&[1; 32]), server: secret };
    for (version, packet, updated) in [
        (
            Version::V1,
            "4cfe4189655e5cd55c41f69080575d7999c25a5bfb",
            "1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9",
        ),
        (
            Version::V2,
            "5558b1c60ae7b6b932bc27d786f4bc2bb20f2162ba",
            "c69374c49e3d2a9466fa689e49d476db5d0dfbc87d32ceeaa6343fd0ae4c7d88",
        ),
    ] {
        let derivation = KeyDerivation { suite, version, side: Side::Server };
        let keys = derivation.keys(&secrets).unwrap();
        let mut sealed = [&hex::decode("4200bff401").unwrap()[..], &[0; 16]].concat();
        keys.packet.local.seal(0, 654_360_564, &mut sealed, 4);
        keys.header_local.protect(1, &mut sealed);
        assert_eq!(hex::encode(&sealed), packet);
        let next = derivation.update(&secrets).unwrap();
        assert_eq!(hex::encode(next.server.as_ref()), updated);
    }
}
