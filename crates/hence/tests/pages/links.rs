//! Links between pages.

use std::path::Path;

/// Returns the links of a page that lead nowhere, as findings.
pub(crate) fn broken(page: &Path, repository: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let name = page.strip_prefix(repository).unwrap().display();
    let folder = page.parent().unwrap();
    let mut findings = Vec::new();
    for target in targets(&text) {
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (file, heading) = target.split_once('#').unwrap_or((target, ""));
        let path = if file.is_empty() { page.to_owned() } else { folder.join(file) };
        if !path.exists() {
            findings.push(format!("{name}: {target} does not exist"));
        } else if !heading.is_empty() && !headings(&path).iter().any(|known| known == heading) {
            findings.push(format!("{name}: {target} has no such heading"));
        }
    }
    findings
}

/// Returns the targets of the links of a page, outside code.
pub(crate) fn targets(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        // Every second part of a line split at backticks is code.
        for prose in line.split('`').step_by(2) {
            let links = prose.split("](").skip(1);
            found.extend(links.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target));
        }
    }
    found
}

/// Returns the anchors of the headings of a page, as renderers of Markdown write them.
fn headings(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut in_code = false;
    let mut anchors: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
        }
        if in_code || !line.starts_with('#') {
            continue;
        }
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        anchors.push(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
    }
    anchors
}
