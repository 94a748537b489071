//! Transport parameters to bytes.

use super::{AddressDiscovery, ReservedParameter, TransportParameters};
use crate::codepoints::transport_parameter as id;
use crate::varint;
use crate::writer::{BufferTooShort, LengthCounter, Sink, Writer};

impl TransportParameters {
    /// Writes the parameters, those with their default left out, and at the end one without meaning if `reserved` is
    /// given.
    ///
    /// # Errors
    /// [`BufferTooShort`] if they do not fit; the writer is then as before.
    //= rfc9000-7.4-2: no parameter is sent twice
    pub fn encode(
        &self,
        w: &mut Writer<'_>,
        reserved: Option<ReservedParameter<'_>>,
    ) -> Result<(), BufferTooShort> {
        let start = w.position();
        self.encode_to(w, reserved).inspect_err(|_| w.rewind(start))
    }

    /// Bytes that [`TransportParameters::encode`] writes.
    pub fn encoded_len(&self, reserved: Option<ReservedParameter<'_>>) -> usize {
        let mut counter = LengthCounter::default();
        // Counting cannot fail.
        let _ = self.encode_to(&mut counter, reserved);
        counter.0
    }

    /// The parameters as bytes of their own, as TLS wants them.
    pub fn to_vec(&self, reserved: Option<ReservedParameter<'_>>) -> Vec<u8> {
        let mut bytes = vec![0; self.encoded_len(reserved)];
        let written = self.encode(&mut Writer::new(&mut bytes), reserved);
        debug_assert_eq!(written, Ok(()), "encoded_len is exact");
        bytes
    }

    fn encode_to(
        &self,
        sink: &mut impl Sink,
        reserved: Option<ReservedParameter<'_>>,
    ) -> Result<(), BufferTooShort> {
        self.encode_integers(sink)?;
        self.encode_identifiers(sink)?;
        self.encode_extensions(sink)?;
        match reserved {
            Some(reserved) => bytes(sink, id::reserved(reserved.n), reserved.value),
            None => Ok(()),
        }
    }

    fn encode_integers(&self, sink: &mut impl Sink) -> Result<(), BufferTooShort> {
        let default = Self::default();
        for (id, value, default) in [
            (id::MAX_IDLE_TIMEOUT, self.max_idle_timeout, default.max_idle_timeout),
            (id::MAX_UDP_PAYLOAD_SIZE, self.max_udp_payload_size, default.max_udp_payload_size),
            (id::INITIAL_MAX_DATA, self.initial_max_data, 0),
            (id::INITIAL_MAX_STREAM_DATA_BIDI_LOCAL, self.initial_max_stream_data_bidi_local, 0),
            (id::INITIAL_MAX_STREAM_DATA_BIDI_REMOTE, self.initial_max_stream_data_bidi_remote, 0),
            (id::INITIAL_MAX_STREAM_DATA_UNI, self.initial_max_stream_data_uni, 0),
            (id::INITIAL_MAX_STREAMS_BIDI, self.initial_max_streams_bidi, 0),
            (id::INITIAL_MAX_STREAMS_UNI, self.initial_max_streams_uni, 0),
            (id::ACK_DELAY_EXPONENT, self.ack_delay_exponent.into(), default.ack_delay_exponent.into()),
            (id::MAX_ACK_DELAY, self.max_ack_delay.into(), default.max_ack_delay.into()),
            (
                id::ACTIVE_CONNECTION_ID_LIMIT,
                self.active_connection_id_limit,
                default.active_connection_id_limit,
            ),
            (id::MAX_DATAGRAM_FRAME_SIZE, self.max_datagram_frame_size, 0),
        ] {
            if value != default {
                integer(sink, id, value)?;
            }
        }
        Ok(())
    }

    fn encode_identifiers(&self, sink: &mut impl Sink) -> Result<(), BufferTooShort> {
        for (id, value) in [
            (id::ORIGINAL_DESTINATION_CONNECTION_ID, self.original_destination_connection_id),
            (id::INITIAL_SOURCE_CONNECTION_ID, self.initial_source_connection_id),
            (id::RETRY_SOURCE_CONNECTION_ID, self.retry_source_connection_id),
        ] {
            if let Some(value) = value {
                bytes(sink, id, value.as_bytes())?;
            }
        }
        if let Some(token) = &self.stateless_reset_token {
            bytes(sink, id::STATELESS_RESET_TOKEN, &token.0)?;
        }
        if let Some(information) = &self.version_information {
            nested(sink, id::VERSION_INFORMATION, information)?;
        }
        if let Some(address) = &self.preferred_address {
            nested(sink, id::PREFERRED_ADDRESS, address)?;
        }
        Ok(())
    }

    fn encode_extensions(&self, sink: &mut impl Sink) -> Result<(), BufferTooShort> {
        for (id, present) in [
            (id::DISABLE_ACTIVE_MIGRATION, self.disable_active_migration),
            (id::GREASE_QUIC_BIT, self.grease_quic_bit),
            (id::RESET_STREAM_AT, self.reset_stream_at),
        ] {
            if present {
                bytes(sink, id, &[])?;
            }
        }
        let address_discovery = self.address_discovery.map(|mode| match mode {
            AddressDiscovery::Provide => 0,
            AddressDiscovery::Receive => 1,
            AddressDiscovery::ProvideAndReceive => 2,
        });
        let timestamps_exponent =
            match (self.max_receive_timestamps_per_ack, self.receive_timestamps_exponent) {
                (None, _) | (_, 0) => None,
                (_, exponent) => Some(u64::from(exponent)),
            };
        for (id, value) in [
            (id::INITIAL_MAX_PATH_ID, self.initial_max_path_id.map(u64::from)),
            (id::MIN_ACK_DELAY, self.min_ack_delay),
            (id::MAX_RECEIVE_TIMESTAMPS_PER_ACK, self.max_receive_timestamps_per_ack),
            (id::RECEIVE_TIMESTAMPS_EXPONENT, timestamps_exponent),
            (id::ADDRESS_DISCOVERY, address_discovery),
        ] {
            if let Some(value) = value {
                integer(sink, id, value)?;
            }
        }
        if let Some(features) = self.features {
            nested(sink, id::HAWSER_FEATURES, &features)?;
        }
        Ok(())
    }
}

fn integer(sink: &mut impl Sink, id: u64, value: u64) -> Result<(), BufferTooShort> {
    sink.varint(id)?;
    sink.varint(varint::len(value) as u64)?;
    sink.varint(value)
}

fn bytes(sink: &mut impl Sink, id: u64, value: &[u8]) -> Result<(), BufferTooShort> {
    sink.varint(id)?;
    sink.varint(value.len() as u64)?;
    sink.bytes(value)
}

/// A value of several fields.
pub(super) trait Nested {
    fn encode_to(&self, sink: &mut impl Sink) -> Result<(), BufferTooShort>;
}

/// Measures the value first, then writes it.
fn nested(sink: &mut impl Sink, id: u64, value: &impl Nested) -> Result<(), BufferTooShort> {
    let mut counter = LengthCounter::default();
    value.encode_to(&mut counter)?;
    sink.varint(id)?;
    sink.varint(counter.0 as u64)?;
    value.encode_to(sink)
}
