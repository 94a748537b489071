//! The file that says which server this is to the load balancer in front of it.

use std::path::Path;

use serde::Deserialize;

use hawser::quic_lb::{QuicLbCodec, QuicLbServer};
use hawser_command::exit::{Exit, Failure};

/// The names are those of the draft's YANG model for servers (appendix A of draft-ietf-quic-load-balancers).
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    config_id: u8,
    #[serde(default)]
    first_octet_encodes_cid_length: bool,
    server_id_length: usize,
    nonce_length: usize,
    cid_key: Option<String>,
    server_id: String,
}

/// Reads a configuration.
///
/// # Errors
/// When the file cannot be read, or says something else.
pub(super) fn read(path: &Path) -> Result<QuicLbServer, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::read(path, &error))?;
    parse(&text).map_err(|problem| Failure::new(Exit::NotRead, format!("{}: {problem}", path.display())))
}

fn parse(text: &str) -> Result<QuicLbServer, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
    let key = file.cid_key.as_deref().map(|text| {
        let bytes = hexadecimal(text).and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
        bytes.ok_or_else(|| {
            format!(
                "cid-key = {text:?}: expected 16 bytes as hexadecimal digits, as of `openssl rand -hex 16`"
            )
        })
    });
    let codec = QuicLbCodec::new(file.config_id, file.server_id_length, file.nonce_length, key.transpose()?)
        .map_err(|error| error.to_string())?;
    let server_id = hexadecimal(&file.server_id)
        .ok_or_else(|| format!("server-id = {:?}: expected bytes as hexadecimal digits", file.server_id))?;
    let server = QuicLbServer::new(codec, &server_id).map_err(|error| error.to_string())?;
    Ok(server.encode_length(file.first_octet_encodes_cid_length))
}

/// Bytes as YANG's hex-string has them, with colons between, or without.
fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    if !text.contains(':') {
        return hex::decode(text).ok();
    }
    let byte = |digits: &str| hex::decode(digits).ok().filter(|byte| byte.len() == 1);
    text.split(':').map(byte).collect::<Option<Vec<_>>>().map(|bytes| bytes.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
        config-id = 2\nserver-id-length = 2\nnonce-length = 6\nserver-id = \"00:2a\"\n\
        cid-key = \"8f95f09245765f80256934e50c66207f\"\nfirst-octet-encodes-cid-length = true\n";

    fn problem(from: &str, to: &str) -> String {
        assert!(FILE.contains(from));
        parse(&FILE.replace(from, to)).unwrap_err()
    }

    #[test]
    fn a_file_with_the_fields_of_the_draft_is_read() {
        let server = parse(FILE).unwrap();
        assert_eq!((server.server_id(), server.connection_id_length()), (&[0, 0x2a][..], 9));
        assert!(server.codec().is_encrypted());
        let colons = FILE.replace("8f95f0", "8f:95:f0:");
        assert!(parse(&colons).is_err(), "colons between all bytes or none");
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(problem("config-id = 2", "config-id = 7").contains("expected 0 to 6"));
        assert!(problem("nonce-length = 6", "nonce-length = 3").contains("expected 4 to 18"));
        assert!(problem("00:2a", "2a").contains("server-id-length is 2"));
        assert!(problem("00:2a", "0x2a").contains("server-id = \"0x2a\": expected bytes"));
        assert!(problem("8f95", "8f").contains("expected 16 bytes"));
        assert!(problem("server-id = \"00:2a\"\n", "").contains("missing field `server-id`"));
        assert!(problem("cid-key", "key").contains("unknown field `key`"));
    }
}
