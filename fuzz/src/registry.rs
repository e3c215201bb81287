//! Properties of reading any bytes as a capabilities file.

use std::path::PathBuf;

use hence_canon::Value;
use hence_capabilities::{Declarations, Kinds, Source};
use hence_models::LlmKind;

fn read(document: Value, kinds: &Kinds) -> Result<Declarations, usize> {
    let source = Source { document, folder: PathBuf::from("/here") };
    Declarations::read(vec![source], kinds).map_err(|problems| {
        assert!(problems.iter().all(|found| found.source == 0 && !found.problem.to_string().is_empty()));
        problems.len()
    })
}

/// Reading never panics: a file is refused with what is wrong, or declares the same when it is read as it is pinned.
pub fn registry(bytes: &[u8]) {
    let Ok(document) = hence_yaml::parse(bytes) else { return };
    let kinds = Kinds::standard().with(LlmKind);
    match read(document.value().clone(), &kinds) {
        Err(problems) => assert!(problems > 0),
        Ok(declared) => {
            let pinned = declared.canonical();
            let again = read(pinned.value().clone(), &kinds).expect("what is pinned can be read");
            assert_eq!(again.canonical().digest(), pinned.digest());
            assert!(again.iter().map(|(id, _)| id).eq(declared.iter().map(|(id, _)| id)));
        }
    }
}
