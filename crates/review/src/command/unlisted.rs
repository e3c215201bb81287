//! Programs that no table lists: the verbs among their arguments, and the commands that they are given to run.

use crate::shell::Word;

use super::Deed;
use super::program::name_of;

/// Programs whose arguments are names, texts or addresses, whatever words they are.
#[rustfmt::skip]
const TAKE_NAMES: &[&str] = &[
    "adduser", "apropos", "banner", "base64", "chgrp", "chmod", "chown", "claude", "cmp", "code", "codex", "comm", "compgen", "complete",
    "cowsay", "crontab", "df", "dialog", "diff", "dig", "du", "emacs", "entr", "espeak", "explorer", "figlet", "file", "fzf", "gemini",
    "getent", "gitk", "groupadd", "groups", "gzip", "hash", "help", "host", "id", "info", "jobs", "journalctl", "jq", "kill", "killall",
    "less", "llm", "ln", "logger", "ls", "lsof", "mail", "man", "md5sum", "mount", "nano", "nats", "nc", "notify-send", "nslookup", "ollama",
    "open", "pass", "passwd", "pgrep", "ping", "pkill", "ps", "rabbitmqadmin", "readlink", "redis-cli", "rsync", "say", "scp", "service",
    "sftp", "sha256sum", "sqlite3", "ssh", "stat", "su", "systemctl", "tar", "telnet", "tig", "tldr", "tmux", "top", "umount", "unzip",
    "useradd", "usermod", "valkey-cli", "vi", "vim", "nvim", "wall", "whatis", "whereis", "which", "whiptail", "write", "xdg-open",
    "xmllint", "yq", "zenity", "zip",
];

/// Verbs after which nothing is changed, whatever words follow.
#[rustfmt::skip]
const READING: &[&str] = &[
    "cat", "check", "completion", "describe", "diff", "docs", "download", "explain", "export", "find", "get", "grep", "help", "history", "info",
    "inspect", "lint", "list", "log", "logs", "ls", "man", "plan", "preview", "query", "search", "show", "status", "tail", "test", "validate",
    "version", "view", "watch", "why",
];

const DESTROYING: &[&str] =
    &["delete", "destroy", "nuke", "purge", "teardown", "terminate", "undeploy", "unpublish", "wipe"];

/// The words at the beginning among which the verb of a command stands: `oci compute instance terminate`.
const VERB_PLACES: usize = 3;

/// Returns what the words of a program say that no table lists: `prefect deploy`, `render services delete`.
pub(super) fn by_verbs(name: &str, operands: &[&str]) -> Deed {
    if TAKE_NAMES.contains(&name) {
        return Deed::Other;
    }
    let is_plain = |word: &str| {
        !word.is_empty()
            && word.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | ':'))
    };
    let words = operands.iter().take(VERB_PLACES).copied().take_while(|word| is_plain(word));
    for (place, word) in words.enumerate() {
        if READING.contains(&word) {
            return Deed::Other;
        }
        let before = place.checked_sub(1).and_then(|at| operands.get(at)).copied().unwrap_or("");
        let is_database = matches!(before, "db" | "database" | "schema" | "migrate" | "migration" | "table");
        let drops = match word {
            "reset" | "fresh" => is_database,
            "drop" => is_database || place == 0,
            _ => word.split(':').any(|part| part == "drop"),
        };
        match word.split(':').find_map(verb).or(drops.then_some(Deed::Destroy)) {
            // A third word is more likely a name than a release.
            Some(Deed::Release) if place == VERB_PLACES - 1 => {}
            Some(deed) => return deed,
            None => {}
        }
    }
    Deed::Other
}

fn verb(word: &str) -> Option<Deed> {
    // `delete-stack`, `group-delete`
    let is = |verb: &str| {
        word.strip_prefix(verb).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            || word.strip_suffix(verb).is_some_and(|rest| rest.ends_with('-'))
    };
    match word {
        "deploy" | "redeploy" => Some(Deed::Deploy),
        "publish" => Some(Deed::Release),
        _ if DESTROYING.iter().any(|verb| is(verb)) => Some(Deed::Destroy),
        _ => None,
    }
}

