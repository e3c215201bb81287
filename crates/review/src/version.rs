//! Versions of the trace format.

use crate::wire::Trace;

/// The version a trace declares.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Version {
    /// None: version 1.0 wrote none.
    Undeclared,
    /// One of 1.0 to 1.7, by its minor number.
    Known(u8),
    /// Something this reader does not know.
    Foreign,
}

/// The newest minor version this crate reads and writes.
pub const MINOR_MAX: u8 = 7;

impl Version {
    /// Returns the version of a trace.
    pub fn of(trace: &Trace) -> Self {
        match trace.entry().member("spec_version") {
            None => Self::Undeclared,
            Some(word) => word.as_str().map_or(Self::Foreign, Self::from_word),
        }
    }

    /// Reads a version word.
    pub fn from_word(word: &str) -> Self {
        let minor = word.strip_prefix("1.").and_then(|minor| match minor.as_bytes() {
            [digit @ b'0'..=b'7'] => Some(digit - b'0'),
            _ => None,
        });
        minor.map_or(Self::Foreign, Self::Known)
    }

    /// Returns whether actions exchange names rather than artifact ids, as version 1.0 did.
    pub fn exchanges_names(self, trace: &Trace) -> bool {
        matches!(self, Self::Undeclared | Self::Known(0)) && trace.entry().member("artifacts").is_none()
    }
}

/// Members that came with a minor version after 1.1.
const MEMBERS_SINCE: &[(&str, u8)] = &[
    ("goals", 7),
    ("meta_actions", 6),
    ("residuals", 5),
    ("reference_artifacts", 2),
    ("execution_environments", 2),
    ("reproducibility", 2),
    ("comments", 2),
    ("review_items", 2),
    ("trace_links", 2),
    ("trace_lineage", 2),
];

/// Returns the member of a trace that needs the newest version, and the minor number of that version.
pub fn newest_member(trace: &Trace) -> Option<(&'static str, u8)> {
    let member = newest_own_member(trace);
    let grouped = || trace.actions().iter().any(|action| action.member("meta_action_id").is_some());
    match member {
        Some((_, minor)) if minor >= 6 => member,
        _ if grouped() => Some(("meta_action_id", 6)),
        _ => member,
    }
}

/// Returns the newest member of a trace, if the declared minor version does not have it yet.
pub(crate) fn newer_member(trace: &Trace, declared: u8) -> Option<(&'static str, u8)> {
    // Units came with 1.6. Whether any action is in one is looked for only where that would be news.
    let found = if declared >= 6 { newest_own_member(trace) } else { newest_member(trace) };
    found.filter(|(_, since)| *since > declared)
}

/// Returns the newest member that the trace itself has.
fn newest_own_member(trace: &Trace) -> Option<(&'static str, u8)> {
    let is_used = |key: &str| match trace.entry().member(key) {
        None => false,
        Some(value) => value.as_array().is_none_or(|items| !items.is_empty()),
    };
    MEMBERS_SINCE.iter().find(|(key, _)| is_used(key)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_released_versions_are_known() {
        assert_eq!(Version::from_word("1.0"), Version::Known(0));
        assert_eq!(Version::from_word("1.7"), Version::Known(MINOR_MAX));
        for foreign in ["1.8", "9.0", "1", "1.", "1.07", "v1.6", ""] {
            assert_eq!(Version::from_word(foreign), Version::Foreign, "{foreign}");
        }
    }
}
