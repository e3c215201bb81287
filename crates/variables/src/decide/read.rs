//! Reading a variable.

use crate::decide::draft::Draft;
use crate::decide::{Accepted, target};
use crate::{Action, Files, Form, Get, Name, Refusal, Reply, Sight, Timestamp};

pub(super) fn decide(
    sight: Sight<'_>,
    get: &Get,
    now: Timestamp,
    files: &dyn Files,
) -> Result<Accepted, Refusal> {
    let name: Name = get.name.parse()?;
    let scope = target::scope(sight, get.scope.as_ref())?;
    let found = target::find(sight, scope, &name).ok_or_else(|| Refusal::NotFound { name: name.clone() })?;
    let stored = &found.variable.stored;
    let reply = match get.form {
        Form::Raw => Reply::Value {
            value: stored.shown(),
            value_type: stored.shown_type(),
            spill_reference: stored.is_spilled(),
        },
        Form::Loaded => {
            let loaded = stored.load(files);
            let (value, value_type) = loaded.map_err(|fault| Refusal::Load { name: name.clone(), fault })?;
            Reply::Value { value, value_type, spill_reference: false }
        }
    };
    // Only a read that gave something counts, so the count is decided last.
    let mut draft = Draft::on(sight, Action::Get, now);
    draft.read(found.home, name);
    Ok(Accepted { event: Some(draft.finish()), spills: Vec::new(), reply })
}
