//! The client: what is measured.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::try_join_all;

use crate::Error;
use crate::arrivals::Arrivals;
use crate::options::{ClientOptions, Workload};
use crate::process::{CpuTime, max_rss_kib};
use crate::report::ClientReport;
use crate::stack::{Connection, Connector, SendStream, Stack, drain};

/// A peer that falls silent must not hang a series of measurements.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) async fn run<S: Stack>(options: &ClientOptions) -> Result<(), Error> {
    let connector = Arc::new(S::connector(options)?);
    let work = async {
        match options.workload {
            Workload::Bulk { bytes } => bulk(&*connector, bytes, !options.links.is_empty()).await,
            Workload::Requests { count, bytes } => requests(&*connector, count, bytes).await,
            Workload::Handshakes { seconds, concurrency } => {
                handshakes(connector, Duration::from_secs_f64(seconds), concurrency).await
            }
        }
    };
    let mut report =
        tokio::time::timeout(PATIENCE, work).await.map_err(|_| "not done after two minutes")??;
    report.stack = S::NAME.to_owned();
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// Clock and CPU time since the start of what is measured.
struct Meter {
    began: Instant,
    cpu: CpuTime,
}

impl Meter {
    fn start() -> Self {
        Meter { began: Instant::now(), cpu: CpuTime::now() }
    }

    fn report(&self, workload: &str, count: u64, bytes: u64) -> ClientReport {
        ClientReport {
            stack: String::new(),
            workload: workload.to_owned(),
            bytes,
            count,
            seconds: self.began.elapsed().as_secs_f64(),
            cpu: CpuTime::now() - self.cpu,
            max_rss_kib: max_rss_kib(),
            arrivals: None,
        }
    }
}

/// One long stream. `with_handshake`: the clock starts before the connection does, as for a user's download.
async fn bulk<C: Connector>(connector: &C, wanted: u64, with_handshake: bool) -> Result<ClientReport, Error> {
    let mut meter = Meter::start();
    let mut arrivals = Arrivals::new();
    let mut connection = connector.connect().await?;
    if !with_handshake {
        (meter, arrivals) = (Meter::start(), Arrivals::new());
    }
    let mut receive = request(&mut connection, wanted).await?;
    let bytes = drain(&mut receive, |length| arrivals.record(meter.began.elapsed(), length)).await?;
    let mut report = meter.report("bulk", 1, bytes);
    report.arrivals = Some(arrivals.report());
    connection.close().await;
    expect(bytes, wanted)?;
    Ok(report)
}

async fn requests<C: Connector>(connector: &C, count: u64, wanted: u64) -> Result<ClientReport, Error> {
    let mut connection = connector.connect().await?;
    exchange(&mut connection, wanted).await?;
    let meter = Meter::start();
    for _ in 0..count {
        exchange(&mut connection, wanted).await?;
    }
    let report = meter.report("requests", count, count * wanted);
    connection.close().await;
    Ok(report)
}

async fn handshakes<C: Connector>(
    connector: Arc<C>,
    duration: Duration,
    concurrency: usize,
) -> Result<ClientReport, Error> {
    // The first handshake warms what a stack makes once.
    one_handshake(&*connector).await?;
    let meter = Meter::start();
    let began = meter.began;
    let workers = (0..concurrency).map(|_| {
        let connector = connector.clone();
        async move {
            let worker = tokio::spawn(async move {
                let mut count = 0;
                while began.elapsed() < duration {
                    one_handshake(&*connector).await?;
                    count += 1;
                }
                Ok::<u64, Error>(count)
            });
            worker.await?
        }
    });
    let count: u64 = try_join_all(workers).await?.into_iter().sum();
    Ok(meter.report("handshakes", count, count))
}

async fn one_handshake<C: Connector>(connector: &C) -> Result<(), Error> {
    let mut connection = connector.connect().await?;
    exchange(&mut connection, 1).await?;
    // Dropped, not closed with a wait: the close is sent, and the next handshake begins meanwhile.
    drop(connection);
    Ok(())
}

async fn exchange<C: Connection>(connection: &mut C, wanted: u64) -> Result<(), Error> {
    let mut receive = request(connection, wanted).await?;
    expect(drain(&mut receive, |_| ()).await?, wanted)
}

async fn request<C: Connection>(connection: &mut C, wanted: u64) -> Result<C::ReceiveStream, Error> {
    let (mut send, receive) = connection.open().await?;
    send.send(Bytes::copy_from_slice(&wanted.to_be_bytes())).await?;
    send.finish()?;
    Ok(receive)
}

fn expect(bytes: u64, wanted: u64) -> Result<(), Error> {
    if bytes == wanted { Ok(()) } else { Err(format!("{bytes} of {wanted} bytes came").into()) }
}
