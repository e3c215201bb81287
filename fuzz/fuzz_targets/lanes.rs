#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hence_fuzz::lanes(bytes));
