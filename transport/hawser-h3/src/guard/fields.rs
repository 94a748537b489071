//! Field sections: how many lines, which pseudo-header fields, and no fields of HTTP/1.1's connections (RFC 9114 sections 4.2
//! and 4.3, RFC 9204 section 4.5).

use h3::error::Code;

use super::{MAX_FIELD_LINES, Violation};

/// What a field section belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Request,
    Response,
    Trailers,
}

/// What a section that is well-formed says of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    /// It is the last but for trailers.
    Final,
    /// It is an informational response, which another one follows (RFC 9110 section 15.2).
    Informational,
}

/// What is wrong with a field section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// The message is (RFC 9114 section 4.1.2), its stream suffers.
    Malformed,
    /// It can not be read, and the connection with it.
    Fatal(Violation),
}

/// Pseudo-header fields, one bit each.
const AUTHORITY: u8 = 1;
const METHOD: u8 = 2;
const PATH: u8 = 4;
const PROTOCOL: u8 = 8;
const SCHEME: u8 = 16;
const STATUS: u8 = 32;

/// Their names, and these in the Huffman code of RFC 7541 appendix B.
const NAMES: [(u8, &[u8], &[u8]); 6] = [
    (AUTHORITY, b":authority", b"\xb8\x3b\x53\x39\xec\x32\x7d\x7f"),
    (METHOD, b":method", b"\xb9\x49\x53\x39\xe4"),
    (PATH, b":path", b"\xb9\x58\xd3\x3f"),
    (PROTOCOL, b":protocol", b"\xb9\x5d\x87\x49\xc8\x7a\x3f"),
    (SCHEME, b":scheme", b"\xb8\x82\x4e\x5a\x4b"),
    (STATUS, b":status", b"\xb8\x84\x8d\x36\xa3"),
];

/// Fields about the connection (RFC 9110 section 7.6.1), which HTTP/3 has no use for, and the same in Huffman code. The static
/// table has none of them.
const CONNECTION_SPECIFIC: [(&[u8], &[u8]); 5] = [
    (b"connection", b"\x21\xea\xa8\xa4\x49\x8f\x57"),
    (b"keep-alive", b"\xea\x52\xd6\xb0\xe8\x37\x72\xff"),
    (b"proxy-connection", b"\xae\xc3\xf9\xf4\xb1\x0f\x55\x45\x22\x4c\x7a\xbf"),
    (b"transfer-encoding", b"\x4d\x83\xa9\x12\x96\xc5\x8b\x51\x0f\x21\xaa\x9b"),
    (b"upgrade", b"\xb6\xb9\xac\x1c\x85"),
];
/// The one that may stay, with one value.
const TE: (&[u8], &[u8]) = (b"te", b"\x49\x7f");
const TRAILERS: (&[u8], &[u8]) = (b"trailers", b"\x4d\x83\x35\x05\xb1\x1f");

/// Checks an encoded field section.
//= rfc9114-4.1.2-3: no malformed response is accepted
//= rfc9114-4.2-2: a message with uppercase field names is malformed
//= rfc9114-4.3-2: pseudo-header fields of requests are not in responses, nor the other way
//= rfc9114-4.3-3: no pseudo-header fields in trailers
//= rfc9114-4.3-4: unknown or invalid pseudo-header fields: malformed
//= rfc9114-4.3-6: a pseudo-header field after a regular field: malformed
//= rfc9114-4.3.1-6: one each of :method, :scheme and :path
//= rfc9114-4.3.1-7: a request has :authority or Host
//= rfc9114-4.3.1-8: :authority and Host are not empty
//= rfc9114-4.3.1-9: :authority and Host say the same
//= rfc9114-4.3.2-1: responses have :status
//= rfc9114-10.3-1: invalid field names: malformed
//= rfc9114-10.3-2: invalid field values: malformed
pub(super) fn check(section: &[u8], of: Section) -> Result<Says, Problem> {
    let allowed = match of {
        Section::Request => !STATUS,
        Section::Response => STATUS,
        Section::Trailers => 0,
    };
    let mut rest = Reader { bytes: section };
    // RFC 9204 section 4.5.1: without a dynamic table both are zero, or irrelevant.
    if rest.integer(8)? != 0 {
        return Err(dynamic());
    }
    rest.integer(7)?;
    let (mut seen, mut lines, mut is_regular, mut says) = (0, 0, false, Says::Final);
    while !rest.bytes.is_empty() {
        lines += 1;
        if lines > MAX_FIELD_LINES {
            let reason = "a field section of too many lines";
            return Err(Problem::Fatal(Violation::new(Code::H3_EXCESSIVE_LOAD, reason)));
        }
        match rest.line(&mut says)? {
            Name::Regular => is_regular = true,
            Name::ConnectionSpecific => return Err(Problem::Malformed),
            // `h3` knows no others.
            Name::Pseudo(None) => return Err(Problem::Malformed),
            Name::Pseudo(Some(bit)) => {
                if is_regular || seen & bit != 0 || allowed & bit == 0 {
                    return Err(Problem::Malformed);
                }
                seen |= bit;
            }
        }
    }
    Ok(says)
}

