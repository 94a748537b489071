//! The two halves of a request's stream, whichever end this is.

use bytes::{Buf, Bytes};
use h3::error::{Code, StreamError};
use hawser_h3::{RecvStream, SendStream};

/// What is sent on a stream.
pub(crate) trait Outgoing: Send + 'static {
    /// Sends this, once there is room.
    fn send(&mut self, data: Bytes) -> impl Future<Output = Result<(), StreamError>> + Send;
    /// Ends the stream behind what was sent.
    fn finish(&mut self) -> impl Future<Output = Result<(), StreamError>> + Send;
    /// Breaks it off.
    fn reset(&mut self, code: Code);
}

/// What is received on a stream.
pub(crate) trait Incoming: Send + 'static {
    /// The next piece; `None` at the end.
    fn receive(&mut self) -> impl Future<Output = Result<Option<Bytes>, StreamError>> + Send;
    /// Wants no more of it.
    fn stop(&mut self, code: Code);
}

macro_rules! halves {
    ($end:ident) => {
        impl Outgoing for h3::$end::RequestStream<SendStream<Bytes>, Bytes> {
            async fn send(&mut self, data: Bytes) -> Result<(), StreamError> {
                self.send_data(data).await
            }

            async fn finish(&mut self) -> Result<(), StreamError> {
                self.finish().await
            }

            fn reset(&mut self, code: Code) {
                self.stop_stream(code);
            }
        }

        impl Incoming for h3::$end::RequestStream<RecvStream, Bytes> {
            async fn receive(&mut self) -> Result<Option<Bytes>, StreamError> {
                // h3 hands out the transport's buffers: this does not copy.
                Ok(self.recv_data().await?.map(|mut data| data.copy_to_bytes(data.remaining())))
            }

            fn stop(&mut self, code: Code) {
                self.stop_sending(code);
            }
        }
    };
}

halves!(client);
halves!(server);

/// A half of which a piece was read before.
pub(crate) struct Prefixed<I> {
    /// That piece.
    pub(crate) first: Option<Bytes>,
    /// The rest.
    pub(crate) rest: I,
}

impl<I: Incoming> Incoming for Prefixed<I> {
    async fn receive(&mut self) -> Result<Option<Bytes>, StreamError> {
        match self.first.take() {
            Some(first) => Ok(Some(first)),
            None => self.rest.receive().await,
        }
    }

    fn stop(&mut self, code: Code) {
        self.rest.stop(code);
    }
}
