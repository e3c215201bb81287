//! Identifiers: of states, sessions, trees, mutations and checkpoints.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::limits::SESSION_ID_BYTES_MAX;

/// A text that is not the id it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found:?}")]
pub struct InvalidId {
    /// The description of a valid id.
    pub expected: &'static str,
    /// The text, cut for display.
    pub found: String,
}

impl InvalidId {
    fn new(expected: &'static str, found: &str) -> Self {
        Self { expected, found: found.chars().take(80).collect() }
    }
}

/// Reads `prefix` and exactly eight lower-case hex digits.
fn eight_hex(text: &str, prefix: &str) -> Option<u32> {
    let digits = text.strip_prefix(prefix)?;
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if digits.len() != 8 || !digits.bytes().all(hex) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

macro_rules! eight_hex_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// Returns the id with this number.
            pub const fn from_number(number: u32) -> Self {
                Self(number)
            }

            /// Returns the number that the hex digits spell.
            pub const fn number(self) -> u32 {
                self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                let number = eight_hex(text, $prefix);
                number.map(Self).ok_or_else(|| {
                    InvalidId::new(concat!("`", $prefix, "` and eight lower-case hex digits"), text)
                })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, concat!($prefix, "{:08x}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, out)
            }
        }

        impl From<$name> for hence_canon::Value {
            fn from(id: $name) -> Self {
                id.to_string().into()
            }
        }
    };
}

eight_hex_id!(
    /// Identifies a state: `state-` and eight hex digits.
    StateId,
    "state-"
);
/// Returns the number of the id that `run` makes at `position`: the same for the same run, and another for any other.
///
/// The first 32 bits of a digest, as many as an id has. `position` counts the ids of the run.
fn number_in_run(kind: &str, run: &str, position: u64) -> u32 {
    let digest = hence_canon::Digest::of(format!("{kind}\n{run}\n{position}").as_bytes());
    let first: String = digest.to_string().chars().take(8).collect();
    u32::from_str_radix(&first, 16).unwrap_or_default()
}

impl StateId {
    /// Returns the id of the next state that `run` makes. It is not that of a state it has.
    pub fn of_run(run: &str, workspace: &crate::Workspace) -> Self {
        Self::of_run_at(run, workspace.states().len() as u64, |id| workspace.state(id).is_some())
    }

    /// Returns the id of the state that `run` makes at a position, from 0, where some ids are in use.
    pub(crate) fn of_run_at(run: &str, position: u64, is_used: impl Fn(Self) -> bool) -> Self {
        // Two positions of a run can share 32 bits of a digest; the next position then gives the id.
        let mut ids = (position..).map(|position| Self(number_in_run("state", run, position)));
        ids.find(|id| !is_used(*id)).unwrap_or(Self(0))
    }
}

impl TreeId {
    /// Returns the id of the task tree that begins in `run` with its state number `position`, from 0.
    pub fn of_run(run: &str, position: u64) -> Self {
        Self(number_in_run("tree", run, position))
    }
}

eight_hex_id!(
    /// Identifies a task tree: `tree-` and eight hex digits.
    TreeId,
    "tree-"
);
eight_hex_id!(
    /// Identifies a mutation. Numbers count up from 1 per state, so a replay gives the same ids.
    MutationId,
    "mut-"
);
eight_hex_id!(
    /// Identifies a checkpoint. Numbers count up from 1 per state.
    CheckpointId,
    "ckpt-"
);

/// Identifies a session. It becomes the name of a folder, so it can neither leave it nor hide in it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let fits = (1..=SESSION_ID_BYTES_MAX).contains(&text.len());
        if !fits || !text.bytes().all(allowed) || matches!(text, "." | "..") {
            return Err(InvalidId::new("1 to 128 of `A-Z a-z 0-9 . _ -`, other than `.` and `..`", text));
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, out)
    }
}

impl From<&SessionId> for hence_canon::Value {
    fn from(id: &SessionId) -> Self {
        id.as_str().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_spelling() {
        assert_eq!("state-0000000a".parse::<StateId>().unwrap().to_string(), "state-0000000a");
        for bad in
            ["state-a1b2c3", "state-A1B2C3D4", "tree-00000001", "state-+0000001", "state-00000001\n", ""]
        {
            assert!(bad.parse::<StateId>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn runs_make_ids_of_their_own_and_the_same_ones_again() {
        let (empty, ids) =
            (crate::Workspace::new(), |run: &str| StateId::of_run(run, &crate::Workspace::new()));
        assert_eq!(StateId::of_run("audit", &empty), ids("audit"));
        let all: std::collections::BTreeSet<_> = (0..1000).map(|run| ids(&format!("run-{run}"))).collect();
        assert_eq!(all.len(), 1000);
        assert_ne!(TreeId::of_run("audit", 0), TreeId::of_run("audit", 1));
        assert_ne!(TreeId::of_run("audit", 0).number(), ids("audit").number());
    }

    #[test]
    fn a_session_id_cannot_leave_its_folder() {
        for bad in ["", ".", "..", "a/b", "../x", "a b", "é", "a\0"] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad:?}");
        }
        assert!("...".parse::<SessionId>().is_ok());
        assert!("s".repeat(SESSION_ID_BYTES_MAX).parse::<SessionId>().is_ok());
        assert!("s".repeat(SESSION_ID_BYTES_MAX + 1).parse::<SessionId>().is_err());
    }
}