/// What a field line names.
enum Name {
    Regular,
    /// RFC 9114 section 4.2.
    ConnectionSpecific,
    /// A pseudo-header field, if it is a known one.
    Pseudo(Option<u8>),
}

/// What a line of a request's field section is about, as far as it matters to those who rewrite it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestField {
    /// `:method`
    Method,
    /// `:scheme`
    Scheme,
    /// `:path`
    Path,
    /// `:protocol` (RFC 8441 section 4)
    Protocol,
    /// Anything else.
    Other,
}

/// The encoded lines of a field section, one by one.
#[derive(Debug)]
pub(crate) struct FieldLines<'a> {
    prefix: &'a [u8],
    lines: Vec<(RequestField, &'a [u8])>,
}

impl<'a> FieldLines<'a> {
    /// Splits an encoded field section; `None` if it cannot be decoded or has too many lines.
    pub(crate) fn read(section: &'a [u8]) -> Option<Self> {
        let mut rest = Reader { bytes: section };
        rest.integer(8).ok()?;
        rest.integer(7).ok()?;
        let prefix = section.get(..section.len() - rest.bytes.len())?;
        let mut lines = Vec::new();
        while !rest.bytes.is_empty() {
            let before = rest.bytes;
            let field = match rest.line(&mut Says::Final).ok()? {
                Name::Pseudo(Some(METHOD)) => RequestField::Method,
                Name::Pseudo(Some(SCHEME)) => RequestField::Scheme,
                Name::Pseudo(Some(PATH)) => RequestField::Path,
                Name::Pseudo(Some(PROTOCOL)) => RequestField::Protocol,
                _ => RequestField::Other,
            };
            if lines.len() as u64 >= MAX_FIELD_LINES {
                return None;
            }
            lines.push((field, before.get(..before.len() - rest.bytes.len())?));
        }
        Some(FieldLines { prefix, lines })
    }

    /// Required Insert Count and Base (RFC 9204 section 4.5.1).
    pub(crate) fn prefix(&self) -> &'a [u8] {
        self.prefix
    }

    /// What each line is about, and its bytes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (RequestField, &'a [u8])> + '_ {
        self.lines.iter().copied()
    }
}

impl Name {
    /// A status that begins with 1. Its Huffman code is 00001.
    fn note(&self, (is_huffman, value): Coded<'_>, says: &mut Says) {
        let is_one =
            value.first().is_some_and(|first| if is_huffman { first >> 3 == 1 } else { *first == b'1' });
        if matches!(self, Name::Pseudo(Some(STATUS))) && is_one {
            *says = Says::Informational;
        }
    }
}

