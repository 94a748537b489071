//! How a trace begins.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use hawser_policy::{Side, Time, Trace, TraceSink};
use hawser_wire::TransportParameters;

use super::Tracer;
use super::header::Header;
use crate::connection::Connection;
use crate::connection::parameters::{OurHandshakeCids, local_parameters};
use crate::connection::qlog::QlogConnection;

impl Connection {
    /// Writes what the connection does from now on to `writer`, as qlog in JSON text sequences (usual ending: `.sqlog`).
    ///
    /// To see a connection from its first packet, set [`TransportConfig::qlog`](crate::TransportConfig::qlog) instead.
    /// Records are written one by one: pass a [`BufWriter`](io::BufWriter) for a file. It is flushed when the
    /// connection closes and when it is dropped. If writing fails the trace ends and the connection goes on; see
    /// [`qlog_error`](Self::qlog_error). Replaces an earlier trace.
    ///
    /// Contains addresses, as [`TransportConfig::qlog_addresses`](crate::TransportConfig::qlog_addresses) says, and connection
    /// ids, but no keys, no tokens and no application data.
    pub fn set_qlog(&mut self, writer: Box<dyn Write + Send>, title: &str) {
        let now = self.arrival.last_now;
        let origin = self.endpoint.unix_time_at_origin;
        let header = Header {
            title,
            side: self.side,
            original_destination: self.ends.identity.original_destination,
            began: (origin > Duration::ZERO).then(|| origin + now.since(Time::ZERO)),
            addresses: self.transport.qlog_addresses,
        };
        let mut tracer = Tracer::new(writer, now, &header);
        if let Some(path) = self.paths.at(0) {
            tracer.started(now, path.tuples.current(), &self.our_parameters());
            tracer.version(now, self.handshake.version.ours(), self.handshake.version.current());
        }
        tracer.state(now, self.trace_state());
        for path in self.paths.iter() {
            tracer.path_found(now, path);
        }
        let notes: Arc<dyn TraceSink> = tracer.records.notes();
        let sinks = self.transport.trace.iter().cloned().chain([notes]).collect();
        self.policies.set_trace(Trace::new(self.side, sinks));
        self.observed.tracer = Some(Box::new(tracer));
    }

    /// Why the trace ended early, if it did.
    pub fn qlog_error(&self) -> Option<io::ErrorKind> {
        self.observed.tracer.as_ref().and_then(|tracer| tracer.error())
    }

    /// Begins a trace if the configuration wants one.
    pub(in crate::connection) fn open_qlog(&mut self) {
        let Some(factory) = self.transport.qlog.clone() else { return };
        let about =
            QlogConnection { side: self.side, original_destination: self.ends.identity.original_destination };
        if let Some(writer) = factory(&about) {
            self.set_qlog(writer, "hawser");
        }
    }

    fn trace_state(&self) -> &'static str {
        if !self.closing.is_open() {
            "closing"
        } else if self.handshake.confirmed {
            "handshake_confirmed"
        } else if self.handshake.is_complete() {
            "handshake_complete"
        } else if self.handshake.handshake.is_some() {
            "handshake_started"
        } else {
            "attempted"
        }
    }

    /// Our transport parameters, made once more from what they were made of.
    fn our_parameters(&self) -> TransportParameters {
        let initial_source = self.ends.identity.local_cid;
        let cids = match self.side {
            Side::Client => OurHandshakeCids::Client { initial_source },
            Side::Server => OurHandshakeCids::Server {
                initial_source,
                reset_token: self.ends.cids.issuer.token(&initial_source),
                original_destination: self.ends.identity.original_destination,
                retry_source: self.ends.identity.retry_source,
                preferred: None,
                is_routable: self.ends.cids.issuer.is_routable(&initial_source),
            },
        };
        local_parameters(&self.transport, &self.endpoint, &cids)
    }
}
