//! What functions answer, called as C would.

#![allow(clippy::unwrap_used)]

use std::ffi::{CStr, CString, c_char};
use std::ptr::{null, null_mut};

use hawser_ffi::*;

fn words() -> String {
    // SAFETY: a text of the library, until the next error in this thread.
    unsafe { CStr::from_ptr(hawser_last_error()) }.to_string_lossy().into_owned()
}

fn text(text: &str) -> CString {
    CString::new(text).unwrap()
}

/// A handle made by `make`.
fn made<T>(make: impl FnOnce(*mut *mut T) -> HawserResult) -> *mut T {
    let mut made = null_mut();
    assert_eq!(make(&mut made), HawserResult::Ok, "{}", words());
    made
}

fn config() -> *mut HawserConfig {
    // SAFETY: valid pointers, as everywhere in this file.
    unsafe {
        let config = made(|out| hawser_config_new(out));
        assert_eq!(hawser_config_add_alpn(config, text("test").as_ptr()), HawserResult::Ok);
        config
    }
}

/// Both ends of a connection over loopback, and their endpoints.
fn connected() -> ([*mut HawserEndpoint; 2], [*mut HawserConnection; 2]) {
    // SAFETY: valid pointers.
    unsafe {
        let settings = config();
        assert_eq!(hawser_config_set_identity_fresh(settings, text("localhost").as_ptr()), HawserResult::Ok);
        let server = made(|out| hawser_endpoint_server(settings, text("127.0.0.1:0").as_ptr(), out));
        hawser_config_free(settings);
        let (mut address, mut pin) = ([0 as c_char; 64], [0 as c_char; 64]);
        assert_eq!(hawser_endpoint_address(server, address.as_mut_ptr(), 64), HawserResult::Ok);
        assert_eq!(hawser_endpoint_pin(server, pin.as_mut_ptr(), 64), HawserResult::Ok);
        let settings = config();
        assert_eq!(hawser_config_add_pin(settings, pin.as_ptr()), HawserResult::Ok);
        assert_eq!(hawser_config_add_link(settings, text("127.0.0.1").as_ptr(), false), HawserResult::Ok);
        let client = made(|out| hawser_endpoint_client(settings, out));
        hawser_config_free(settings);
        let name = text("localhost");
        let near = made(|out| hawser_endpoint_connect(client, address.as_ptr(), name.as_ptr(), 10_000, out));
        let far = made(|out| hawser_endpoint_accept(server, 10_000, out));
        ([client, server], [near, far])
    }
}

fn free(endpoints: [*mut HawserEndpoint; 2], connections: [*mut HawserConnection; 2]) {
    // SAFETY: valid pointers, not used afterwards.
    unsafe {
        let _ = connections.map(|connection| hawser_connection_free(connection));
        let _ = endpoints.map(|endpoint| hawser_endpoint_free(endpoint));
    }
}

#[test]
fn null_and_nonsense_are_answered_with_words() {
    // SAFETY: NULL is allowed everywhere.
    unsafe {
        assert_eq!(hawser_config_new(null_mut()), HawserResult::InvalidArgument);
        assert_eq!(hawser_config_add_alpn(null_mut(), text("a").as_ptr()), HawserResult::InvalidArgument);
        assert_eq!(words(), "config is NULL");
        let config = config();
        assert_eq!(hawser_config_add_alpn(config, null()), HawserResult::InvalidArgument);
        assert_eq!(hawser_config_add_pin(config, text("short").as_ptr()), HawserResult::InvalidArgument);
        assert!(words().contains("44 characters"), "{}", words());
        let (kind, choice) = (text("scheduler"), text("nonsense"));
        assert_eq!(
            hawser_config_set_policy(config, kind.as_ptr(), choice.as_ptr()),
            HawserResult::InvalidArgument
        );
        assert!(words().contains("roundrobin"), "{}", words());
        let mut endpoint = null_mut();
        let result = hawser_endpoint_server(config, text("127.0.0.1:0").as_ptr(), &mut endpoint);
        assert_eq!(result, HawserResult::Configuration);
        assert!(words().contains("identity"), "{}", words());
        let result = hawser_endpoint_server(config, text("somewhere").as_ptr(), &mut endpoint);
        assert_eq!(result, HawserResult::InvalidArgument);
        hawser_config_free(config);
        hawser_config_free(null_mut());
    }
}

