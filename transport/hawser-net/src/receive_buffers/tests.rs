use super::*;

fn receive(buffers: &mut ReceiveBuffers, index: usize, byte: u8, length: usize) -> BytesMut {
    let mut slots = buffers.slots();
    assert_eq!(slots[index].len(), SLOT_BYTES);
    slots[index][..length].fill(byte);
    buffers.take(index, length)
}

#[test]
fn messages_keep_their_bytes_while_slots_are_reused() {
    let mut buffers = ReceiveBuffers::new();
    let mut held = Vec::new();
    for round in 0..100u8 {
        let length = if round % 3 == 0 { 60_000 } else { 1_200 };
        held.push((round, length, receive(&mut buffers, usize::from(round) % SLOTS, round, length)));
        if held.len() > 10 {
            let (byte, length, message) = held.remove(0);
            // Compared as a whole: byte by byte would take Miri minutes.
            assert!(message == vec![byte; length], "round {byte}");
        }
    }
}

#[test]
fn a_read_batch_is_used_again_without_allocation() {
    let mut buffers = ReceiveBuffers::new();
    let first = receive(&mut buffers, 0, 1, 60_000);
    let address = first.as_ptr();
    drop(first);
    let second = receive(&mut buffers, 0, 2, 60_000);
    // The memory of the first batch is in the slot again now, with every byte initialised: Miri checks what is compared.
    let left: Vec<u8> = [vec![1; 60_000], vec![0; SLOT_BYTES - 60_000]].concat();
    assert!(buffers.slots()[0][..] == left);
    let third = receive(&mut buffers, 0, 3, 60_000);
    assert!(second == vec![2; 60_000]);
    assert_eq!(third.as_ptr(), address);
}

#[test]
fn small_messages_share_a_chunk() {
    let mut buffers = ReceiveBuffers::new();
    let first = receive(&mut buffers, 0, 1, 1_200);
    let second = receive(&mut buffers, 1, 2, 1_200);
    assert_eq!(first.as_ptr() as usize + 1_200, second.as_ptr() as usize);
    assert!(first == vec![1; 1_200]);
}
