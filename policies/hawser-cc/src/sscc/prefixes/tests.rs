use super::*;

fn key(address: &str, link: u32) -> PrefixKey {
    PrefixKey::new(SocketAddr::new(address.parse().expect("an address"), 443), Some(LinkId(link)))
}

#[test]
fn one_entry_for_each_network_and_link() {
    assert_eq!(key("203.0.113.7", 0), key("203.0.113.200", 0));
    assert_eq!(key("203.0.113.7", 0), key("::ffff:203.0.113.9", 0));
    assert_eq!(key("2001:db8:5::1", 0), key("2001:db8:5:99::2", 0));
    assert_ne!(key("203.0.113.7", 0), key("203.0.114.7", 0));
    assert_ne!(key("2001:db8:5::1", 0), key("2001:db8:6::1", 0));
    assert_ne!(key("203.0.113.7", 0), key("203.0.113.7", 1));
}

/// Alpha 0.9, by hand.
#[test]
fn weights_are_those_by_hand() {
    let (mut memory, key) = (PrefixMemory::default(), key("203.0.113.7", 0));
    assert_eq!(memory.initial(key, Time::ZERO), None);
    let wanted = [Candidate::Vegas, Candidate::Bbr, Candidate::Bbr, Candidate::Vegas];
    wanted.iter().for_each(|candidate| memory.record(key, *candidate, 0.9, Time::ZERO));
    let weights = memory.weights(key).expect("recorded");
    // Vegas 0.9^3 + 1, BBR 0.9^2 + 0.9.
    let expected = [0.9 * 0.9 + 0.9, 0.0, 0.9 * 0.9 * 0.9 + 1.0, 0.0, 0.0, 0.0];
    assert!(weights.iter().zip(expected).all(|(weight, expected)| (weight - expected).abs() < 1e-12));
    assert_eq!(memory.initial(key, Time::ZERO), Some(Candidate::Vegas));
    memory.record(key, Candidate::Bbr, 0.9, Time::ZERO);
    assert_eq!(memory.initial(key, Time::ZERO), Some(Candidate::Bbr));
}

#[test]
fn a_day_without_use_and_what_was_learned_is_forgotten() {
    let (mut memory, key) = (PrefixMemory::default(), key("203.0.113.7", 0));
    memory.record(key, Candidate::Vegas, 0.9, Time::ZERO);
    let day = Time::from_secs(24 * 3_600);
    assert_eq!(memory.initial(key, day), Some(Candidate::Vegas));
    let later = day + Duration::from_secs(1);
    assert_eq!(memory.initial(key, later), None);
    memory.record(key, Candidate::Bbr, 0.9, later);
    assert_eq!(memory.weights(key), Some([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]), "it begins anew");
}

#[test]
fn the_least_recently_used_one_gives_way() {
    let mut memory = PrefixMemory::default();
    let nth = |n: u64| key(&format!("10.{}.{}.1", n / 256, n % 256), 0);
    (0..CAPACITY as u64).for_each(|n| memory.record(nth(n), Candidate::Vegas, 0.9, Time::from_secs(n)));
    memory.record(nth(0), Candidate::Vegas, 0.9, Time::from_secs(5_000));
    memory.record(nth(9_999), Candidate::Vegas, 0.9, Time::from_secs(5_001));
    assert_eq!(memory.len(), CAPACITY);
    assert!(memory.weights(nth(0)).is_some() && memory.weights(nth(1)).is_none());
}

fn filled() -> PrefixMemory {
    let mut memory = PrefixMemory::default();
    memory.record(key("203.0.113.7", 3), Candidate::Vegas, 0.9, Time::from_secs(100));
    memory.record(key("203.0.113.7", 3), Candidate::Cubic, 0.9, Time::from_secs(110));
    memory.record(
        PrefixKey { link: None, ..key("2001:db8::1", 0) },
        Candidate::Bbr,
        0.9,
        Time::from_secs(50),
    );
    memory
}

fn written(memory: &PrefixMemory, now: Time) -> String {
    let mut output = Vec::new();
    memory.write(now, &mut output).expect("a vector takes all");
    String::from_utf8(output).expect("text")
}

fn read(text: &str, now: Time, ago: u64) -> Result<PrefixMemory, PrefixFileError> {
    PrefixMemory::read(&mut text.as_bytes(), now, Duration::from_secs(ago))
}

#[test]
fn what_is_written_is_read_again_older_by_the_time_between() {
    let text = written(&filled(), Time::from_secs(110));
    assert_eq!(text.lines().nth(1), Some("203.0.113.0 3 0 0 1 0.9 0 0 0"));
    assert_eq!(text.lines().nth(2), Some("2001:db8:: - 60 1 0 0 0 0 0"));
    assert_eq!(read(&text, Time::from_secs(110), 0).expect("whole"), filled());
    // Another process, whose clock restarted, 23.99 hours later: one of them is out of date 40 s after that.
    let later = read(&text, Time::ZERO, 24 * 3_600 - 70).expect("whole");
    assert_eq!(later.len(), 2);
    let (kept, gone) = (key("203.0.113.7", 3), PrefixKey { link: None, ..key("2001:db8::1", 0) });
    let now = Time::from_secs(40);
    assert_eq!((later.initial(kept, now), later.initial(gone, now)), (Some(Candidate::Cubic), None));
    assert_eq!(read(&text, Time::ZERO, 48 * 3_600).expect("whole").len(), 0);
}

#[test]
fn a_corrupt_file_is_refused() {
    let text = written(&filled(), Time::from_secs(110));
    for end in 0..text.len() - 1 {
        read(&text[..end], Time::ZERO, 0).expect_err(&text[..end]);
    }
    for (from, to) in [
        ("prefixes 1", "prefixes 2"),
        ("bbr cubic", "cubic bbr"),
        ("203.0.113.0", "203.0.113.1"),
        ("203.0.113.0", "host"),
        (" 0.9 ", " -0.9 "),
        (" 0.9 ", " inf "),
        (" 0.9 ", " "),
        ("end 2", "end 3"),
    ] {
        read(&text.replacen(from, to, 1), Time::ZERO, 0).expect_err(to);
    }
    let mut binary: &[u8] = &[0xff; 100];
    PrefixMemory::read(&mut binary, Time::ZERO, Duration::ZERO).expect_err("not text");
}
