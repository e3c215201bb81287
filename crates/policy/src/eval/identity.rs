//! Identities of people: two spellings of one name are one person.
//!
//! A rule that demands two people compares names that people typed. Case, surrounding and repeated spaces, characters that
//! nobody sees, and the Unicode form of a name make no second person. Letters that only look alike do: `а` (Cyrillic) is
//! not `a`.

use std::collections::BTreeSet;

use icu_normalizer::ComposingNormalizerBorrowed;

use super::datum::Datum;
use crate::formula::Term;

/// Members of actions and other objects whose value names a person.
const IDENTITY_MEMBERS: [&str; 12] = [
    "actor",
    "agent",
    "approver",
    "author",
    "by",
    "created_by",
    "decided_by",
    "owner",
    "person",
    "resolved_by",
    "reviewer",
    "user",
];

/// Returns whether a term names a person: a field such as `b.agent`.
pub(super) fn names_person(term: &Term) -> bool {
    let last = match term {
        Term::Word(word) => Some(word),
        Term::Field { path, .. } => path.last(),
        Term::Comprehension { body, .. } => return names_person(body),
        _ => None,
    };
    last.is_some_and(|word| IDENTITY_MEMBERS.contains(&word.as_str()))
}

/// Returns whether two values are texts that name the same people.
pub(super) fn same_people(left: &Datum<'_>, right: &Datum<'_>) -> bool {
    match (left.as_text(), right.as_text()) {
        (Some(left), Some(right)) => people(left) == people(right),
        _ => false,
    }
}

/// Returns the people that a text names. The answers of a loop name several, separated by commas.
fn people(text: &str) -> BTreeSet<String> {
    text.split(',').map(identity).filter(|name| !name.is_empty()).collect()
}

/// Returns the one spelling of a name that all its spellings have in common.
pub(super) fn identity(name: &str) -> String {
    let composed = ComposingNormalizerBorrowed::new_nfkc().normalize(name);
    let visible: String = composed.chars().filter(|letter| !is_invisible(*letter)).collect();
    // Upper case first: `ß` and `SS` are one spelling, and so are the forms of sigma.
    let folded = visible.to_uppercase().to_lowercase();
    let folded = ComposingNormalizerBorrowed::new_nfkc().normalize(&folded).into_owned();
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether a character has no shape of its own: zero-width, direction marks, variation selectors, fillers, tags and
/// controls.
fn is_invisible(letter: char) -> bool {
    letter.is_control() && !letter.is_whitespace()
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_name_is_one_person() {
        for spelling in [
            "ada",
            "Ada",
            " ADA ",
            "ada\u{200b}",
            "\u{feff}ada",
            "a\u{ad}da",
            "ａｄａ",
            "ada\u{a0}",
            "ada\n",
            "\u{202a}ada\u{202c}",
            "a\u{e0001}da",
            "ada\u{0}",
        ] {
            assert_eq!(identity(spelling), "ada", "{spelling:?}");
        }
        assert_eq!(identity("Zoe\u{308}"), identity("ZOË"));
        assert_eq!(identity("Ada  Lovelace"), identity("ada lovelace"));
        assert_eq!(identity("Strauß"), identity("STRAUSS"));
    }

    #[test]
    fn other_people_stay_others() {
        for other in ["ben", "adam", "ad a", "\u{430}da", "ada2", ""] {
            assert_ne!(identity(other), "ada", "{other:?}");
        }
        let named = |left: &str, right: &str| same_people(&Datum::Text(left), &Datum::Text(right));
        assert!(named("ada, Ben", "BEN,ada "));
        assert!(named("ada, Ada ", "ADA"), "one person who answered twice");
        assert!(!named("ada, ben", "ada"));
        assert!(!same_people(&Datum::Nothing, &Datum::Text("ada")));
    }

    #[test]
    fn a_rule_about_two_people_is_not_satisfied_by_two_spellings_of_one() {
        use crate::policy::{Policy, PolicyId, built_in};
        let counted = "G(Release → Count({b.agent | b ∈ actions_before(a) ∧ b.type = Approve}) ≥ 2)";
        let set = built_in();
        let rules = [
            set.get("two-people-for-release").unwrap().clone(),
            Policy::from_formula(&PolicyId::new("counted").unwrap(), counted),
        ];
        for (second, status) in [
            ("ben", "passed"),
            ("ada", "failed"),
            ("Ada ", "failed"),
            ("ada\u{200b}", "failed"),
            ("ＡＤＡ", "failed"),
        ] {
            let trace = format!(
                r#"{{"actions": [{{"id": 1, "type": "Approve", "agent": "ada"}}, {{"id": 2, "type": "Approve", "agent": "{second}"}}, {{"id": 3, "type": "Release"}}]}}"#
            );
            let trace = hence_canon::parse(trace.as_bytes()).unwrap();
            for rule in &rules {
                let report = crate::check(&trace, [rule], crate::Options::default());
                let verdict = report.verdicts.first().unwrap();
                assert_eq!(verdict.status.as_str(), status, "{second:?}: {verdict}");
            }
        }
    }
}