/// Programs whose commands rules are about, by which a command among the arguments of another program is recognised.
#[rustfmt::skip]
const TOLD: &[&str] = &[
    "aws", "az", "bash", "cargo", "docker", "gcloud", "gh", "git", "helm", "hg", "hub", "jj", "kubectl", "npm", "podman", "pnpm", "rm", "sh",
    "shred", "sl", "sudo", "svn", "terraform", "tofu", "twine", "yarn", "zsh",
];

/// Options that are followed by a script.
const SCRIPT_OPTIONS: &[&str] = &[
    "-c",
    "-C",
    "-e",
    "-x",
    "-X",
    "-r",
    "--command",
    "--cmd",
    "--exec",
    "--execute",
    "--run",
    "--script",
    "--shell",
    "stuff",
];

/// Returns the command lines among the arguments of a program that may run them: `retry 3 git push -f`, `heroku run 'rm -r x'`.
///
/// Whether the program does run them is not known.
pub(super) fn lines_of_arguments(words: &[Word]) -> Vec<String> {
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    // What the tables know has words of its own.
    if TAKE_NAMES.contains(&name_of(&program.text).as_str()) || is_told(&program.text) {
        return Vec::new();
    }
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let mut lines = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        let earlier = texts.get(..at).unwrap_or_default();
        if text.trim().contains(char::is_whitespace) {
            if takes_script(earlier) {
                lines.push((*text).replace("\\n", "\n"));
            }
        } else if is_told(text) {
            let rest: Vec<String> = texts.iter().skip(at).map(|text| (*text).to_owned()).collect();
            lines.push(super::line_of(&rest));
            break;
        }
    }
    lines
}

/// Returns whether a word names a program whose commands rules are about.
pub(super) fn is_told(word: &str) -> bool {
    TOLD.contains(&name_of(word.trim()).as_str())
}

/// Returns whether a text begins with such a program and says more than its name.
pub(super) fn begins_with_told(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next().is_some_and(is_told) && words.next().is_some()
}

/// Returns whether the words before a text say that it is run.
fn takes_script(earlier: &[&str]) -> bool {
    let by_option = earlier.last().is_some_and(|option| SCRIPT_OPTIONS.contains(option));
    by_option
        || earlier.iter().any(|word| {
            matches!(*word, "run" | "exec" | "shell" | "ssh" | "sh" | "eval" | "spawn" | "--")
                || word.starts_with("exec-")
        })
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn verbs_of_programs_that_no_table_lists_are_read() {
        check(&[
            ("prefect deploy flow.py", "Deploy"),
            ("databricks bundle deploy -t prod", "Deploy"),
            ("sfdx force:source:deploy", "Deploy"),
            ("opam publish", "Release"),
            ("render services delete srv-1", "Destroy~"),
            ("vagrant destroy -f", "Destroy~"),
            ("ibmcloud resource group-delete x", "Destroy~"),
            ("bq rm -f d.t", "Destroy~"),
            ("netlify sites:delete", "Destroy~"),
            ("wrangler kv:key delete k", "Destroy~"),
            ("diesel database reset", "Destroy~"),
            ("kubectl get deploy x", "-"),
            ("kubectl describe deploy", "-"),
            ("chmod +x deploy", "-"),
            ("ssh deploy", "-"),
            ("ps aux delete", "-"),
            ("mytool list delete", "-"),
            ("mytool notes/delete", "-"),
            ("mytool --help deploy", "-"),
            ("prefect deploy --dry-run", "-"),
            ("redis-cli publish channel hi", "-"),
        ]);
    }

    #[test]
    fn commands_that_an_unlisted_program_is_given_are_uncertain() {
        check(&[
            ("aws-vault exec p -- git push -f", "Push!~"),
            ("retry 3 git push --force", "Push!~"),
            ("s6-setuidgid u git commit -m x", "Commit"),
            ("bwrap --bind / / rm -rf x", "Delete(x)"),
            ("sops exec-env f 'git push -f'", "Push!~"),
            ("heroku run 'kubectl delete ns x'", "Destroy~"),
            ("screen -X stuff 'git push -f\\n'", "Push!~"),
            ("notify-send 'git push -f'", "-"),
            ("claude -p 'git push -f'", "-"),
            ("mytool note 'git push -f broke it'", "-"),
            ("man git push", "-"),
            ("mytool git log", "-"),
        ]);
    }
}
