//! Places as a command line names them: `RUN`, `RUN@N` for a record, `RUN:STEP` for a step, and paths in a state.

use hence_canon::JsonPointer;
use hence_store::StoreError;
use hence_store::StoreHandle;

use crate::code::Code;
use crate::context::Context;
use crate::error::CliError;
use crate::{hint, target};

/// A run, and perhaps a place in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Address {
    /// The id of the run.
    pub(crate) run: String,
    /// The index of a record or the name of a step, as `hence show` accepts it.
    pub(crate) at: Option<String>,
}

impl Address {
    /// Finds the run that a text names. A run whose id is the whole text, or begins with it, comes first: ids may contain
    /// `@` and `:` themselves.
    pub(crate) fn find(context: &Context, text: &str) -> Result<Self, CliError> {
        Self::in_store(&context.store()?, text)
    }

    fn in_store(store: &StoreHandle, text: &str) -> Result<Self, CliError> {
        match store.find(text) {
            Ok(run) => Ok(Self { run: run.as_str().to_owned(), at: None }),
            Err(StoreError::NoSuchRun { .. } | StoreError::PrefixNotFound { .. }) => {
                match Self::split(store, text) {
                    Some(address) => Ok(address),
                    None => Err(target::unknown_run(store, text)),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the run and the place in it, if the text before the last possible sign names a run.
    pub(crate) fn split(store: &StoreHandle, text: &str) -> Option<Self> {
        text.rmatch_indices(['@', ':']).find_map(|(index, sign)| {
            let (run, at) = (text.get(..index)?, text.get(index + 1..)?);
            let is_place = !at.is_empty() && (sign == ":" || at.parse::<u64>().is_ok());
            if run.is_empty() || !is_place {
                return None;
            }
            let run = store.find(run).ok()?.as_str().to_owned();
            Some(Self { run, at: Some(at.to_owned()) })
        })
    }

    /// Returns the place of an address that also an option or argument may name, but not both.
    pub(crate) fn at_or<'a>(&'a self, given: Option<&'a str>) -> Result<Option<&'a str>, CliError> {
        match (self.at.as_deref(), given) {
            (Some(at), Some(given)) => {
                let message = format!("two places are given: {at:?} with the run, and {given:?}");
                Err(CliError::new(Code::NoSuchPlace, message).with_hint(hint::ONE_PLACE))
            }
            (at, given) => Ok(at.or(given)),
        }
    }

    /// Returns the place, which must be given with the run or by itself.
    pub(crate) fn required(&self, given: &str) -> Result<String, CliError> {
        let given = Some(given).filter(|given| !given.is_empty());
        self.at_or(given)?.map(str::to_owned).ok_or_else(|| {
            let message = format!("run {}: expected a step or the index of a record", self.run);
            CliError::new(Code::NoSuchPlace, message).with_hint(hint::place_in(&self.run))
        })
    }
}

/// Reads a path in a state: a JSON pointer such as `/outputs/report`, or `outputs.report`.
pub(crate) fn path(text: &str) -> Result<JsonPointer, CliError> {
    if text.is_empty() || text.starts_with('/') {
        let parsed = text.parse();
        return parsed
            .map_err(|error| CliError::from_error(Code::NoSuchPlace, error).with_hint(hint::STATE_POINTER));
    }
    Ok(text.split('.').collect())
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn paths_are_pointers_or_words_with_dots() {
        assert_eq!(path("outputs.report").unwrap().to_string(), "/outputs/report");
        assert_eq!(path("/outputs/a.b").unwrap().to_string(), "/outputs/a.b");
        assert_eq!(path("").unwrap().to_string(), "");
        assert_eq!(path("a/b.c").unwrap().to_string(), "/a~1b/c");
        assert!(path("/~2").is_err());
    }
}
