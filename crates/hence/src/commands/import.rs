//! `hence import`: convert a log to a trace, or import a bundle into the store.

mod bundle;
mod latest;
mod log;

use std::path::Path;

use hence_review::import::Format;

use crate::args::ImportArgs;
use crate::prelude::*;

pub(super) use bundle::ImportReport;
pub(super) use log::LogReport;

/// The kind of thing to import.
enum Kind {
    Bundle,
    /// A log, of a given format or of any.
    Log(Option<Format>),
}

fn kind(word: &str) -> Option<Kind> {
    match word {
        "bundle" => Some(Kind::Bundle),
        "auto" => Some(Kind::Log(None)),
        other => other.parse().ok().map(|format| Kind::Log(Some(format))),
    }
}

pub(super) fn run(context: &Context, args: &ImportArgs) -> Result<Exit, CliError> {
    if let Some(agent) = &args.latest {
        let (format, path) = latest::session(agent)?;
        context.say(format_args!("importing {}", path.display()));
        return log::run(context, Some(format), &path.to_string_lossy(), args);
    }
    let (kind, path) = match &args.second {
        Some(path) => {
            let kind = kind(&args.first).ok_or_else(|| {
                let expected = format!("auto, bundle, {}", Format::WORDS.join(", "));
                let message = format!("no format is called {:?}; expected one of {expected}", args.first);
                CliError::new(Code::NoSuchPlace, message).with_hint(hint::LIST_IMPORT_FORMATS)
            })?;
            (kind, path.as_str())
        }
        None => {
            let path = args.first.as_str();
            let is_word_alone = kind(path).is_some() && !Path::new(path).exists();
            if is_word_alone {
                let message = format!("expected a file after {path}, found nothing");
                return Err(CliError::new(Code::NoSuchPlace, message).with_hint(hint::import_file(path)));
            }
            let is_file = path == "-" || Path::new(path).is_file();
            (if is_file { Kind::Log(None) } else { Kind::Bundle }, path)
        }
    };
    match kind {
        Kind::Bundle => bundle::run(context, Path::new(path)),
        Kind::Log(format) => log::run(context, format, path, args),
    }
}
