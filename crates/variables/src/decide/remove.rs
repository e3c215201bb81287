//! Deleting and renaming.

use crate::decide::draft::Draft;
use crate::decide::{Accepted, check_open, target};
use crate::{Action, Delete, Name, Refusal, Rename, Reply, Sight, Timestamp};

pub(super) fn delete(sight: Sight<'_>, delete: &Delete, now: Timestamp) -> Result<Accepted, Refusal> {
    check_open(sight.state, delete.if_mutation_count)?;
    let name: Name = delete.name.parse()?;
    check_removable(&name)?;
    let (home, found) = target::existing(sight, delete.scope.as_ref(), &name)?;
    let mut draft = Draft::on(sight, Action::Delete, now);
    draft.delete(home, &found.variable, &delete.origin)?;
    Ok(Accepted { event: Some(draft.finish()), spills: Vec::new(), reply: Reply::Done })
}

pub(super) fn rename(sight: Sight<'_>, rename: &Rename, now: Timestamp) -> Result<Accepted, Refusal> {
    check_open(sight.state, rename.if_mutation_count)?;
    let name: Name = rename.name.parse()?;
    check_removable(&name)?;
    let to: Name = rename.to.parse()?;
    if to.is_special() {
        return Err(Refusal::Special { name: to, reason: "nothing can be renamed to it", rule: "RENAME-3" });
    }
    let (home, _) = target::existing(sight, rename.scope.as_ref(), &name)?;
    // A name that is visible in any scope is taken: the renamed variable would hide it or be hidden by it.
    if sight.find(&to).is_some() {
        return Err(Refusal::NameTaken { name: to });
    }
    let mut draft = Draft::on(sight, Action::Rename, now);
    draft.rename(home, name, to, &rename.origin)?;
    Ok(Accepted { event: Some(draft.finish()), spills: Vec::new(), reply: Reply::Done })
}

fn check_removable(name: &Name) -> Result<(), Refusal> {
    if name.is_prompt() {
        return Err(Refusal::ReadOnly { name: name.clone() });
    }
    if name.is_final() {
        let reason = "it can be neither deleted nor renamed";
        return Err(Refusal::Special { name: name.clone(), reason, rule: "FINAL-6" });
    }
    Ok(())
}
