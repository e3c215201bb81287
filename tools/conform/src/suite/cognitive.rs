//! The CognitiveState cases: one file per kind, each an array of cases.
//!
//! A case that is not flagged must give `expect`. A flagged one may give `expect` or, as far as it is stated,
//! `sane_expect`; without a `sane_expect` it is informative. Differences that follow from one of our rules are
//! printed as deviations with that rule.

mod audit;
mod checkpoint;
mod control_config;
mod error_code;
mod expression;
mod knowledge;
mod map_input;
mod map_output;
mod matching;
mod memory;
mod plan;
mod resolve;
mod run;
mod run_store;
mod schedule;
mod tally;

use std::path::Path;

use hence_canon::Value;

use crate::data::{DataError, json, text};
use crate::report::Report;
use tally::Tally;

/// One kind of case: how it runs and how its result is compared.
struct Kind {
    name: &'static str,
    /// Runs a case into the shape of its `expect`.
    run: fn(&Value) -> Value,
    /// Says whether the result is what was recorded.
    agrees: fn(&Value, &Value, &Value) -> bool,
    /// Says whether the result agrees with a partial expectation.
    covers: fn(&Value, &Value) -> bool,
    /// Names the rule by which a result rightly differs from what was recorded.
    deviation: fn(&Value, &Value) -> Option<&'static str>,
}

const KINDS: &[Kind] = &[
    Kind::plain("resolve", resolve::run),
    Kind { deviation: map_input::deviation, ..Kind::plain("map_input", map_input::run) },
    Kind {
        covers: map_output::covers,
        deviation: map_output::deviation,
        ..Kind::plain("map_output", map_output::run)
    },
    Kind { deviation: expression::deviation, ..Kind::plain("expression", expression::run) },
    Kind::plain("plan", plan::run),
    Kind::plain("schedule", schedule::run),
    Kind::plain("control_config", control_config::run),
    Kind::plain("auto_wire", knowledge::wire),
    Kind::plain("consumes_chain", knowledge::chain),
    Kind::plain("error_code", error_code::run),
    Kind::plain("checkpoint", checkpoint::run),
    Kind::plain("stable_hash", audit::hash),
    Kind::plain("sanitize", audit::clean),
    Kind::plain("audit_chain", audit::chain),
    Kind::plain("audit_verify", audit::check),
    Kind::plain("run_store", run_store::run),
    Kind {
        agrees: run::agrees,
        covers: run::covers,
        deviation: run::deviation,
        ..Kind::plain("run", run::run)
    },
];

impl Kind {
    const fn plain(name: &'static str, run: fn(&Value) -> Value) -> Self {
        Self {
            name,
            run,
            agrees: |_, expect, found| matching::same(expect, found),
            covers: matching::covers,
            deviation: |_, _| None,
        }
    }
}

pub(crate) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    let mut tally = Tally::default();
    for kind in KINDS {
        let path = dir.join(format!("{}.json", kind.name));
        // A folder may hold a selection of the kinds.
        if !path.exists() {
            continue;
        }
        for case in json(&path)?.as_array().unwrap_or_default() {
            one(kind, case, text(case, "/id")?, report, &mut tally);
        }
    }
    tally.print(report);
    Ok(())
}

fn one(kind: &Kind, case: &Value, id: &str, report: &mut Report, tally: &mut Tally) {
    let found = (kind.run)(case);
    let expect = case.get("expect").unwrap_or(&Value::Null);
    let agrees = (kind.agrees)(case, expect, &found);
    let flagged = case.get("upstream_questionable") == Some(&Value::Bool(true));
    let differs = || Err(format!("expected {expect}, found {found}"));
    if agrees {
        tally.flagged_expect += usize::from(flagged);
        report.case(id, Ok(()));
    } else if !flagged {
        match (kind.deviation)(case, &found) {
            Some(rule) => report.deviating(id, rule),
            None => report.case(id, differs()),
        }
    } else if let Some(sane) = case.get("sane_expect") {
        let covered = (kind.covers)(sane, &found);
        tally.flagged_sane += usize::from(covered);
        report.case(id, if covered { Ok(()) } else { differs() });
    } else {
        tally.informative.push(id.to_owned());
    }
}
