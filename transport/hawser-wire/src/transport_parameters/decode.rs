//! Bytes to transport parameters, each checked against its form, its range and its sender.

use super::{
    AddressDiscovery, FeatureSet, PreferredAddress, Role, TransportParameterError,
    TransportParameterProblem as Problem, TransportParameters, VersionInformation,
};
use crate::cid::{ConnectionId, StatelessResetToken};
use crate::codepoints::transport_parameter as id;
use crate::frame::MAX_STREAM_COUNT;
use crate::reader::Reader;
use crate::varint;

type Decoded<T> = Result<T, Problem>;

/// The parameters that are read, in order: the place of each is its bit in the set of those seen.
const KNOWN: [u64; 27] = [
    id::ORIGINAL_DESTINATION_CONNECTION_ID,
    id::MAX_IDLE_TIMEOUT,
    id::STATELESS_RESET_TOKEN,
    id::MAX_UDP_PAYLOAD_SIZE,
    id::INITIAL_MAX_DATA,
    id::INITIAL_MAX_STREAM_DATA_BIDI_LOCAL,
    id::INITIAL_MAX_STREAM_DATA_BIDI_REMOTE,
    id::INITIAL_MAX_STREAM_DATA_UNI,
    id::INITIAL_MAX_STREAMS_BIDI,
    id::INITIAL_MAX_STREAMS_UNI,
    id::ACK_DELAY_EXPONENT,
    id::MAX_ACK_DELAY,
    id::DISABLE_ACTIVE_MIGRATION,
    id::PREFERRED_ADDRESS,
    id::ACTIVE_CONNECTION_ID_LIMIT,
    id::INITIAL_SOURCE_CONNECTION_ID,
    id::RETRY_SOURCE_CONNECTION_ID,
    id::VERSION_INFORMATION,
    id::RESET_STREAM_AT,
    id::MAX_DATAGRAM_FRAME_SIZE,
    id::INITIAL_MAX_PATH_ID,
    id::GREASE_QUIC_BIT,
    id::MAX_RECEIVE_TIMESTAMPS_PER_ACK,
    id::RECEIVE_TIMESTAMPS_EXPONENT,
    id::MIN_ACK_DELAY,
    id::ADDRESS_DISCOVERY,
    id::HAWSER_FEATURES,
];

impl TransportParameters {
    /// Reads the parameters that `sender` sent. Unknown ones are ignored.
    ///
    /// Whether the connection IDs in them are the right ones (RFC 9000 section 7.3) is for the caller to check.
    ///
    /// # Errors
    /// [`TransportParameterError`], naming the parameter at fault.
    //= rfc9000-7.4-1: an invalid parameter: TRANSPORT_PARAMETER_ERROR
    //= rfc9000-7.4-3: a parameter received twice: TRANSPORT_PARAMETER_ERROR
    //= rfc9000-7.4.2-1: unknown parameters are ignored
    pub fn decode(bytes: &[u8], sender: Role) -> Result<Self, TransportParameterError> {
        let mut parameters = Self::default();
        let mut r = Reader::new(bytes);
        let mut seen = 0_u32;
        let mut timestamps_exponent = None;
        while !r.is_empty() {
            // Where not even the identifier can be read, none is at fault: the first is as good as any.
            let id = r.read_varint().map_err(|end| TransportParameterError { id: 0, problem: end.into() })?;
            let fail = |problem| TransportParameterError { id, problem };
            let value = r.read_varint_prefixed().map_err(|end| fail(end.into()))?;
            let Some(place) = KNOWN.iter().position(|known| *known == id) else { continue };
            if seen & (1 << place) != 0 {
                return Err(fail(Problem::Duplicate));
            }
            seen |= 1 << place;
            if sender == Role::Client && is_server_only(id) {
                return Err(fail(Problem::ServerOnly));
            }
            match id {
                // Means nothing without another parameter, which may still come.
                id::RECEIVE_TIMESTAMPS_EXPONENT => timestamps_exponent = integer(value).ok(),
                id::VERSION_INFORMATION => {
                    let information =
                        whole(value, |r| VersionInformation::decode(r, sender)).map_err(fail)?;
                    parameters.version_information = Some(information);
                }
                _ => parameters.set(id, value).map_err(fail)?,
            }
        }
        parameters.check_ack_delays()?;
        parameters.check_timestamps(timestamps_exponent)?;
        Ok(parameters)
    }

