#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hawser_fuzz::vr360(data));
