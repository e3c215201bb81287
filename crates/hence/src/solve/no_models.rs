//! A build without language models: nothing can be asked, and every attempt says so.

use hence_canon::Object;
use hence_solve::{ModelPin, NoReply, Request, Spec};

use crate::prelude::{CliError, Code};

/// The reason.
const ABSENT: &str = "this build has no language models";

/// The models of a run: none.
pub(crate) struct ModelSet;

/// A call that gave no reply.
pub(super) struct NoModelReply {
    pub(super) reply: NoReply,
    /// Whether it is certain that the endpoint has not computed a reply that it charges for and that is lost.
    pub(super) is_decided: bool,
}

/// A reply, which never comes.
pub(super) struct NoChat {
    pub(super) text: String,
    pub(super) finish_reason: Option<String>,
    pub(super) model: Option<String>,
    pub(super) meta: Object,
}

fn absent() -> CliError {
    CliError::new(Code::Model, ABSENT)
}

pub(super) fn pin(_: &str, _: &Object, _: Option<&Object>) -> Result<ModelPin, CliError> {
    Err(absent())
}

pub(crate) fn pin_like(_: &str, _: &ModelPin) -> Result<ModelPin, CliError> {
    Err(absent())
}

pub(super) fn require_keys(_: &Spec) -> Result<(), CliError> {
    Err(absent())
}

impl ModelSet {
    pub(crate) fn open(_: &Spec) -> Result<Self, CliError> {
        Err(absent())
    }

    pub(super) fn ask(
        &self,
        _: &ModelPin,
        _: &Request,
        _: &str,
        _: &(dyn Fn() -> bool + Sync),
    ) -> Result<NoChat, NoModelReply> {
        Err(NoModelReply { reply: NoReply::Unavailable(ABSENT.to_owned()), is_decided: true })
    }
}
