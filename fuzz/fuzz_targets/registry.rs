#![no_main]

#[path = "../src/registry.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target::registry(bytes));
