//! Flow control between two ends.

use std::time::Duration;

use hawser_policy::Time;

use super::super::{ReadOutcome, StreamEvent, WriteError};
use super::pair::{acked, build, flush, lost, pair, receive, small_config};

const RTT: Duration = Duration::from_millis(20);

//= rfc9000-4.2-1
#[test]
fn windows_grow_with_a_fast_reader_up_to_their_caps() {
    let config = small_config();
    let [mut client, mut server] = pair(&config);
    client.set_send_buffer_limit(20_000, u64::MAX);
    let id = client.open(true).expect("allowed");
    let mut now = Time::ZERO;
    let mut total = 0;
    for _ in 0..50 {
        while let Ok(count) = client.write(id, &[0; 4_000]) {
            total += count;
        }
        flush(&mut client, &mut server);
        while let Ok(ReadOutcome::Data(_)) = server.read(id, &mut [0; 8_000]) {}
        now += RTT;
        server.update_windows(now, || (RTT, u64::MAX));
        flush(&mut server, &mut client);
    }
    let key = server.table.find_ref(id).expect("open");
    let window = server.table.recv_mut(key).expect("open").window_mut();
    assert_eq!(window.size(), config.max_stream_window);
    assert!(server.shared.window.size() >= config.max_stream_window * 3 / 2);
    assert!(total > 300_000, "{total} bytes in 50 round trips");
}

/// Three round trips for a window: of a reader who waits for a retransmission it says that the window is too small, of one who did not read
/// nothing.
#[test]
fn windows_grow_while_a_retransmission_keeps_the_reader_waiting() {
    for (withheld, grown) in [(true, 4_000), (false, 2_000)] {
        let [mut client, mut server] = pair(&small_config());
        client.set_send_buffer_limit(20_000, u64::MAX);
        let id = client.open(true).expect("allowed");
        assert_eq!(client.write(id, &[0; 9_000]), Ok(2_000), "the window of a stream");
        let first = build(&mut client, 1_200, 0).expect("data");
        if withheld {
            lost(&mut client, &first);
            let rest: Vec<_> = std::iter::from_fn(|| build(&mut client, 1_200, 0)).collect();
            // What follows the hole comes first, whichever packet it is in.
            rest.iter().rev().for_each(|packet| receive(&mut server, &packet.payload).expect("allowed"));
        } else {
            receive(&mut server, &first.payload).expect("allowed");
            flush(&mut client, &mut server);
        }
        while let Ok(ReadOutcome::Data(_)) = server.read(id, &mut [0; 8_000]) {}
        server.update_windows(Time::ZERO + 3 * RTT, || (RTT, u64::MAX));
        let key = server.table.find_ref(id).expect("open");
        let size = server.table.recv_mut(key).expect("open").window_mut().size();
        assert_eq!(size, grown, "withheld: {withheld}");
    }
}

//= rfc9000-13.3-2
#[test]
fn a_lost_limit_is_sent_again_with_its_value_of_then() {
    let [mut client, mut server] = pair(&small_config());
    client.set_send_buffer_limit(20_000, u64::MAX);
    let id = client.open(true).expect("allowed");
    client.write(id, &[0; 2_000]).expect("room");
    flush(&mut client, &mut server);
    server.read(id, &mut [0; 1_600]).expect("data");
    let update = build(&mut server, 1_200, 0).expect("limits");
    server.read(id, &mut [0; 1_600]).expect("data");
    lost(&mut server, &update);
    let update = build(&mut server, 1_200, 0).expect("limits");
    receive(&mut client, &update.payload).expect("allowed");
    acked(&mut server, &update);
    assert_eq!(client.write(id, &[0; 9_000]), Ok(2_000), "the whole window is free again");
    // A stream that will not grow needs no limit.
    client.finish(id).expect("open");
    flush(&mut client, &mut server);
    lost(&mut server, &update);
    let packet = build(&mut server, 1_200, 0).expect("MAX_DATA");
    assert_eq!(packet.frames.len(), 1);
}

#[test]
fn writers_wait_for_their_stream_and_for_the_buffer() {
    let [mut client, mut server] = pair(&small_config());
    client.set_send_buffer_limit(3_000, u64::MAX);
    let first = client.open(true).expect("allowed");
    let second = client.open(true).expect("allowed");
    let urgent = client.open(true).expect("allowed");
    client.set_priority(urgent, 1).expect("open");
    assert_eq!(client.write(first, &[0; 9_000]), Ok(2_000), "what the stream allows");
    assert_eq!(client.write(first, &[0; 9_000]), Err(WriteError::Blocked));
    assert_eq!(client.write(second, &[0; 9_000]), Ok(2_000));
    // The buffer is full, yet every stream may hold a little.
    assert_eq!(client.write(urgent, &[0; 9_000]), Ok(2_000));
    assert_eq!(client.poll_event(), None);
    let packets: Vec<_> = std::iter::from_fn(|| build(&mut client, 1_200, 0)).collect();
    for packet in &packets {
        receive(&mut server, &packet.payload).expect("allowed");
        acked(&mut client, packet);
    }
    assert_eq!(client.poll_event(), None, "streams wait for the peer's reader");
    while let Ok(ReadOutcome::Data(_)) = server.read(first, &mut [0; 9_000]) {}
    flush(&mut server, &mut client);
    assert_eq!(client.poll_event(), Some(StreamEvent::Writable(first)));
    assert_eq!(client.poll_event(), None);
}

#[test]
fn a_full_buffer_wakes_its_writers_urgent_ones_first() {
    let mut config = small_config();
    config.initial_stream_window = 50_000;
    config.initial_connection_window = 200_000;
    config.max_send_buffer = 100_000;
    let [mut client, mut server] = pair(&config);
    client.set_send_buffer_limit(16_000, u64::MAX);
    let ids: Vec<_> = (0..3).map(|_| client.open(true).expect("allowed")).collect();
    client.set_priority(ids[2], 5).expect("open");
    assert_eq!(client.write(ids[0], &[0; 50_000]), Ok(16_000));
    for &id in &ids[1..] {
        assert_eq!(client.write(id, &[0; 50_000]), Ok(4_096), "every stream may hold a little");
        assert_eq!(client.write(id, &[0; 50_000]), Err(WriteError::Blocked));
    }
    let first = build(&mut client, 1_200, 0).expect("data");
    receive(&mut server, &first.payload).expect("allowed");
    acked(&mut client, &first);
    assert_eq!(client.poll_event(), None, "one packet is not worth waking for");
    flush(&mut client, &mut server);
    let events: Vec<_> = std::iter::from_fn(|| client.poll_event()).collect();
    assert_eq!(events, [StreamEvent::Writable(ids[2]), StreamEvent::Writable(ids[1])]);
    assert!(client.write(ids[1], &[0; 50_000]).is_ok());
}