    //= rfc9000-18.2-8: active_connection_id_limit below 2: TRANSPORT_PARAMETER_ERROR
    fn set(&mut self, id: u64, value: &[u8]) -> Decoded<()> {
        match id {
            id::ORIGINAL_DESTINATION_CONNECTION_ID => {
                self.original_destination_connection_id = Some(cid(value)?)
            }
            id::MAX_IDLE_TIMEOUT => self.max_idle_timeout = integer(value)?,
            id::STATELESS_RESET_TOKEN => {
                let token = value.try_into().map_err(|_| Problem::Malformed(value.len()))?;
                self.stateless_reset_token = Some(StatelessResetToken(token));
            }
            id::MAX_UDP_PAYLOAD_SIZE => self.max_udp_payload_size = within(value, 1200, varint::MAX)?,
            id::INITIAL_MAX_DATA => self.initial_max_data = integer(value)?,
            id::INITIAL_MAX_STREAM_DATA_BIDI_LOCAL => {
                self.initial_max_stream_data_bidi_local = integer(value)?
            }
            id::INITIAL_MAX_STREAM_DATA_BIDI_REMOTE => {
                self.initial_max_stream_data_bidi_remote = integer(value)?
            }
            id::INITIAL_MAX_STREAM_DATA_UNI => self.initial_max_stream_data_uni = integer(value)?,
            id::INITIAL_MAX_STREAMS_BIDI => {
                self.initial_max_streams_bidi = within(value, 0, MAX_STREAM_COUNT)?
            }
            id::INITIAL_MAX_STREAMS_UNI => self.initial_max_streams_uni = within(value, 0, MAX_STREAM_COUNT)?,
            id::ACK_DELAY_EXPONENT => self.ack_delay_exponent = within(value, 0, 20)? as u8,
            id::MAX_ACK_DELAY => self.max_ack_delay = within(value, 0, (1 << 14) - 1)? as u16,
            id::DISABLE_ACTIVE_MIGRATION => self.disable_active_migration = flag(value)?,
            id::PREFERRED_ADDRESS => self.preferred_address = Some(whole(value, PreferredAddress::decode)?),
            id::ACTIVE_CONNECTION_ID_LIMIT => {
                self.active_connection_id_limit = within(value, 2, varint::MAX)?
            }
            id::INITIAL_SOURCE_CONNECTION_ID => self.initial_source_connection_id = Some(cid(value)?),
            id::RETRY_SOURCE_CONNECTION_ID => self.retry_source_connection_id = Some(cid(value)?),
            _ => self.set_extension(id, value)?,
        }
        Ok(())
    }

    //= multipath-2.1-2: initial_max_path_id of 2^32 or more: TRANSPORT_PARAMETER_ERROR
    fn set_extension(&mut self, id: u64, value: &[u8]) -> Decoded<()> {
        match id {
            id::MAX_DATAGRAM_FRAME_SIZE => self.max_datagram_frame_size = integer(value)?,
            id::GREASE_QUIC_BIT => self.grease_quic_bit = flag(value)?,
            id::RESET_STREAM_AT => self.reset_stream_at = flag(value)?,
            id::INITIAL_MAX_PATH_ID => {
                self.initial_max_path_id = Some(within(value, 0, u64::from(u32::MAX))? as u32);
            }
            id::MIN_ACK_DELAY => self.min_ack_delay = Some(integer(value)?),
            id::MAX_RECEIVE_TIMESTAMPS_PER_ACK => self.max_receive_timestamps_per_ack = integer(value).ok(), // See `check_timestamps`.
            id::ADDRESS_DISCOVERY => {
                self.address_discovery = Some(match within(value, 0, 2)? {
                    0 => AddressDiscovery::Provide,
                    1 => AddressDiscovery::Receive,
                    _ => AddressDiscovery::ProvideAndReceive,
                });
            }
            id::HAWSER_FEATURES => {
                self.features = Some(whole(value, |r| FeatureSet::decode(r).map_err(Problem::from))?);
            }
            // The callers ask only for those in `KNOWN`, which are all above.
            _ => {}
        }
        Ok(())
    }

