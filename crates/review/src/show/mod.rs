//! Findings, pictures and text for other readers: SARIF, JUnit, Markdown, terminals.
//!
//! What comes from a trace is shown, never obeyed: each writer escapes what its reader would take for markup.

mod junit;
mod markdown;
mod sarif;
mod visible;

pub use junit::{Case, CaseVerdict, Suite, junit};
pub use markdown::markdown_text;
pub use sarif::{SarifKind, SarifLevel, SarifPlace, SarifResult, SarifRule, sarif, uri_reference};
pub use visible::{is_hidden, shell_word, visible};
