//! Which variable an operation means.

use std::sync::Arc;

use crate::{Found, Home, Name, Refusal, Scope, Sight};

/// Reads an optional scope and checks that the state has it.
pub(super) fn scope(sight: Sight<'_>, scope: Option<&Arc<str>>) -> Result<Option<Scope>, Refusal> {
    let Some(text) = scope else { return Ok(None) };
    let scope: Scope = text.parse().map_err(Refusal::InvalidScope)?;
    if sight.has(scope) { Ok(Some(scope)) } else { Err(Refusal::ScopeUnavailable { scope }) }
}

/// Finds a variable: in `scope` only when one is given, else in the narrowest that has it.
pub(super) fn find(sight: Sight<'_>, scope: Option<Scope>, name: &Name) -> Option<Found> {
    match scope {
        Some(scope) => sight.find_in(scope, name),
        None => sight.find(name),
    }
}

/// Finds the variable that is to go away or change its name.
pub(super) fn existing(
    sight: Sight<'_>,
    scope_text: Option<&Arc<str>>,
    name: &Name,
) -> Result<(Home, Found), Refusal> {
    let scope = scope(sight, scope_text)?;
    let found = find(sight, scope, name).ok_or_else(|| Refusal::NotFound { name: name.clone() })?;
    if found.variable.read_only {
        return Err(Refusal::ReadOnly { name: name.clone() });
    }
    Ok((found.home, found))
}
