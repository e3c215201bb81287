#![no_main]

#[path = "../src/import.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target::import_log(bytes));
