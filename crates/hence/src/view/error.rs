//! Errors as the server sends them: the codes of the command line with the statuses of HTTP.

use hence_server::{ApiError, Refusal};

use crate::code::Code;
use crate::context::error_json;
use crate::error::CliError;

/// Returns the status that fits a code.
const fn status(code: Code) -> u16 {
    match code {
        Code::Request => 400,
        Code::Access => 403,
        Code::Busy => 503,
        Code::NoSuchRun | Code::NoSuchPlace | Code::Blob => 404,
        Code::Ambiguous
        | Code::Conflict
        | Code::InUse
        | Code::Answered
        | Code::ReviewRefused
        | Code::NotAsked => 409,
        Code::NotAStore | Code::Damaged | Code::Disk | Code::File | Code::Calls => 500,
        _ => 422,
    }
}

/// Turns an error of a command into an error of the server.
pub(super) fn api_error(error: &CliError) -> ApiError {
    ApiError { status: status(error.code), text: error_json(error) }
}

/// Describes a refusal of the server.
pub(super) fn refusal(refusal: &Refusal) -> ApiError {
    ApiError { status: refusal.status(), text: error_json(&refused(refusal)) }
}

/// Returns a refusal as an error of a command.
pub(super) fn refused(refusal: &Refusal) -> CliError {
    let code = match refusal {
        Refusal::NoRoute(_) => Code::NoSuchPlace,
        Refusal::Request(_) | Refusal::Method(_) => Code::Request,
        Refusal::ContentType(_)
        | Refusal::NoSession
        | Refusal::NotAllowed { .. }
        | Refusal::Origin(_)
        | Refusal::Host(_) => Code::Access,
        Refusal::BodySize { .. } | Refusal::Busy(_) => Code::Busy,
        Refusal::Broken => Code::Stopped,
    };
    CliError::new(code, refusal.to_string())
}

/// Describes a parameter that makes no sense for this run.
pub(super) fn bad_request(message: impl Into<String>) -> CliError {
    CliError::new(Code::Request, message.into())
}
