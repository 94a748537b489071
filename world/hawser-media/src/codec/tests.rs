use super::aac::adts_frame;
use super::*;

/// Of 322x182 pixels, by x264, x265 and SVT-AV1, and of mono AAC, by ffmpeg.
const AVC: &str =
    "0164000dffe1001a6764000dacd941519e226c0440000003004000000c83c50a658001000468ef8fcbfdf8f800";
const HEVC: &str = "0101600000009000000000003cf000fcfdf8f800000f03200001001840010c01ffff01600000030090000003000003003c959809210001002a42010101600000030090000003000003003ca00a480b9c9596566924caf0168080000003008000000c8422000100074401c172b46240";
const AV1: &str = "81000c000a0b000000043d06d402f80040";
const AAC: &str = "120856e500";

fn bytes(hex: &str) -> Bytes {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
}

fn setup(codec: Codec, hex: &str) -> Setup {
    Setup { codec, record: bytes(hex) }
}

#[test]
fn records_tell_the_size_of_the_picture_and_the_name_for_browsers() {
    for (codec, hex, name) in [
        (Codec::Avc, AVC, "avc1.64000d"),
        (Codec::Hevc, HEVC, "hvc1.1.6.L60.90"),
        (Codec::Av1, AV1, "av01.0.00M.08"),
    ] {
        let setup = setup(codec, hex);
        assert_eq!(setup.picture_size(), Some((322, 182)), "{codec:?}");
        assert_eq!(setup.browser_name().as_deref(), Some(name));
    }
    let sound = setup(Codec::Aac, AAC);
    assert_eq!((sound.sound(), sound.browser_name()), (Some((44_100, 1)), Some("mp4a.40.2".to_owned())));
}

#[test]
fn a_record_is_made_again_of_its_parameter_sets() {
    for (codec, hex) in [(Codec::Avc, AVC), (Codec::Hevc, HEVC)] {
        let before = setup(codec, hex);
        let sets = before.parameter_sets();
        let after = Setup::of_units(codec, &units_by_start_code(&sets)).unwrap();
        assert_eq!(after.picture_size(), Some((322, 182)));
        assert_eq!(after.browser_name(), before.browser_name());
        assert_eq!(after.parameter_sets(), sets);
    }
    assert_eq!(Setup::of_units(Codec::Avc, &[&[0x67, 1, 2]]), None);
}

#[test]
fn a_broken_record_says_nothing() {
    for (codec, hex) in [(Codec::Avc, AVC), (Codec::Hevc, HEVC), (Codec::Av1, AV1), (Codec::Aac, AAC)] {
        let whole = bytes(hex);
        for length in 0..whole.len() {
            let setup = Setup { codec, record: whole.slice(..length) };
            let _ = (setup.picture_size(), setup.sound(), setup.browser_name(), setup.parameter_sets());
        }
        for at in 0..whole.len() {
            let mut broken = whole.to_vec();
            broken[at] ^= 0xff;
            let setup = Setup { codec, record: broken.into() };
            let _ = (setup.picture_size(), setup.sound(), setup.browser_name(), setup.parameter_sets());
        }
    }
}

#[test]
fn units_are_the_same_behind_lengths_and_start_codes() {
    let units: [&[u8]; 3] = [&[0x65, 0, 0, 2, 9], &[0x41, 7], &[6; 300]];
    let frame = with_lengths(units);
    assert_eq!(units_by_length(&frame), units);
    assert_eq!(units_by_start_code(&with_start_codes(&frame)), units);
    // One whose length lies ends the frame.
    assert_eq!(units_by_length(&frame[..frame.len() - 1]), units[..2]);
    assert_eq!(units_by_start_code(&[0, 0, 1, 5, 0, 0, 0, 1, 6]), [&[5][..], &[6]]);
}

#[test]
fn sound_in_adts_says_what_it_is() {
    let config = AacConfig::read(&bytes(AAC)).unwrap();
    let header = config.adts_header(100).unwrap();
    let (read, head, length) = adts_frame(&[&header[..], &[1; 100]].concat()).unwrap();
    assert_eq!((read, head, length), (config, 7, 107));
    assert_eq!(AacConfig::read(&read.record().unwrap()), Some(config));
    assert_eq!(config.adts_header(1 << 13), None);
}
