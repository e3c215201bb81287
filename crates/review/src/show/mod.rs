//! Findings and text for other readers: SARIF, JUnit, Markdown, terminals. Each writer escapes text of a trace for its
//! reader.

mod junit;
mod sarif;
mod text;

pub use junit::{Case, CaseVerdict, Suite, junit};
pub use sarif::{SarifKind, SarifLevel, SarifPlace, SarifResult, SarifRule, sarif, uri_reference};
pub use text::{is_hidden, markdown_text, shell_word, visible};
