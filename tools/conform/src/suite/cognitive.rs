//! The CognitiveState cases: one file per kind, each an array of cases.
//!
//! A case that is not flagged must give `expect`. A flagged one may give `expect` or, as far as it says anything,
//! `sane_expect`; without a `sane_expect` it is informative. Differences that follow from one of our rules are
//! printed as deviations with that rule.

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
mod tally;

use std::path::Path;

use hence_canon::Value;

use crate::data::{DataError, json, text};
use crate::report::Report;
use tally::Tally;

/// How one kind of case is run.
struct Kind {
    name: &'static str,
    /// Runs a case into the shape of its `expect`.
    run: fn(&Value) -> Value,
    /// Says whether the result agrees with a partial expectation.
    covers: fn(&Value, &Value) -> bool,
    /// Names the rule by which a result rightly differs from what was recorded.
    deviation: fn(&Value, &Value) -> Option<&'static str>,
}

const KINDS: &[Kind] = &[
    Kind { name: "resolve", run: resolve::run, covers: matching::covers, deviation: no_rule },
    Kind {
        name: "map_input",
        run: map_input::run,
        covers: matching::covers,
        deviation: map_input::deviation,
    },
    Kind {
        name: "map_output",
        run: map_output::run,
        covers: map_output::covers,
        deviation: map_output::deviation,
    },
    Kind { name: "expression", run: expression::run, covers: matching::covers, deviation: no_rule },
    Kind { name: "plan", run: plan::run, covers: matching::covers, deviation: no_rule },
    Kind { name: "control_config", run: control_config::run, covers: matching::covers, deviation: no_rule },
    Kind { name: "auto_wire", run: knowledge::wire, covers: matching::covers, deviation: no_rule },
    Kind { name: "consumes_chain", run: knowledge::chain, covers: matching::covers, deviation: no_rule },
    Kind { name: "error_code", run: error_code::run, covers: matching::covers, deviation: no_rule },
];

fn no_rule(_: &Value, _: &Value) -> Option<&'static str> {
    None
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
    let agrees = matching::same(expect, &found);
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
