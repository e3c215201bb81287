//! The newest session of an agent on this machine.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hence_canon::did_you_mean;
use hence_review::import::Format;

use crate::prelude::*;

/// The agents whose sessions can be found, with the folder below the home folder that holds them.
const AGENTS: [(&str, &str); 2] = [("claude-code", ".claude/projects"), ("codex", ".codex/sessions")];

/// The most folders inside each other that are searched.
const DEPTH_MAX: usize = 6;

/// Finds the newest session of an agent. Links are not followed.
pub(super) fn session(agent: &str) -> Result<(Format, PathBuf), CliError> {
    let known = AGENTS.map(|(name, _)| name);
    let found = AGENTS.iter().find(|(name, _)| *name == agent);
    let (Some((_, below)), Ok(format)) = (found, agent.parse::<Format>()) else {
        let meant = did_you_mean(agent, known);
        let message =
            format!("sessions of {agent:?} cannot be found; expected {}{meant}", known.join(" or "));
        return Err(CliError::new(Code::NoSuchPlace, message).with_hint(hint::NO_SESSIONS));
    };
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let folder = home.join(below);
    let mut newest: Option<(SystemTime, PathBuf)> = None;
    search(&folder, 0, &mut newest);
    match newest {
        Some((_, path)) => Ok((format, path)),
        None => {
            let message = format!("no session of {agent} is in {}", folder.display());
            Err(CliError::new(Code::NoSuchPlace, message).with_hint(hint::NO_SESSIONS))
        }
    }
}

/// Looks for the newest `.jsonl` file; of two with the same time the one with the greater name.
fn search(folder: &Path, depth: usize, newest: &mut Option<(SystemTime, PathBuf)>) {
    // A folder that cannot be read has no session that could be imported.
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
        if kind.is_dir() && depth < DEPTH_MAX {
            search(&path, depth + 1, newest);
        } else if kind.is_file() && path.extension().is_some_and(|ending| ending == "jsonl") {
            let Ok(at) = entry.metadata().and_then(|found| found.modified()) else { continue };
            let found = Some((at, path));
            if found > *newest {
                *newest = found;
            }
        }
    }
}
