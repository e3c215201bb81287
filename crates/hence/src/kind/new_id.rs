//! The id of a run that `hence run` starts.
//!
//! An id that a person names means one run, for ever: the command is idempotent. Without one, every call starts a run of
//! its own, and the store decides which process gets an id: it creates a run only where there is none.

use std::hash::{BuildHasher as _, Hasher as _};
use std::time::{SystemTime, UNIX_EPOCH};

use hence_canon::Digest;
use hence_store::{RunId, StoreHandle};

use crate::prelude::*;

/// The way the id of a run is chosen.
pub(super) enum NewId {
    /// This id. A run that has it is resumed or shown.
    Given(String),
    /// This name, or the name with the first number that is free: `NAME`, `NAME-2`, `NAME-3`.
    Numbered(String),
    /// This name with a suffix that no other run has, not even in another store: the id is part of the keys by which
    /// services recognise a repeated call.
    Suffixed(String),
}

impl NewId {
    /// Chooses for a problem, which names itself. The first run has that name.
    pub(super) fn of_problem(args: &crate::args::RunArgs, name: &str) -> Self {
        Self::given(args).unwrap_or_else(|| Self::Numbered(name.to_owned()))
    }

    /// Chooses for a skill. Its id names all of its runs, so that each run needs more than it.
    pub(super) fn of_skill(args: &crate::args::RunArgs, skill: &str) -> Self {
        Self::given(args).unwrap_or_else(|| Self::Suffixed(skill.to_owned()))
    }

    fn given(args: &crate::args::RunArgs) -> Option<Self> {
        let id = args.run_id.clone()?;
        Some(if args.fresh { Self::Numbered(id) } else { Self::Given(id) })
    }

    /// Returns whether a run that has the id already is the run that is meant.
    pub(super) fn is_given(&self) -> bool {
        matches!(self, Self::Given(_))
    }

    /// Returns the next id to try, and the number it has among the numbered ones. `tried` is the number of the id that
    /// turned out to be taken; 0 at first.
    pub(super) fn next(&self, store: &StoreHandle, tried: u64) -> Result<(RunId, u64), CliError> {
        let code = if self.is_given() { Code::Argument } else { Code::Refused };
        let id = |text: &str| {
            RunId::new(text).map_err(|error| CliError::from_error(code, error).with_hint(hint::OTHER_RUN_ID))
        };
        match self {
            Self::Given(given) => Ok((id(given)?, 0)),
            Self::Suffixed(name) => Ok((id(&format!("{name}-{}", suffix()))?, tried + 1)),
            Self::Numbered(name) => {
                // An id that cannot be read is reported before the search.
                id(name)?;
                // A store that cannot tell refuses the run when it is created.
                // The id of a run that was removed is taken, too.
                let is_taken = |number| {
                    id(&numbered(name, number)).is_ok_and(|id| {
                        store.has_run(&id).unwrap_or_default()
                            || store.tombstone(&id).is_ok_and(|stone| stone.is_some())
                    })
                };
                let number = first_free(tried + 1, is_taken);
                Ok((id(&numbered(name, number))?, number))
            }
        }
    }
}

/// Returns the name of the run with a number.
fn numbered(name: &str, number: u64) -> String {
    match number {
        0 | 1 => name.to_owned(),
        number => format!("{name}-{number}"),
    }
}

/// Returns a number from `first` on that is not taken and whose predecessor is, in a logarithmic number of questions.
fn first_free(first: u64, is_taken: impl Fn(u64) -> bool) -> u64 {
    if !is_taken(first) {
        return first;
    }
    let (mut taken, mut step) = (first, 1);
    while is_taken(taken + step) {
        taken += step;
        step *= 2;
    }
    let mut free = taken + step;
    while free - taken > 1 {
        let middle = taken + (free - taken) / 2;
        if is_taken(middle) { taken = middle } else { free = middle }
    }
    free
}

/// Returns eight hexadecimal digits that no other process draws: the random keys of this process, its id and the time.
fn suffix() -> String {
    let mut hasher = std::hash::RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let time = since.as_nanos().to_le_bytes();
    let digest = Digest::of_parts([&hasher.finish().to_le_bytes()[..], &time[..]]);
    digest.to_string().chars().take(8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_after_a_row_of_taken_ones() {
        for count in 0..70 {
            assert_eq!(first_free(1, |number| number <= count), count + 1);
        }
        // A gap is as free as the end.
        let found = first_free(1, |number| number != 5 && number <= 9);
        assert!([5, 10].contains(&found), "{found}");
        assert_eq!(first_free(4, |number| number <= 3), 4);
    }

    #[test]
    fn suffixes_differ() {
        let drawn: std::collections::BTreeSet<String> = (0..100).map(|_| suffix()).collect();
        assert_eq!(drawn.len(), 100);
    }
}
