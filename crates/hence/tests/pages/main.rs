//! The README and the guide are true: every `console` block is executed and compared, every link leads somewhere, every page is listed.
//!
//! A page runs in a folder of its own that holds copies of `examples/` and `policies/`. A fenced block after the comment
//! `<!-- file: NAME -->` is written to that file first. In a `console` block a line that begins with `$ ` is a command and the lines
//! after it are its output, both streams together; `…` stands for anything within a line, and alone on a line for any lines. A command that
//! does not end with 0 is followed by `[exit N]`. The comment `<!-- model says: TEXT -->` serves a scripted model that says so, at the address
//! `http://127.0.0.1:8080` of the page.
//!
//! `HENCE_PAGES=write cargo test -p hence --test pages` writes the output of this build into the pages where it differs. Read the difference
//! before committing it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot continue should stop"
)]

mod links;
mod page;
mod shell;

use std::path::{Path, PathBuf};

/// The folders of the guide whose console blocks are executed.
const EXECUTED: [&str; 5] =
    ["docs/concepts", "docs/tutorials", "docs/how-to", "docs/reference", "docs/explanation"];

/// Returns the folder of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns all Markdown pages below a folder, sorted.
fn pages_below(folder: &Path) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return pages };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages.extend(pages_below(&path));
        } else if path.extension().is_some_and(|ending| ending == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    pages
}

#[test]
fn every_console_block_prints_what_the_page_says() {
    if !shell::is_available() {
        println!("skipped: there is no bash here to execute the blocks of the guide");
        return;
    }
    let repository = repository();
    let mut pages = vec![repository.join("README.md")];
    pages.push(repository.join("docs/operations.md"));
    pages.extend(EXECUTED.iter().flat_map(|folder| pages_below(&repository.join(folder))));
    let write = std::env::var("HENCE_PAGES").is_ok_and(|word| word == "write");
    let mut executed = 0;
    let mut findings = Vec::new();
    for path in pages {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(&repository).unwrap().display().to_string();
        let outcome = page::execute(&name, &text, &repository);
        executed += outcome.commands;
        if write && outcome.text != text {
            std::fs::write(&path, &outcome.text).unwrap();
        }
        findings.extend(outcome.findings);
    }
    assert!(executed > 0, "no console block was found: the test looks in the wrong place");
    println!("{executed} commands of the README and the guide were executed");
    assert!(write || findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let repository = repository();
    let mut pages = pages_below(&repository.join("docs"));
    pages.extend(pages_below(&repository.join("examples")));
    pages.extend(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"].map(|name| repository.join(name)),
    );
    let findings: Vec<String> = pages.iter().flat_map(|page| links::broken(page, &repository)).collect();
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn the_contents_list_every_page_of_the_guide_once() {
    let repository = repository();
    let contents = std::fs::read_to_string(repository.join("docs/SUMMARY.md")).unwrap();
    let listed = links::targets(&contents);
    let mut findings = Vec::new();
    for path in pages_below(&repository.join("docs")) {
        let name = path.strip_prefix(repository.join("docs")).unwrap().display().to_string();
        let is_listed = listed.iter().filter(|target| **target == name).count();
        // Each error code has a page, which `hence explain` prints; the contents list their index.
        if is_listed != 1 && name != "SUMMARY.md" && !name.starts_with("errors/") {
            findings.push(format!("docs/SUMMARY.md lists {name} {is_listed} times"));
        }
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}
