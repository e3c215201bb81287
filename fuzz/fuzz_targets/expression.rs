#![no_main]

#[path = "../src/expression.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target::expression(bytes));
