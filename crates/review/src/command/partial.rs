//! Deeds that can be done in part when they fail.

use crate::shell::Word;

use super::program::name_of;
use super::{Deed, NamedFile};

/// Programs that change one thing after another, and stop at the first that fails.
const ONE_BY_ONE: &[&str] =
    &["terraform", "tofu", "terragrunt", "pulumi", "ansible-playbook", "helmfile", "cdk", "cdktf"];

/// Returns whether a command that failed may have done a part of what it does: it removes a tree or several things, pushes
/// several branches, or changes one resource after another.
pub(super) fn may_be(deed: Deed, files: &[NamedFile], words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return files.len() > 1 };
    let has = |short: &[char], long: &[&str]| {
        arguments.iter().any(|word| {
            let text = word.text.as_str();
            let is_short = !text.starts_with("--") && text.starts_with('-') && text.contains(short);
            is_short || long.contains(&text)
        })
    };
    let operands = || arguments.iter().filter(|word| !word.text.starts_with('-'));
    match deed {
        Deed::Delete => {
            let is_tree = has(&['r', 'R'], &["--recursive"]) || name_of(&program.text) == "find";
            is_tree || files.len() > 1 || operands().count() > 1 || operands().any(|word| word.expands)
        }
        // `push`, the remote and more than one branch.
        Deed::Push => {
            has(&[], &["--all", "--mirror", "--tags", "--follow-tags", "--branches"])
                || operands().count() > 3
        }
        Deed::Deploy | Deed::Destroy => ONE_BY_ONE.contains(&name_of(&program.text).as_str()),
        Deed::Edit | Deed::Create | Deed::Rename => files.len() > 1,
        _ => false,
    }
}
