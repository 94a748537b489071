//! `hawser live publish`: from an encoder to a relay.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use super::downlink::Downlink;
use super::encoder::{Encoders, read_file};
use super::hub::{Hub, Next};
use super::protocol::{self, CODE_DONE, Request};
use super::rate::{self, Guide, LOOK, Look, Told};
use super::reconnecting::Reconnecting;
use super::status::Status;
use super::transport::UnitSender;
use super::{Address, ControlOptions, Publish, srt, tls, udp};
use hawser::Registry;
use hawser_command::address::listen_tcp;
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::options::ClientSetup;
use hawser_command::output::Output;
use hawser_command::paths::Flow;
use hawser_command::report::Channel;
use hawser_command::server::identity;
use hawser_command::session::Session;
use hawser_command::stall::in_time;

/// How long after an encoder that has gone without a word another one may follow it.
pub(super) const SUCCESSOR: Duration = Duration::from_secs(10);
/// How long what was sent last may take to arrive, and a connection may be missing for it.
const FAREWELL: Duration = Duration::from_secs(5);

/// Publishes until Ctrl-C, or until its input ends.
pub(super) async fn run(
    arguments: Publish,
    registry: &Arc<Registry>,
    output: Output,
    interrupt: Interrupt,
) -> Result<(), Failure> {
    let key = super::given_key(arguments.key.as_ref(), "--key", super::KEY_VARIABLE)?;
    let options: ControlOptions = arguments.control.clone().into();
    let (control, mut interrupt) = options.start("live publish", &interrupt, output).await?;
    let client = arguments.client.setup(registry, &super::PROFILE, output)?.shown_by(&control);
    let hub = Hub::leaving_out(arguments.delivery.buffer(super::PUBLISH_BUFFER), arguments.delivery.lag);
    let status = Status::new("publish", Flow::Sent, hub.clone(), output);
    status.show(&control);
    let source = match &arguments.source.from {
        Some(relay) => {
            let client = arguments.client.clone().trusting(&arguments.from_pin);
            let client = client.setup(registry, &super::PROFILE, output)?;
            start_from(&arguments, relay.clone(), (client, interrupt.clone()), (&hub, &status), output)?
        }
        None => start_source(&arguments, &key, &hub, output).await?,
    };
    let telling = tokio::spawn(status.clone().tell(arguments.interval));
    let mut connecting = interrupt.clone();
    let guide = start_guide(&arguments, output).await?;
    let guide = guide.as_ref();
    let uplink = Uplink {
        arguments: &arguments,
        key: &key,
        client: &client,
        hub: &hub,
        status: &status,
        output,
        guide,
    };
    let result = tokio::select! {
        result = uplink.run(&mut connecting) => result,
        failure = source => match failure {
            Ok(Err(failure)) => Err(failure),
            _ => Err(Failure::new(Exit::Failure, "the input is lost")),
        },
        () = interrupt.raised() => Err(super::stopped()),
    };
    telling.abort();
    status.report(Some(&client));
    result
}

/// Begins to take the stream of another relay. The task ends only if it fails.
fn start_from(
    arguments: &Publish,
    relay: Address,
    (client, mut interrupt): (ClientSetup, Interrupt),
    (hub, status): (&Arc<Hub>, &Arc<Status>),
    output: Output,
) -> Result<tokio::task::JoinHandle<Result<(), Failure>>, Failure> {
    let key = super::given_key(arguments.from_key.as_ref(), "--from-key", super::FROM_KEY_VARIABLE)?;
    let (hub, status, once) = (hub.clone(), status.clone(), arguments.once);
    Ok(tokio::spawn(async move {
        let (client, hub, status) = (&client, &hub, &status);
        Downlink { relay, key, client, hub, status, shown: None, once, output }.run(&mut interrupt).await?;
        // The hub knows of the end.
        std::future::pending().await
    }))
}

