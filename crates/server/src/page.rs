//! The viewer's page, embedded in the binary, and the headers that confine it.

use std::sync::OnceLock;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;

use crate::compress::gzip;

/// The Content-Security-Policy of the served page: nothing from elsewhere, no inline script or style.
pub const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'";

/// A file of the page.
pub(crate) struct Asset {
    pub(crate) name: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) bytes: &'static [u8],
}

macro_rules! assets {
    ($($name:literal: $content_type:literal),* $(,)?) => {
        &[$(Asset {
            name: $name,
            content_type: $content_type,
            bytes: include_bytes!(concat!("../../../web/viewer/dist/", $name)),
        }),*]
    };
}

/// The files of `web/viewer/dist`, the page itself first.
pub(crate) const ASSETS: &[Asset] = assets! {
    "index.html": "text/html; charset=utf-8",
    "assets/app.js": "text/javascript; charset=utf-8",
    "assets/app.css": "text/css; charset=utf-8",
    "assets/worker-verify.js": "text/javascript; charset=utf-8",
    "assets/worker-layout.js": "text/javascript; charset=utf-8",
};

/// Returns the names of the embedded files.
pub fn asset_names() -> impl Iterator<Item = &'static str> {
    ASSETS.iter().map(|asset| asset.name)
}

/// The compressed files, in the order of [`ASSETS`], each made when it is first asked for.
static COMPRESSED: [OnceLock<Vec<u8>>; ASSETS.len()] = [const { OnceLock::new() }; ASSETS.len()];

/// Returns a file of the page.
pub(crate) fn asset(path: &str, request: &HeaderMap) -> Option<Response> {
    let name = path.strip_prefix('/')?;
    let name = if name.is_empty() { "index.html" } else { name };
    let place = ASSETS.iter().position(|asset| asset.name == name)?;
    let (asset, compressed) = (ASSETS.get(place)?, COMPRESSED.get(place)?);
    let accepts = |value: &HeaderValue| value.to_str().is_ok_and(|value| value.contains("gzip"));
    let takes_gzip = request.get(header::ACCEPT_ENCODING).is_some_and(accepts);
    let body = match takes_gzip {
        true => Body::from(compressed.get_or_init(|| gzip(asset.bytes)).as_slice()),
        false => Body::from(asset.bytes),
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if takes_gzip {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Some(response)
}

/// Adds the headers that every response has.
pub(crate) fn add_headers(headers: &mut HeaderMap) {
    let all = [
        (header::CONTENT_SECURITY_POLICY, PAGE_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    for (name, value) in all {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // A page of another origin must not embed what is read here, and no cache may keep it.
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_built_page_is_embedded() {
        let dist = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/viewer/dist");
        let names = |folder: &str| -> Vec<String> {
            let entries = std::fs::read_dir(folder).expect("the page is committed");
            entries
                .map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name"))
                .collect()
        };
        let assets = names(&format!("{dist}/assets")).into_iter().map(|name| format!("assets/{name}"));
        let mut found: Vec<String> =
            names(dist).into_iter().filter(|name| name != "assets").chain(assets).collect();
        found.sort();
        let mut embedded: Vec<&str> = asset_names().collect();
        embedded.sort();
        assert_eq!(found, embedded);
    }

    #[test]
    fn unknown_files_are_not_there() {
        let none = HeaderMap::new();
        assert!(asset("/", &none).is_some() && asset("/assets/app.js", &none).is_some());
        for path in ["", "/x", "/../Cargo.toml", "//index.html", "/assets/", "/assets/app.js/"] {
            assert!(asset(path, &none).is_none(), "{path}");
        }
    }
}
