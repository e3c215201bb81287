//! The benchmarks, one file each.

mod append;
mod canonical;
mod expressions;
mod growth;
mod looking;
mod policy;
mod problems;
mod resume;
mod review;
mod skills;
mod solve;
mod start;
mod state_hash;
mod traces;
mod value_memory;
mod variables;
mod verify;

use crate::Error;
use crate::table::Table;

/// A benchmark by name.
pub(crate) struct Bench {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&mut Table) -> Result<(), Error>,
}

/// All benchmarks, in the order of the page.
pub(crate) const ALL: &[Bench] = &[
    Bench { name: "state-hash", run: state_hash::run },
    Bench { name: "verify", run: verify::run },
    Bench { name: "canonical", run: canonical::run },
    Bench { name: "growth", run: growth::run },
    Bench { name: "resume", run: resume::run },
    Bench { name: "problems", run: problems::run },
    Bench { name: "skills", run: skills::run },
    Bench { name: "expressions", run: expressions::run },
    Bench { name: "traces", run: traces::run },
    Bench { name: "policy", run: policy::run },
    Bench { name: "review", run: review::run },
    Bench { name: "append", run: append::run },
    Bench { name: "variables", run: variables::run },
    Bench { name: "value-memory", run: value_memory::run },
    Bench { name: "solve", run: solve::run },
    Bench { name: "looking", run: looking::run },
    Bench { name: "start", run: start::run },
];
