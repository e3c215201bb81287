//! Run ids in rows.

/// One run id as a text.
pub(crate) mod run {
    use hence_store::RunId;
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(run: &RunId, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(run.as_str())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<RunId, D::Error> {
        RunId::new(&String::deserialize(input)?).map_err(D::Error::custom)
    }
}

/// A set of run ids as a list of texts.
pub(crate) mod runs {
    use std::collections::BTreeSet;

    use hence_store::RunId;
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(runs: &BTreeSet<RunId>, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(runs.iter().map(RunId::as_str))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<BTreeSet<RunId>, D::Error> {
        let texts = Vec::<String>::deserialize(input)?;
        texts.iter().map(|text| RunId::new(text).map_err(D::Error::custom)).collect()
    }
}