/// Begins to take what the encoder sends. The task ends only if it fails: the end of the input is told through the hub.
async fn start_source(
    arguments: &Publish,
    key: &str,
    hub: &Arc<Hub>,
    output: Output,
) -> Result<tokio::task::JoinHandle<Result<(), Failure>>, Failure> {
    let source = &arguments.source;
    if let Some(path) = source.input.clone() {
        let hub = hub.clone();
        return Ok(tokio::spawn(async move {
            read_file(&path, &hub).await?;
            hub.end();
            std::future::pending().await
        }));
    }
    let (done, dones) = mpsc::channel(1);
    let ends = tell_ends(dones, hub.clone(), arguments.once);
    let lost = |error: std::io::Error| Failure::new(Exit::Failure, format!("the input is lost: {error}"));
    if let Some(srt::Direction::Call(target)) = source.srt.clone() {
        let (passphrase, latency, hub) = (srt::passphrase()?, srt::LATENCY, hub.clone());
        let calling = srt::Calling { target, hub, output, done, passphrase, latency };
        return Ok(tokio::spawn(async move {
            tokio::select! { () = calling.run() => Ok(()), () = ends => Ok(()) }
        }));
    }
    if let Some(srt::Direction::Listen(address)) = source.srt {
        let socket = udp::bind(address).await?;
        let address = socket.local_addr().unwrap_or(address);
        announce(
            output,
            "srt",
            address,
            &format!("ffmpeg -re -i FILE ... -f mpegts 'srt://{address}?streamid=KEY'"),
        );
        let callers = srt::Callers {
            hub: hub.clone(),
            key: key.to_owned(),
            output,
            done,
            passphrase: srt::passphrase()?,
            latency: srt::LATENCY,
        };
        return Ok(tokio::spawn(async move {
            tokio::select! { error = callers.listen(socket) => Err(lost(error)), () = ends => Ok(()) }
        }));
    }
    if let Some(address) = source.udp {
        let socket = udp::bind(address).await?;
        let address = socket.local_addr().unwrap_or(address);
        announce(
            output,
            "udp",
            address,
            &format!("ffmpeg -re -i FILE ... -f mpegts 'udp://{address}?pkt_size=1316'"),
        );
        let receiving = udp::receive(socket, hub.clone(), output, done);
        return Ok(tokio::spawn(async move {
            tokio::select! { error = receiving => Err(lost(error)), () = ends => Ok(()) }
        }));
    }
    let encoders = Encoders::new(hub.clone(), key.to_owned(), output, done);
    let (listener, encoders) = listen_rtmp(arguments, encoders, output).await?;
    Ok(tokio::spawn(async move {
        tokio::select! { () = encoders.listen(listener) => Ok(()), () = ends => Ok(()) }
    }))
}

/// Begins to listen for encoders over RTMP, with TLS if that is asked for.
async fn listen_rtmp(
    arguments: &Publish,
    encoders: Encoders,
    output: Output,
) -> Result<(TcpListener, Arc<Encoders>), Failure> {
    let source = &arguments.source;
    let address = source.rtmps.or(source.rtmp).unwrap_or(super::DEFAULT_RTMP);
    let example = |scheme: &str, address: SocketAddr| {
        format!("ffmpeg -re -i FILE -c:v libx264 -bf 0 -g 50 -c:a aac -f flv {scheme}://{address}/live/KEY")
    };
    if source.rtmps.is_none() {
        let listener = listen_tcp(address).await?;
        let address = listener.local_addr().unwrap_or(address);
        announce(output, "rtmp", address, &example("rtmp", address));
        return Ok((listener, Arc::new(encoders)));
    }
    let identity =
        identity(arguments.cert.as_deref(), arguments.key_file.as_deref(), arguments.state.as_deref())?;
    let acceptor = tls::acceptor(&identity)?;
    let (listener, pin) = (listen_tcp(address).await?, identity.pin()?);
    let address = listener.local_addr().unwrap_or(address);
    if output.json {
        Channel::Stdout.print(&serde_json::json!({
            "rtmps": address.to_string(), "port": address.port(), "pin": pin.to_string()
        }));
    }
    output.remark(format_args!("hawser: waiting for an encoder: {}", example("rtmps", address)));
    if arguments.cert.is_none() {
        output.remark(format_args!(
            "hawser: it sees a certificate that no authority has signed; its pin is {pin}"
        ));
    }
    Ok((listener, Arc::new(encoders.with_tls(acceptor))))
}

/// Where the bit rate is found, and who is told.
struct Steering {
    guide: Mutex<Guide>,
    told: watch::Sender<Told>,
    started: Instant,
}

/// Begins to tell the encoder's driver what fits, if asked to.
async fn start_guide(arguments: &Publish, output: Output) -> Result<Option<Steering>, Failure> {
    let (Some(bounds), Some(address)) = (arguments.bit_rate, arguments.rate_socket) else { return Ok(None) };
    let listener = listen_tcp(address).await?;
    let address = listener.local_addr().unwrap_or(address);
    if output.json {
        Channel::Stdout.print(&serde_json::json!({ "rate_socket": address.to_string() }));
    }
    output.remark(format_args!("hawser: what the encoder is to send: {address}"));
    let (told, tolds) = watch::channel(Told::default());
    tokio::spawn(rate::serve(listener, tolds));
    Ok(Some(Steering { guide: Mutex::new(Guide::new(bounds)), told, started: Instant::now() }))
}

