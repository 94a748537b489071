//! RTMP over TLS, from a hub to another one.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hawser_media::flv::{Tag, TagKind};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::encoder::Encoders;
use super::hub::{Hub, Next};
use super::rtmp::Push;
use super::status::Status;
use super::tls::{self, Connector};
use hawser::{Identity, Pin, Trust};
use hawser_command::output::Output;
use hawser_command::paths::Flow;

const KEY: &str = "a-key";

/// An encoder's end over TLS: where it is, its pin, and what comes to it.
async fn awaiting() -> (String, Pin, Arc<Hub>) {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let hub = Hub::new(Duration::from_secs(3));
    let (done, mut dones) = mpsc::channel(1);
    let encoders = Encoders::new(hub.clone(), KEY.to_owned(), Output::default(), done);
    let encoders = encoders.with_tls(tls::acceptor(&identity).unwrap());
    tokio::spawn(Arc::new(encoders).listen(listener));
    tokio::spawn(async move { while dones.recv().await.is_some() {} });
    (address, identity.pin().unwrap(), hub)
}

fn push(url: &str, trust: &Trust) -> Push {
    let connector = Some(Connector::new(trust).unwrap());
    Push { service: url.parse().unwrap(), connector, output: Output::default() }
}

fn tag(timestamp: u32, first: u8, packet: u8) -> Tag {
    Tag { kind: TagKind::Video, timestamp, data: Bytes::from(vec![first, packet, 0, 0, 0, 7]) }
}

#[tokio::test]
async fn stream_is_published_over_tls_to_who_has_the_pin() {
    let (address, pin, to) = awaiting().await;
    let from = Hub::new(Duration::from_secs(3));
    let status = Status::new("play", Flow::Received, from.clone(), Output::default());
    let pusher = push(&format!("rtmps://{address}/live/{KEY}"), &Trust::Pins(vec![pin]));
    let mut came = to.subscribe();
    tokio::spawn(pusher.run(from.clone(), status));
    let feeding = async {
        from.push_tag(tag(0, 0x17, 0));
        for frame in 0..u32::MAX {
            from.push_tag(tag(frame * 40, if frame % 25 == 0 { 0x17 } else { 0x27 }, 1));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let hearing = async {
        let mut frames = 0;
        while frames < 30 {
            let Next::Unit(unit) = came.next().await else { panic!("it ended") };
            frames += u32::from(unit.role.is_frame());
        }
    };
    tokio::select! {
        () = feeding => {}
        () = hearing => {}
        () = tokio::time::sleep(Duration::from_secs(60)) => panic!("nothing came"),
    }
}

#[tokio::test]
async fn service_that_is_another_one_is_refused_with_the_reason() {
    let (address, pin, _) = awaiting().await;
    let port = address.rsplit(':').next().unwrap();
    let hub = Hub::new(Duration::from_secs(3));
    let status = Status::new("play", Flow::Received, hub.clone(), Output::default());
    let other = Identity::self_signed(&["localhost"]).unwrap();
    let authority = Trust::Authorities(other.certificates().to_vec());
    for (url, trust, words) in [
        (
            format!("rtmps://{address}/live/{KEY}"),
            Trust::Pins(vec![other.pin().unwrap()]),
            "is not the pinned one",
        ),
        (format!("rtmps://localhost:{port}/live/{KEY}"), authority, "not signed by an authority"),
        (format!("rtmps://{address}/live/wrong"), Trust::Pins(vec![pin]), "wrong stream key"),
    ] {
        let problem = push(&url, &trust).publish(&hub, &status).await.unwrap_err();
        assert!(problem.contains(words) && !problem.contains("wrong/"), "{problem}");
    }
    // RTMP without TLS at the port for TLS.
    let plain = Push { connector: None, ..push(&format!("rtmp://{address}/live/{KEY}"), &Trust::Insecure) };
    assert!(plain.publish(&hub, &status).await.is_err());
}
