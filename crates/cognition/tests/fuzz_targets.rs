//! The fuzz target of expressions over a small corpus: seeds, and seeds with a few bytes changed by fixed numbers.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests")]

#[path = "../../../fuzz/src/corpus.rs"]
mod corpus;
#[expect(unreachable_pub, reason = "a library when it is fuzzed, a module here")]
#[path = "../../../fuzz/src/expression.rs"]
mod target;

/// The number of variants of each seed.
const VARIANTS: u64 = 2000;

const TELLING: &[u8] = b" ()[]\"'.,=<>!abcdinortuls0123456789-+e_\\\xc3\xa9\n";

#[test]
fn expressions_hold_over_the_corpus() {
    let deep = |levels: usize| format!("{}inputs.a{}", "(".repeat(levels), ")".repeat(levels));
    let seeds = [
        "",
        "inputs.a == 1 and not (inputs.b in ['text', \"other\"]) or inputs.c.0 >= 0.5",
        "inputs.d.e.f != false and inputs.g == null and inputs.nothing == none",
        "not not not inputs.c.3.0 in [[null], []] or 'x' not in inputs.c",
        "inputs.h > 123456789012345678901234567889 and inputs.i == 0 and -1e-3 < .5",
        "'te' in inputs.b and 'e' in inputs.d and inputs.c == [1, 2.5, 'x', [null]]",
        "vars.x.y.10 <= outputs.z or working.facts.0 == frame.goal or output.text == 'é😀'",
        &deep(50),
        &deep(199),
        &deep(201),
        &format!("{}true", "not ".repeat(198)),
        &format!("[{}]", "1,".repeat(500)),
    ];
    corpus::run("expression", target::expression, seeds, TELLING, VARIANTS);
}
