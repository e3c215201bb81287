//! The order a reviewer walks residuals in.

use std::cmp::Reverse;

use crate::vocabulary::ResidualStatus;
use crate::wire::{Residual, Trace};

/// Returns the residuals of a trace, open ones first, then the most severe first, then as written.
///
/// A residual without a severity stands below all that have one: it has not been triaged.
pub fn by_severity(trace: &Trace) -> Vec<Residual> {
    let mut residuals: Vec<Residual> = trace.residuals().collect();
    residuals.sort_by_key(|residual| {
        (residual.status() != Some(ResidualStatus::Open), Reverse(residual.severity()))
    });
    residuals
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;

    #[test]
    fn open_and_severe_comes_first() {
        let value = parse(
            br#"{"residuals": [{"residual_id": "a"}, {"residual_id": "b", "severity": "low"},
                {"residual_id": "c", "severity": "critical", "status": "waived"},
                {"residual_id": "d", "severity": "high"}]}"#,
        )
        .unwrap();
        let ids: Vec<String> =
            by_severity(&Trace::read(&value)).iter().map(|found| found.id().unwrap().to_owned()).collect();
        assert_eq!(ids, ["d", "b", "a", "c"]);
    }
}
