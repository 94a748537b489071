use super::*;
use crate::receive_buffers::ReceiveBuffers;

const OPTIONS: SocketOptions = SocketOptions { buffer_bytes: 1 << 20, dscp: 0 };

fn bind(address: &str) -> Arc<LinkSocket> {
    bind_with(address, OPTIONS)
}

fn bind_with(address: &str, options: SocketOptions) -> Arc<LinkSocket> {
    let binding = Binding {
        address: address.parse().unwrap(),
        device: None,
        link: None,
        report_errors: true,
        sharing: Sharing::Alone,
    };
    LinkSocket::bind(&binding, options, None).unwrap()
}

async fn receive(socket: &LinkSocket) -> Vec<Message> {
    let mut buffers = ReceiveBuffers::new();
    let mut messages = Vec::new();
    loop {
        std::future::poll_fn(|cx| socket.poll_recv_ready(cx)).await.unwrap();
        match socket.receive(&mut buffers, SLOTS, |message| messages.push(message)) {
            Ok(_) => return messages,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn datagrams(messages: &[Message]) -> Vec<Vec<u8>> {
    messages.iter().flat_map(|m| m.bytes.chunks(m.segment_size).map(<[u8]>::to_vec)).collect()
}

#[tokio::test]
async fn a_batch_arrives_as_the_datagrams_it_was() {
    let (a, b) = (bind("127.0.0.1:0"), bind("127.0.0.1:0"));
    let tuple = FourTuple { local: a.local(), remote: b.local() };
    // More than one message can carry, so that it is split in two.
    let batch: Vec<u8> = (0..60u8).flat_map(|i| vec![i; if i == 59 { 700 } else { 1_400 }]).collect();
    assert!(matches!(a.send(&tuple, Some(Ecn::Ect0), 1_400, &batch, 0), SendOutcome::Sent));
    let mut received = Vec::new();
    while received.len() < 60 {
        let messages = receive(&b).await;
        for message in &messages {
            assert_eq!(message.tuple, FourTuple { local: b.local(), remote: a.local() });
            assert_eq!(message.ecn, Some(Ecn::Ect0));
        }
        received.extend(datagrams(&messages));
    }
    assert_eq!(received.concat(), batch);
    assert_eq!(received.len(), 60);
}

/// As on a kernel that refuses the options for all that goes beyond single datagrams.
fn bind_plain(address: &str) -> Arc<LinkSocket> {
    let mut socket = Arc::into_inner(bind(address)).unwrap();
    socket.state = None;
    setsockopt(socket.io.get_ref(), sockopt::UdpGroSegment, &false).unwrap();
    Arc::new(socket)
}

#[tokio::test]
async fn a_socket_whose_options_were_refused_sends_and_receives_one_by_one() {
    for (a, b) in [(bind_plain("127.0.0.1:0"), bind("127.0.0.1:0")), (bind("[::1]:0"), bind_plain("[::1]:0"))]
    {
        let tuple = FourTuple { local: a.local(), remote: b.local() };
        let batch: Vec<u8> = (0..20u8).flat_map(|i| vec![i; if i == 19 { 70 } else { 1_200 }]).collect();
        assert!(matches!(a.send(&tuple, None, 1_200, &batch, 0), SendOutcome::Sent));
        let mut received = Vec::new();
        while received.len() < 20 {
            let messages = receive(&b).await;
            assert!(messages.iter().all(|message| message.tuple.remote == a.local()));
            received.extend(datagrams(&messages));
        }
        assert_eq!((received.len(), received.concat()), (20, batch));
    }
}

/// A device that may not be named is done without where the address names the link.
#[tokio::test]
async fn a_device_that_does_not_exist_is_an_error_without_an_address() {
    let binding = |address: &str| Binding {
        address: address.parse().unwrap(),
        device: Some("no-such-dev".to_owned()),
        link: None,
        report_errors: false,
        sharing: Sharing::Alone,
    };
    assert!(LinkSocket::bind(&binding("0.0.0.0:0"), OPTIONS, None).is_err());
}

#[tokio::test]
async fn a_wildcard_socket_answers_from_the_address_that_was_asked() {
    let server = bind("[::]:0");
    let client = bind("127.0.0.1:0");
    let remote = SocketAddr::new("127.0.0.7".parse().unwrap(), server.local().port());
    client.send(&FourTuple { local: client.local(), remote }, None, 1_200, b"hello", 0);
    let question = receive(&server).await.remove(0);
    assert_eq!(question.tuple, FourTuple { local: remote, remote: client.local() });
    assert!(server.carries(&question.tuple));
    server.send(&question.tuple, None, 1_200, b"hello yourself", 0);
    let answer = receive(&client).await.remove(0);
    assert_eq!(answer.tuple.remote, remote);
    assert_eq!(&answer.bytes[..], b"hello yourself");
}

#[tokio::test]
async fn a_refused_port_is_reported_and_does_not_cost_later_packets() {
    let (client, witness) = (bind("127.0.0.1:0"), bind("127.0.0.1:0"));
    let unused = bind("127.0.0.1:0").local();
    client.send(&FourTuple { local: client.local(), remote: unused }, None, 1_200, b"anybody?", 0);
    let host = tokio::time::timeout(std::time::Duration::from_secs(5), client.refusal()).await;
    assert_eq!(host.expect("ICMP came back").unwrap(), unused.ip());
    client.send(&FourTuple { local: client.local(), remote: unused }, None, 1_200, b"anybody?", 0);
    // The next packet meets the pending error and must leave all the same.
    client.send(&FourTuple { local: client.local(), remote: witness.local() }, None, 1_200, b"x", 0);
    assert_eq!(&receive(&witness).await[0].bytes[..], b"x");
}

#[tokio::test]
async fn a_socket_bound_to_loopback_device_works() {
    let binding = Binding {
        address: "127.0.0.1:0".parse().unwrap(),
        device: Some("lo".to_owned()),
        link: Some(LinkId(3)),
        report_errors: false,
        sharing: Sharing::Alone,
    };
    let bound = LinkSocket::bind(&binding, OPTIONS, None).unwrap();
    let other = bind("127.0.0.1:0");
    bound.send(&FourTuple { local: bound.local(), remote: other.local() }, None, 1_200, b"x", 0);
    assert_eq!(receive(&other).await[0].tuple.remote, bound.local());
    assert_eq!(bound.link(), Some(LinkId(3)));
}

#[tokio::test]
async fn an_address_is_shared_only_with_those_who_belong_together() {
    let binding =
        |address, sharing| Binding { address, device: None, link: None, report_errors: false, sharing };
    let bind = |address, sharing| LinkSocket::bind(&binding(address, sharing), OPTIONS, None);
    let first = bind("127.0.0.1:0".parse().unwrap(), Sharing::First).unwrap();
    let address = first.local();
    let other = bind(address, Sharing::Joining).unwrap();
    assert_eq!(other.local(), address);
    for sharing in [Sharing::Alone, Sharing::First] {
        let error = bind(address, sharing).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "another server, {sharing:?}");
    }
}

/// The control messages of a socket that notes receive times must all fit, whatever else it is told of a message.
//= rfc9000-13.4.1-1
#[tokio::test]
async fn receive_times_cost_no_ecn_marks() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let (a, b) = (bind(address), bind(address));
        b.enable_receive_times();
        let tuple = FourTuple { local: a.local(), remote: b.local() };
        let batch = [vec![1; 1_200], vec![2; 1_200], vec![3; 300]].concat();
        let unix = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let before = unix();
        assert!(matches!(a.send(&tuple, Some(Ecn::Ce), 1_200, &batch, 0), SendOutcome::Sent));
        let mut received = Vec::new();
        while received.len() < 3 {
            let messages = receive(&b).await;
            for message in &messages {
                assert_eq!(message.tuple, FourTuple { local: b.local(), remote: a.local() });
                assert_eq!(message.ecn, Some(Ecn::Ce));
                let at = message.received_at.expect("the kernel noted it");
                assert!((before..=unix()).contains(&at), "{at:?} after {before:?}");
            }
            received.extend(datagrams(&messages));
        }
    }
}

