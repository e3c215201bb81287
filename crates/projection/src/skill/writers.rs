//! The artifacts that had a part in the value of a reference.

use std::collections::{BTreeMap, BTreeSet};

use hence_review::model::ArtifactId;

/// The writers by target. Only writers that still have a part in a value are stored.
#[derive(Default)]
pub(super) struct Writers {
    by_target: BTreeMap<String, Vec<Written>>,
    count: usize,
}

struct Written {
    position: usize,
    artifact: ArtifactId,
    how: How,
}

/// The change that a write makes to the existing value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum How {
    /// It replaces the value, or was made from all of it.
    Replaces,
    /// It adds to the value.
    Adds,
}

impl Writers {
    /// Remembers a write.
    pub(super) fn write(&mut self, target: &str, artifact: &ArtifactId, how: How) {
        if how == How::Replaces {
            let below: Vec<String> = self.below(target).map(|(key, _)| key.clone()).collect();
            for key in below.iter().map(String::as_str).chain([target]) {
                self.by_target.remove(key);
            }
        }
        let written = Written { position: self.count, artifact: artifact.clone(), how };
        self.count += 1;
        self.by_target.entry(target.to_owned()).or_default().push(written);
    }

    /// Returns the artifacts that had a part in the value of a reference, oldest first, since it was last written whole.
    pub(super) fn of(&self, reference: &str) -> Vec<&ArtifactId> {
        let above = prefixes(reference).filter_map(|prefix| self.by_target.get(prefix)).flatten();
        let whole = above.clone().filter(|one| one.how == How::Replaces).map(|one| one.position).max();
        let below = self.below(reference).flat_map(|(_, written)| written);
        let since = above.chain(below).filter(|one| whole.is_none_or(|whole| one.position >= whole));
        let ordered: BTreeMap<usize, &ArtifactId> = since.map(|one| (one.position, &one.artifact)).collect();
        let mut seen = BTreeSet::new();
        ordered.into_values().filter(|id| seen.insert(*id)).collect()
    }

    fn below<'w>(&'w self, target: &str) -> impl Iterator<Item = (&'w String, &'w Vec<Written>)> + use<'w> {
        let inside = format!("{target}.");
        let stop = inside.clone();
        self.by_target.range(inside..).take_while(move |(key, _)| key.starts_with(&stop))
    }
}

/// Returns a dotted text and each of its prefixes that ends before a dot.
fn prefixes(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.match_indices('.').filter_map(|(at, _)| text.get(..at)).chain([text])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(writers: &Writers, reference: &str) -> String {
        writers.of(reference).into_iter().map(ArtifactId::as_str).collect()
    }

    #[test]
    fn a_value_comes_from_everyone_since_it_was_last_written_whole() {
        let id = |text: &str| ArtifactId::new(text);
        let mut writers = Writers::default();
        writers.write("working.risks", &id("a"), How::Replaces);
        writers.write("working.risks", &id("b"), How::Adds);
        writers.write("extensions.x.y", &id("c"), How::Replaces);
        assert_eq!(of(&writers, "working.risks.0.name"), "ab");
        assert_eq!(of(&writers, "working"), "ab");
        assert_eq!(of(&writers, "extensions.x"), "c");
        assert_eq!(of(&writers, "extensions.xy"), "");
        writers.write("working.risks", &id("d"), How::Replaces);
        assert_eq!(of(&writers, "working.risks"), "d");
        writers.write("extensions.x", &id("e"), How::Replaces);
        assert_eq!(of(&writers, "extensions.x.y"), "e");
        writers.write("extensions.x.y", &id("f"), How::Replaces);
        assert_eq!(of(&writers, "extensions.x"), "ef");
        assert_eq!(of(&writers, "extensions.x.y"), "f");
    }
}