#[test]
fn a_call_without_patience_says_that_nothing_is_there() {
    let (endpoints, connections) = connected();
    let mut stream = null_mut();
    let mut length = 1;
    let mut buffer = [0; 100];
    // SAFETY: valid pointers.
    unsafe {
        assert_eq!(hawser_connection_accept_stream(connections[1], 0, &mut stream), HawserResult::Timeout);
        let read = hawser_connection_read_datagram(connections[0], buffer.as_mut_ptr(), 100, 0, &mut length);
        assert_eq!((read, length), (HawserResult::Timeout, 0));
        assert_eq!(hawser_connection_wait_closed(connections[0], 20), HawserResult::Timeout);
    }
    free(endpoints, connections);
}

#[test]
fn datagrams_arrive_and_one_that_is_too_long_is_refused() {
    let (endpoints, connections) = connected();
    let (mut max, mut length, mut buffer) = (0, 0, [0_u8; 2_000]);
    // SAFETY: valid pointers.
    unsafe {
        assert_eq!(hawser_connection_max_datagram_size(connections[0], &mut max), HawserResult::Ok);
        let sent = hawser_connection_send_datagram(connections[0], [7; 500].as_ptr(), 500, 1_000);
        assert_eq!(sent, HawserResult::Ok);
        let read =
            hawser_connection_read_datagram(connections[1], buffer.as_mut_ptr(), 2_000, 5_000, &mut length);
        assert_eq!((read, length, buffer[499]), (HawserResult::Ok, 500, 7));
        let long = vec![0; 70_000];
        let sent = hawser_connection_send_datagram(connections[0], long.as_ptr(), long.len(), 1_000);
        assert_eq!(sent, HawserResult::TooLarge);
    }
    assert!((500..2_000).contains(&max), "{max}");
    free(endpoints, connections);
}

#[test]
fn a_stream_lives_on_without_its_connection_and_endpoint() {
    let (endpoints, [near, far]) = connected();
    let mut buffer = [0; 100];
    let mut length = 0;
    // SAFETY: valid pointers; what was freed is not used.
    unsafe {
        let stream = made(|out| hawser_connection_open_stream(near, false, 5_000, out));
        hawser_connection_free(near);
        hawser_endpoint_free(endpoints[0]);
        assert_eq!(hawser_stream_write(stream, b"still".as_ptr(), 5, 5_000, &mut length), HawserResult::Ok);
        assert_eq!(hawser_stream_finish(stream), HawserResult::Ok);
        assert_eq!(hawser_stream_finish(stream), HawserResult::StreamClosed);
        let other = made(|out| hawser_connection_accept_stream(far, 5_000, out));
        assert_eq!(hawser_stream_read(other, buffer.as_mut_ptr(), 100, 5_000, &mut length), HawserResult::Ok);
        assert_eq!(&buffer[..length], b"still");
        let read = hawser_stream_read(other, buffer.as_mut_ptr(), 100, 5_000, &mut length);
        assert_eq!(read, HawserResult::End);
        // The peer opened it for sending only.
        let written = hawser_stream_write(other, b"no".as_ptr(), 2, 100, &mut length);
        assert_eq!((written, length), (HawserResult::StreamClosed, 0));
        hawser_stream_free(other);
        hawser_stream_free(stream);
        hawser_connection_free(far);
        hawser_endpoint_free(endpoints[1]);
    }
}

#[test]
fn the_end_of_a_connection_is_told_to_both_ends() {
    let (endpoints, connections) = connected();
    // SAFETY: valid pointers.
    unsafe {
        let closed = hawser_connection_close(connections[0], 7, b"enough".as_ptr(), 6);
        assert_eq!(closed, HawserResult::Ok);
        assert_eq!(
            hawser_connection_close(connections[0], 1 << 62, null(), 0),
            HawserResult::InvalidArgument
        );
        assert_eq!(hawser_connection_wait_closed(connections[1], 5_000), HawserResult::ConnectionLost);
        assert!(words().contains("enough"), "{}", words());
        assert_eq!(hawser_endpoint_wait_idle(endpoints[0], 5_000), HawserResult::Ok);
        let mut stream = null_mut();
        let opened = hawser_connection_open_stream(connections[1], true, 1_000, &mut stream);
        assert_eq!(opened, HawserResult::ConnectionLost);
    }
    free(endpoints, connections);
}
