use super::*;

/// The blocks of a capture: type and body, with both lengths checked.
fn blocks(mut bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let word = |bytes: &[u8], at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut blocks = Vec::new();
    while !bytes.is_empty() {
        let length = word(bytes, 4) as usize;
        assert_eq!(length % 4, 0);
        assert_eq!(word(bytes, length - 4) as usize, length, "the length at the end");
        blocks.push((word(bytes, 0), bytes[8..length - 4].to_vec()));
        bytes = &bytes[length..];
    }
    blocks
}

/// The options at the end of a block's body.
fn options(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut options = Vec::new();
    loop {
        let half = |at: usize| u16::from_ne_bytes(bytes[at..at + 2].try_into().unwrap());
        let (code, length) = (half(0), usize::from(half(2)));
        if code == END_OF_OPTIONS {
            assert_eq!(bytes.len(), 4, "nothing follows the end of options");
            return options;
        }
        options.push((code, bytes[4..4 + length].to_vec()));
        bytes = &bytes[4 + length.next_multiple_of(4)..];
    }
}

#[test]
fn a_capture_has_its_blocks_and_options_where_readers_expect_them() {
    let mut writer = PcapngWriter::new(Vec::new(), "hawser").unwrap();
    let interfaces = ["wifi0 up", "wifi0 down"].map(|name| writer.add_interface(name, "").unwrap());
    let time = 5_000_000_000_123;
    writer.packet(time, interfaces[1], &[0x45, 1, 2, 3, 4], 1500, Some("dropped")).unwrap();
    writer.packet(0, interfaces[0], &[0x45; 8], 8, None).unwrap();
    let blocks = blocks(&writer.into_inner());
    let kinds: Vec<u32> = blocks.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(
        kinds,
        [SECTION_HEADER, INTERFACE_DESCRIPTION, INTERFACE_DESCRIPTION, ENHANCED_PACKET, ENHANCED_PACKET]
    );
    assert_eq!(blocks[0].1[..4], BYTE_ORDER_MAGIC.to_ne_bytes());
    assert_eq!(options(&blocks[0].1[16..]), [(SECTION_APPLICATION, b"hawser".to_vec())]);
    let described = options(&blocks[2].1[8..]);
    assert_eq!(described[0], (INTERFACE_NAME, b"wifi0 down".to_vec()));
    assert_eq!(described[2], (INTERFACE_TIME_RESOLUTION, vec![9]));
    let packet = &blocks[3].1;
    let words: Vec<u32> =
        packet[..20].chunks(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect();
    assert_eq!(words, [1, (time >> 32) as u32, time as u32, 5, 1500]);
    assert_eq!(packet[20..25], [0x45, 1, 2, 3, 4]);
    let told = options(&packet[28..]);
    assert_eq!(told[0], (PACKET_FLAGS, INBOUND.to_ne_bytes().to_vec()));
    assert_eq!(told[1], (COMMENT, b"dropped".to_vec()));
    assert_eq!(options(&blocks[4].1[28..]).len(), 1);
}
