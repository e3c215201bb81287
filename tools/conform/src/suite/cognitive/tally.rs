//! Counts of the flagged cases.

use crate::report::Report;

#[derive(Default)]
pub(super) struct Tally {
    pub(super) flagged_expect: usize,
    pub(super) flagged_sane: usize,
    pub(super) informative: Vec<String>,
}

impl Tally {
    pub(super) fn print(&self, report: &Report) {
        for id in &self.informative {
            report.remark(&format!("informative {id}: recorded behaviour is questionable and ours differs"));
        }
        report.remark(&format!(
            "flagged cases: {} match expect, {} match sane_expect, {} informative",
            self.flagged_expect,
            self.flagged_sane,
            self.informative.len()
        ));
    }
}
