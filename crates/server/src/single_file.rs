//! The page and its data in one document.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::compress::gzip;
use crate::page::ASSETS;

/// The format of the data in a single file.
pub const FORMAT: &str = "hence-view/2";

/// The places of `index.html` that are replaced.
const STYLE: &str = "<link rel=\"stylesheet\" href=\"assets/app.css\">";
const SCRIPT: &str = "<script type=\"module\" src=\"assets/app.js\"></script>";
const HEAD: &str = "<head>";

/// The workers, which the page starts from the text of these elements.
const WORKERS: [&str; 2] = ["assets/worker-verify.js", "assets/worker-layout.js"];

/// The embedded page is not of the form that is expected.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SingleFileError {
    /// A place of the page is missing.
    #[error("the page has no {0}")]
    Place(&'static str),
    /// A file of the page is missing or not text.
    #[error("the page has no file {0}")]
    File(&'static str),
}

/// Returns the element with the data of a page, compressed.
pub fn embedded_block(data: &[u8]) -> String {
    let (bytes, text) = (data.len(), STANDARD.encode(gzip(data)));
    format!(
        "<script type=\"application/json\" id=\"hence-data\">\
         {{\"format\":\"{FORMAT}\",\"encoding\":\"gzip+base64\",\"bytes\":{bytes},\"data\":\"{text}\"}}</script>"
    )
}

/// Returns the page with its data as one document.
///
/// # Errors
/// [`SingleFileError`] when the embedded page has not the form that the build gives it.
pub fn single_file(data: &[u8]) -> Result<String, SingleFileError> {
    let page = file("index.html")?;
    let (script, style) = (inline_script(file("assets/app.js")?), file("assets/app.css")?);
    let policy = format!(
        "default-src 'none'; script-src '{}' blob:; style-src '{}'; worker-src blob:; img-src data:; \
         connect-src 'none'; base-uri 'none'; form-action 'none'",
        hash_of(&script),
        hash_of(style)
    );
    let mut blocks = String::new();
    for name in WORKERS {
        let text = inline_script(file(name)?);
        blocks.push_str(&format!("<script type=\"text/plain\" data-asset=\"{name}\">{text}</script>\n"));
    }
    blocks.push_str(&embedded_block(data));
    blocks.push_str(&format!("\n<script type=\"module\">{script}</script>"));
    let meta = format!("{HEAD}\n<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">");
    let page = replace(page, HEAD, &meta)?;
    let page = replace(&page, STYLE, &format!("<style>{style}</style>"))?;
    replace(&page, SCRIPT, &blocks)
}

fn file(name: &'static str) -> Result<&'static str, SingleFileError> {
    let asset = ASSETS.iter().find(|asset| asset.name == name).ok_or(SingleFileError::File(name))?;
    std::str::from_utf8(asset.bytes).map_err(|_| SingleFileError::File(name))
}

fn replace(text: &str, place: &'static str, with: &str) -> Result<String, SingleFileError> {
    let (before, after) = text.split_once(place).ok_or(SingleFileError::Place(place))?;
    Ok([before, with, after].concat())
}

/// Returns a script so that no text in it ends its element or opens a comment. Both can only be in strings and patterns,
/// where the backslash changes nothing.
fn inline_script(script: &str) -> String {
    let mut safe = String::with_capacity(script.len());
    let mut rest = script;
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        let begins =
            |word: &str| from.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        let needs_escape = begins("</script") || begins("<script") || begins("<!--");
        safe.push_str(before);
        safe.push_str(if needs_escape { "<\\" } else { "<" });
        rest = from.get(1..).unwrap_or_default();
    }
    safe.push_str(rest);
    safe
}

fn hash_of(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_has_the_page_its_scripts_and_the_data_and_names_nothing_outside() {
        let page = single_file(br#"{"format":"hence-view/2"}"#).expect("the page is built");
        assert!(
            page.contains("id=\"hence-data\"") && page.contains("data-asset=\"assets/worker-verify.js\"")
        );
        for outside in ["src=\"assets/app.js\"", "href=\"assets/app.css\""] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains("connect-src 'none'") && !page.contains("'unsafe-inline'"));
        assert_eq!(page, single_file(br#"{"format":"hence-view/2"}"#).expect("the page is built"));
    }

    #[test]
    fn no_text_of_a_script_ends_its_element() {
        let script = inline_script("const a = '</script><!--' < b; // </SCRIPT <");
        assert_eq!(script, "const a = '<\\/script><\\!--' < b; // <\\/SCRIPT <");
    }
}
