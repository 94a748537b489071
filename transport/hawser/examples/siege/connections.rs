//! Connections that do nothing, those that are never completed, and datagrams of no connection.

use super::client::address;
use super::flood::{Sources, garbage};
use super::form::{FORM, Form, H3, HANDSHAKES, SIGNATURES};

pub(crate) const CONNECTIONS: &[Form] = &[
    Form {
        name: "half-open connections of one address",
        attack: |siege| Box::pin(async { siege.half_open(H3, 300, Sources::OneAddress) }),
        micros: SIGNATURES,
        ..FORM
    },
    Form {
        name: "half-open connections of many addresses",
        attack: |siege| Box::pin(async { siege.half_open(H3, 2_000, Sources::ManyAddresses) }),
        micros: SIGNATURES,
        // 40 KiB each, until a thousand of them wait: who comes then must prove the address.
        mebibytes: 64,
        ..FORM
    },
    Form {
        name: "idle connections",
        attack: |siege| {
            Box::pin(async {
                for _ in 0..200 {
                    siege.connect(1 << 16, 1 << 20).await?;
                }
                Ok(())
            })
        },
        micros: HANDSHAKES,
        ..FORM
    },
    Form {
        name: "garbage",
        attack: |siege| {
            Box::pin(async {
                siege.raw = (20_000, garbage(address(siege.server), 20_000)?);
                Ok(())
            })
        },
        mebibytes: 16,
        ..FORM
    },
    Form {
        name: "idle connections on all places",
        arguments: &["serve", "FOLDER", "--connections-per-source", "40"],
        attack: |siege| {
            Box::pin(async {
                // Those that come when there is no place left take that of an idle one.
                for _ in 0..120 {
                    siege.connect(1 << 16, 1 << 20).await?;
                }
                Ok(())
            })
        },
        micros: HANDSHAKES,
        ..FORM
    },
];
