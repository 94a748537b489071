//! What of a server's transport parameters both ends remember for 0-RTT (RFC 9000 section 7.4.1).

use hawser_wire::TransportParameters;
use hawser_wire::transport_parameters::Role;

/// How many they are.
const COUNT: usize = 8;

/// Limits that 0-RTT data keeps to: those of the connection in which the server gave the ticket. Parameters of extensions
/// are not among them, `initial_max_path_id` in particular (draft-ietf-quic-multipath-21 section 2.1), but
/// `max_datagram_frame_size` is (RFC 9221 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RememberedLimits([u64; COUNT]);

impl RememberedLimits {
    /// Bytes of the encoding.
    pub(crate) const LEN: usize = 8 * COUNT;

    /// Those among all the parameters of a server.
    //= multipath-2.1-6: initial_max_path_id is not remembered for later connections
    //= rfc9000-7.4.1-2: parameters that are never remembered for 0-RTT
    //= rfc9000-7.4.1-4: all parameters that the RFC does not name are remembered for 0-RTT
    //= rfc9000-7.4.1-6: a server that accepts 0-RTT lowers none of the parameters that the RFC lists
    //= rfc9221-3-6: a server that accepts 0-RTT does not lower max_datagram_frame_size
    //= rfc9221-3-7: the client checks that max_datagram_frame_size was not lowered
    pub(crate) fn of(parameters: &TransportParameters) -> Self {
        RememberedLimits([
            parameters.active_connection_id_limit,
            parameters.initial_max_data,
            parameters.initial_max_stream_data_bidi_local,
            parameters.initial_max_stream_data_bidi_remote,
            parameters.initial_max_stream_data_uni,
            parameters.initial_max_streams_bidi,
            parameters.initial_max_streams_uni,
            parameters.max_datagram_frame_size,
        ])
    }

    /// The same from a server's encoded parameters; `None` if they are malformed.
    pub(crate) fn of_encoded(parameters: &[u8]) -> Option<Self> {
        Some(Self::of(&TransportParameters::decode(parameters, Role::Server).ok()?))
    }

    /// Whether a client that keeps to these limits keeps to `others` as well.
    //= rfc9000-7.4.1-5: a server that accepts 0-RTT lowers no limit
    pub(crate) fn fit_within(&self, others: &Self) -> bool {
        self.0.iter().zip(&others.0).all(|(ours, theirs)| ours <= theirs)
    }

    /// Parameters that say this and nothing else.
    pub(crate) fn to_parameters(self) -> TransportParameters {
        let [cids, data, bidi_local, bidi_remote, uni, streams_bidi, streams_uni, datagrams] = self.0;
        TransportParameters {
            active_connection_id_limit: cids,
            initial_max_data: data,
            initial_max_stream_data_bidi_local: bidi_local,
            initial_max_stream_data_bidi_remote: bidi_remote,
            initial_max_stream_data_uni: uni,
            initial_max_streams_bidi: streams_bidi,
            initial_max_streams_uni: streams_uni,
            max_datagram_frame_size: datagrams,
            ..TransportParameters::default()
        }
    }

    /// For those who keep them with a ticket.
    pub(crate) fn encode(&self) -> Vec<u8> {
        self.0.iter().flat_map(|limit| limit.to_be_bytes()).collect()
    }

    /// What [`encode`](Self::encode) made, and what follows it.
    pub(crate) fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (limits, rest) = bytes.split_at_checked(Self::LEN)?;
        let mut decoded = [0; COUNT];
        for (limit, bytes) in decoded.iter_mut().zip(limits.chunks_exact(8)) {
            *limit = u64::from_be_bytes(bytes.try_into().ok()?);
        }
        Some((RememberedLimits(decoded), rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(data: u64, streams: u64) -> RememberedLimits {
        let parameters = TransportParameters {
            initial_max_data: data,
            initial_max_streams_bidi: streams,
            ..TransportParameters::default()
        };
        RememberedLimits::of(&parameters)
    }

    //= rfc9000-7.4.1-6
    #[test]
    fn no_limit_may_be_smaller() {
        assert!(limits(1, 2).fit_within(&limits(1, 2)) && limits(1, 2).fit_within(&limits(5, 2)));
        assert!(!limits(1, 2).fit_within(&limits(5, 1)) && !limits(2, 2).fit_within(&limits(1, 9)));
    }

    #[test]
    fn what_was_encoded_is_read_again() {
        let bytes = [limits(7, 9).encode(), b"rest".to_vec()].concat();
        assert_eq!(RememberedLimits::decode(&bytes), Some((limits(7, 9), &b"rest"[..])));
        assert_eq!(RememberedLimits::decode(&bytes[..RememberedLimits::LEN - 1]), None);
        assert_eq!(RememberedLimits::of(&limits(7, 9).to_parameters()), limits(7, 9));
    }
}