impl Steering {
    /// Looks at a connection as long as it lasts.
    async fn watch(&self, session: &Session, hub: &Hub, written: &AtomicU64) {
        self.lock().restart();
        loop {
            tokio::time::sleep(LOOK).await;
            let stats = session.connection.stats();
            let arrived = stats.stream_bytes_acked + stats.stream_bytes_discarded;
            let waits = hub.longest_queue().1 as u64;
            let paths = session.connection.paths().into_iter();
            let trips =
                paths.filter_map(|path| session.connection.path_stats(path.id)).map(|stats| stats.min_rtt);
            let look = Look {
                at: self.started.elapsed(),
                arrived,
                backlog: waits + written.load(Ordering::Relaxed).saturating_sub(arrived),
                round_trip: trips.filter(|trip| !trip.is_zero()).max().unwrap_or_default(),
            };
            self.told.send_replace(self.lock().look(look));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Guide> {
        self.guide.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says where encoders are awaited.
fn announce(output: Output, protocol: &str, address: SocketAddr, example: &str) {
    if output.json {
        Channel::Stdout.print(&serde_json::json!({ protocol: address.to_string(), "port": address.port() }));
    }
    output.remark(format_args!("hawser: waiting for an encoder: {example}"));
}

/// Tells the hub when the encoder is done, or has gone and no other follows.
async fn tell_ends(mut dones: mpsc::Receiver<bool>, hub: Arc<Hub>, once: bool) {
    while let Some(has_said_so) = dones.recv().await {
        if once || has_said_so {
            hub.end();
        } else {
            let hub = hub.clone();
            tokio::spawn(async move { hub.end_unless_another_follows(SUCCESSOR).await });
        }
    }
    // Encoders are awaited as long as somebody listens.
    std::future::pending().await
}

/// From the hub to the relay, over one connection after the other.
struct Uplink<'a> {
    arguments: &'a Publish,
    key: &'a str,
    client: &'a ClientSetup,
    hub: &'a Arc<Hub>,
    status: &'a Arc<Status>,
    output: Output,
    guide: Option<&'a Steering>,
}

impl Uplink<'_> {
    /// Until the source is done, or the relay does not want us.
    async fn run(&self, interrupt: &mut Interrupt) -> Result<(), Failure> {
        let mut reconnecting = Reconnecting::new(self.output);
        loop {
            let failure = match self.attempt(&mut reconnecting, interrupt).await {
                Ok(()) => return Ok(()),
                Err(failure) => failure,
            };
            let is_last = self.ends_with_source() && self.hub.is_over();
            reconnecting.pause(failure, is_last.then_some(FAREWELL)).await?;
        }
    }

    /// Whether nothing follows when the source is done.
    fn ends_with_source(&self) -> bool {
        self.arguments.once || self.arguments.source.input.is_some()
    }

    async fn attempt(
        &self,
        reconnecting: &mut Reconnecting,
        interrupt: &mut Interrupt,
    ) -> Result<(), Failure> {
        let (host, port) = (&self.arguments.relay.host, self.arguments.relay.port);
        let session = Session::connect(host, port, self.client, interrupt).await?;
        if let Err(failure) = protocol::ask(&session.connection, &Request::Publish(self.key.to_owned())).await
        {
            let failure = self.client.explain(failure, &session.connection);
            session.close(CODE_DONE).await;
            return Err(failure);
        }
        reconnecting.connected(&self.arguments.relay);
        self.status.begin_connection(session.path_table());
        let sent = tokio::select! {
            sent = self.send(&session) => sent,
            ended = session.connection.closed() => Err(protocol::ended(&ended)),
        };
        self.status.end_connection();
        let sent = sent.map_err(|failure| self.client.explain(failure, &session.connection));
        session.close(CODE_DONE).await;
        sent
    }

    /// Sends what comes, until the source is done.
    async fn send(&self, session: &Session) -> Result<(), Failure> {
        let delivery = self.arguments.delivery.delivery();
        let mut sender = UnitSender::open(&session.connection, delivery).await.map_err(lost)?;
        let written = sender.written();
        let watching = async {
            match self.guide {
                Some(guide) => guide.watch(session, self.hub, &written).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            sent = self.send_all(&mut sender) => sent?,
            () = watching => {}
        }
        sender.end().await.map_err(lost)?;
        match tokio::time::timeout(FAREWELL, sender.finish()).await {
            Ok(true) => Ok(()),
            _ => Err(Failure::new(Exit::ConnectionLost, "what was sent last did not arrive at the relay")),
        }
    }

    /// Sends units until the source is done.
    async fn send_all(&self, sender: &mut UnitSender) -> Result<(), Failure> {
        let mut subscription = self.hub.subscribe();
        loop {
            let unit = match subscription.next().await {
                Next::Unit(unit) => unit,
                Next::End if self.ends_with_source() => return Ok(()),
                // Players are told; another encoder may follow.
                Next::End => {
                    sender.end().await.map_err(lost)?;
                    continue;
                }
            };
            if let Some(skipped) = subscription.newly_skipped() {
                self.status.note_skipped("the way to the relay", skipped);
            }
            let taken = in_time(self.client.stall, "the relay answers, but took nothing", sender.send(&unit));
            taken.await?.map_err(lost)?;
        }
    }
}

/// Why a stream takes nothing more.
fn lost(error: hawser::WriteError) -> Failure {
    match error {
        hawser::WriteError::ConnectionLost(error) => protocol::ended(&error),
        error => Failure::new(Exit::ConnectionLost, error.to_string()),
    }
}
