#![no_main]

#[path = "../src/trace.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target::trace(bytes));
