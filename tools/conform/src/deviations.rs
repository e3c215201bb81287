//! Cases where the strict reading rightly differs from the recorded one.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::data::DataError;

/// Listed deviations of one suite: id → reason.
pub(crate) type Deviations = BTreeMap<String, String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    suite: String,
    id: String,
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    deviation: Vec<Listed>,
}

/// Loads the deviations of `suite`.
pub(crate) fn load(suite: &str) -> Result<Deviations, DataError> {
    let file: File = toml::from_str(include_str!("../deviations.toml"))?;
    let listed = file.deviation.into_iter().filter(|listed| listed.suite == suite);
    Ok(listed.map(|listed| (listed.id, listed.reason)).collect())
}