/// A server that listens at every address knows when, where and how marked what comes arrived, over both families.
#[tokio::test]
async fn a_wildcard_socket_has_receive_times_beside_destination_and_ecn_mark() {
    for (listen, to, from) in [
        ("[::]:0", "127.0.0.7", "127.0.0.1:0"),
        ("[::]:0", "::1", "[::1]:0"),
        ("0.0.0.0:0", "127.0.0.7", "127.0.0.1:0"),
    ] {
        let (server, client) = (bind(listen), bind(from));
        server.enable_receive_times();
        let remote = SocketAddr::new(to.parse().unwrap(), server.local().port());
        let unix = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let before = unix();
        let batch = [vec![1; 1_200], vec![2; 1_200], vec![3; 300]].concat();
        let tuple = FourTuple { local: client.local(), remote };
        assert!(matches!(client.send(&tuple, Some(Ecn::Ce), 1_200, &batch, 0), SendOutcome::Sent));
        let mut received = Vec::new();
        while received.len() < 3 {
            let messages = receive(&server).await;
            for message in &messages {
                assert_eq!(message.tuple, FourTuple { local: remote, remote: client.local() });
                assert_eq!(message.ecn, Some(Ecn::Ce), "{listen} {to}");
                let at = message.received_at.expect("the kernel noted it");
                assert!((before..=unix()).contains(&at), "{at:?} after {before:?}");
            }
            received.extend(datagrams(&messages));
        }
        assert_eq!(received.concat(), batch);
    }
}

