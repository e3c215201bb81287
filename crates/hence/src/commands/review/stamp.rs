//! Author and time of an entry: from the arguments, else from the environment and the clock.

use hence_review::review_log::{Stamp, TimeSource};
use hence_state::Timestamp;

use crate::args::StampArgs;
use crate::clock;
use crate::prelude::*;

/// Environment variables that name a person; the first one with a value counts.
const AUTHORS: [&str; 3] = ["HENCE_AUTHOR", "USER", "LOGNAME"];

/// Returns author and time, as far as the arguments name them.
pub(in crate::commands) fn given(args: &StampArgs) -> Result<(Option<String>, Option<String>), CliError> {
    let at = args.now.as_deref().map(time).transpose()?;
    Ok((args.author.clone().filter(|author| !author.trim().is_empty()), at))
}

fn time(given: &str) -> Result<String, CliError> {
    let time = Timestamp::parse(given)
        .map_err(|error| CliError::at(Code::ReviewRefused, "--now", error).with_hint(hint::TIME))?;
    Ok(time.as_str().to_owned())
}

/// Returns the name that the environment gives the person who types.
pub(crate) fn author_of_environment() -> Option<String> {
    let said = |name: &&str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    AUTHORS.iter().find_map(said)
}

/// Returns the stamp of somebody who acts now.
///
/// # Errors
/// [`CliError`] when the clock shows a time that no record can hold.
pub(crate) fn stamp_now(author: &str) -> Result<Stamp, CliError> {
    let at = clock::now()?.as_str().to_owned();
    Ok(Stamp { author: author.into(), at: at.into(), time_source: TimeSource::System })
}

pub(super) fn stamp(args: &StampArgs) -> Result<Stamp, CliError> {
    let named = args.author.clone().or_else(author_of_environment);
    let author = named.filter(|author| !author.trim().is_empty()).ok_or_else(|| {
        CliError::new(Code::ReviewRefused, "nobody says who does this").with_hint(hint::NAME_AUTHOR)
    })?;
    match &args.now {
        Some(given) => {
            let at = time(given)?.into();
            Ok(Stamp { author: author.into(), at, time_source: TimeSource::Given })
        }
        None => stamp_now(&author),
    }
}