    fn check_ack_delays(&self) -> Result<(), TransportParameterError> {
        // draft-ietf-quic-ack-frequency section 3: one is in microseconds, the other in milliseconds.
        let max = u64::from(self.max_ack_delay) * 1000;
        match self.min_ack_delay {
            Some(value) if value > max => Err(TransportParameterError {
                id: id::MIN_ACK_DELAY,
                problem: Problem::OutOfRange { value, min: 0, max },
            }),
            _ => Ok(()),
        }
    }

    /// draft-ietf-quic-receive-ts-02 section 6: the exponent is to be ignored where no timestamps are asked for.
    ///
    /// The draft took two identifiers that RFC 9000 section 18.1 reserves (31 * 9876 + 27 and the next): a peer may
    /// send either with arbitrary bytes, to be ignored. So a value that is no integer counts as absent.
    fn check_timestamps(&mut self, exponent: Option<u64>) -> Result<(), TransportParameterError> {
        let (Some(_), Some(value)) = (self.max_receive_timestamps_per_ack, exponent) else { return Ok(()) };
        if value > 20 {
            let problem = Problem::OutOfRange { value, min: 0, max: 20 };
            return Err(TransportParameterError { id: id::RECEIVE_TIMESTAMPS_EXPONENT, problem });
        }
        self.receive_timestamps_exponent = value as u8;
        Ok(())
    }
}

//= rfc9000-18.2-10: a client that sends parameters of servers: TRANSPORT_PARAMETER_ERROR
fn is_server_only(id: u64) -> bool {
    matches!(
        id,
        id::ORIGINAL_DESTINATION_CONNECTION_ID
            | id::STATELESS_RESET_TOKEN
            | id::PREFERRED_ADDRESS
            | id::RETRY_SOURCE_CONNECTION_ID
    )
}

/// Reads a value that has to be used up.
fn whole<'a, T>(value: &'a [u8], read: impl FnOnce(&mut Reader<'a>) -> Decoded<T>) -> Decoded<T> {
    let mut r = Reader::new(value);
    let result = read(&mut r).map_err(|problem| match problem {
        // Inside a value whose length is known, missing bytes are a matter of its form.
        Problem::Truncated => Problem::Malformed(value.len()),
        other => other,
    })?;
    if !r.is_empty() {
        return Err(Problem::Malformed(value.len()));
    }
    Ok(result)
}

fn integer(value: &[u8]) -> Decoded<u64> {
    whole(value, |r| Ok(r.read_varint()?))
}

//= rfc9000-4.6-1: a stream limit above 2^60 closes with the code of where it came
fn within(bytes: &[u8], min: u64, max: u64) -> Decoded<u64> {
    match integer(bytes)? {
        value if value < min || value > max => Err(Problem::OutOfRange { value, min, max }),
        value => Ok(value),
    }
}

fn flag(value: &[u8]) -> Decoded<bool> {
    if value.is_empty() { Ok(true) } else { Err(Problem::Malformed(value.len())) }
}

fn cid(value: &[u8]) -> Decoded<ConnectionId> {
    ConnectionId::new(value).ok_or(Problem::ConnectionIdLength(value.len()))
}