/// With and without a mark of congestion, cut by the kernel or not, and over a socket bound to every address.
#[tokio::test]
async fn packets_have_the_codepoint_that_was_asked_for() {
    for (from, to) in [("127.0.0.1:0", "127.0.0.1:0"), ("[::1]:0", "[::1]:0"), ("[::]:0", "127.0.0.1:0")] {
        let sender = bind_with(from, SocketOptions { dscp: 46, ..OPTIONS });
        let reader = std::net::UdpSocket::bind(to).unwrap();
        let (remote, port) = (reader.local_addr().unwrap(), sender.local().port());
        match remote {
            SocketAddr::V4(_) => setsockopt(&reader, sockopt::IpRecvTos, &true).unwrap(),
            SocketAddr::V6(_) => setsockopt(&reader, sockopt::Ipv6RecvTClass, &true).unwrap(),
        }
        let tuple = FourTuple { local: SocketAddr::new(remote.ip(), port), remote };
        for (ecn, expected) in [(Some(Ecn::Ect0), 46 << 2 | 2), (None, 46 << 2)] {
            let batch: Vec<u8> = (0..3u8).flat_map(|i| vec![i; if i == 2 { 70 } else { 1_200 }]).collect();
            assert!(matches!(sender.send(&tuple, ecn, 1_200, &batch, 0), SendOutcome::Sent));
            for length in [1_200, 1_200, 70] {
                let (got, class) = class_of(&reader);
                assert_eq!((got, class), (length, expected), "{from} {ecn:?}");
            }
        }
    }
}

/// The next datagram's length, and the byte of its IP header that says how it is to be treated.
fn class_of(reader: &std::net::UdpSocket) -> (usize, u8) {
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
    use std::os::fd::AsRawFd;
    let mut bytes = [0; 2_000];
    let mut control = nix::cmsg_space!(i32);
    let mut room = [io::IoSliceMut::new(&mut bytes)];
    let message =
        recvmsg::<SockaddrStorage>(reader.as_raw_fd(), &mut room, Some(&mut control), MsgFlags::empty());
    let message = message.unwrap();
    let class = message.cmsgs().unwrap().find_map(|control| match control {
        ControlMessageOwned::Ipv4Tos(class) => Some(class),
        ControlMessageOwned::Ipv6TClass(class) => Some(class as u8),
        _ => None,
    });
    (message.bytes, class.unwrap())
}