/// The rest of a field section.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A field line (RFC 9204 section 4.5.2 and following). Notes the status of an informational response.
    fn line(&mut self, says: &mut Says) -> Result<Name, Problem> {
        match self.bytes.first().copied().unwrap_or_default() {
            // Indexed, from the static table.
            first if first & 0xc0 == 0xc0 => {
                let index = self.integer(6)?;
                if INFORMATIONAL.contains(&index) {
                    *says = Says::Informational;
                }
                static_name(index)
            }
            // A name of the static table with a value of its own.
            first if first & 0xd0 == 0x50 => {
                let name = static_name(self.integer(4)?)?;
                name.note(self.string(7)?, says);
                Ok(name)
            }
            first if first & 0xe0 == 0x20 => {
                let name = self.string(3)?;
                let value = self.string(7)?;
                let name = literal_name(name, value);
                name.note(value, says);
                Ok(name)
            }
            _ => Err(dynamic()),
        }
    }

    /// An integer with this many bits in its first byte (RFC 7541 section 5.1), of 28 bits at most.
    fn integer(&mut self, prefix: u32) -> Result<u64, Problem> {
        let mask = u8::try_from((1_u32 << prefix) - 1).unwrap_or(u8::MAX);
        let first = self.byte()? & mask;
        let mut value = u64::from(first);
        if first == mask {
            for shift in [0, 7, 14, 21, 28] {
                let byte = self.byte()?;
                value += u64::from(byte & 0x7f) << shift;
                if byte & 0x80 == 0 {
                    return Ok(value);
                }
            }
            return Err(undecodable());
        }
        Ok(value)
    }

    /// A string with the bit for Huffman before its length (RFC 9204 section 4.1.2).
    fn string(&mut self, prefix: u32) -> Result<Coded<'a>, Problem> {
        let is_huffman = self.bytes.first().is_some_and(|first| first >> prefix & 1 == 1);
        let length = usize::try_from(self.integer(prefix)?).map_err(|_| undecodable())?;
        let (string, rest) = self.bytes.split_at_checked(length).ok_or_else(undecodable)?;
        self.bytes = rest;
        Ok((is_huffman, string))
    }

    fn byte(&mut self) -> Result<u8, Problem> {
        let (first, rest) = self.bytes.split_first().ok_or_else(undecodable)?;
        self.bytes = rest;
        Ok(*first)
    }
}

/// Lines of the static table with an informational status: 103 and 100.
const INFORMATIONAL: [u64; 2] = [24, 63];
/// The last line of the static table.
const LAST_STATIC_INDEX: u64 = 98;

/// RFC 9204 appendix A. What lies beyond the table costs the connection (section 3.1), and is found here rather than by
/// `h3`: that drops the stream first, and the peer would hear of a cancelled request before it hears why.
fn static_name(index: u64) -> Result<Name, Problem> {
    if index > LAST_STATIC_INDEX {
        return Err(undecodable());
    }
    Ok(match index {
        0 => Name::Pseudo(Some(AUTHORITY)),
        1 => Name::Pseudo(Some(PATH)),
        15..=21 => Name::Pseudo(Some(METHOD)),
        22 | 23 => Name::Pseudo(Some(SCHEME)),
        24..=28 | 63..=71 => Name::Pseudo(Some(STATUS)),
        _ => Name::Regular,
    })
}

/// A string as it came: whether in Huffman code, and its bytes.
type Coded<'a> = (bool, &'a [u8]);

//= rfc9114-4.1-5: Transfer-Encoding is not used
//= rfc9114-4.2-3: a message with fields about the connection is malformed
//= rfc9114-4.2-4: TE says "trailers" or nothing
fn literal_name((is_huffman, name): Coded<'_>, value: Coded<'_>) -> Name {
    // A colon is seven bits long in the Huffman code: 1011100.
    let is_pseudo =
        name.first().is_some_and(|first| if is_huffman { first >> 1 == 0x5c } else { *first == b':' });
    if is_pseudo {
        let known = NAMES.iter().find(|(_, plain, coded)| name == if is_huffman { *coded } else { *plain });
        return Name::Pseudo(known.map(|(bit, ..)| *bit));
    }
    let is_specific = CONNECTION_SPECIFIC.iter().any(|known| is((is_huffman, name), *known))
        || (is((is_huffman, name), TE) && !is(value, TRAILERS));
    if is_specific { Name::ConnectionSpecific } else { Name::Regular }
}

/// Whether a string is this one, given plain and in Huffman code.
fn is((is_huffman, string): Coded<'_>, (plain, coded): (&[u8], &[u8])) -> bool {
    string == if is_huffman { coded } else { plain }
}

/// We offer no dynamic table.
fn dynamic() -> Problem {
    let reason = "a field section refers to a dynamic table, which has no capacity";
    Problem::Fatal(Violation::new(Code::QPACK_DECOMPRESSION_FAILED, reason))
}

fn undecodable() -> Problem {
    Problem::Fatal(Violation::new(Code::QPACK_DECOMPRESSION_FAILED, "a field section can not be decoded"))
}
