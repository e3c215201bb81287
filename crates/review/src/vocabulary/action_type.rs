//! The type of an action: one vocabulary for skills, capabilities, importers, exporters and policies.

use std::fmt;

use super::{ActionCategory, ActivityType, GatewayType, GovernanceType, ReasoningType};

/// The number of activity types that the trace document lists; those after them come from the policy packs.
const SPECIFIED_ACTIVITIES: usize = 24;
/// The number of gateway types that the trace document lists.
const SPECIFIED_GATEWAYS: usize = 4;

/// The type of an action, with the family it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "the variants are the families")]
pub enum ActionType {
    Activity(ActivityType),
    Gateway(GatewayType),
    Reasoning(ReasoningType),
    Governance(GovernanceType),
    /// A type that a skill or a capability declares for itself; it is an activity.
    Custom(CustomType),
}

impl ActionType {
    /// Reads a type of the vocabulary: one of the specification or of the policy packs.
    pub fn from_word(word: &str) -> Option<Self> {
        ActivityType::from_word(word)
            .map(Self::Activity)
            .or_else(|| GatewayType::from_word(word).map(Self::Gateway))
            .or_else(|| ReasoningType::from_word(word).map(Self::Reasoning))
            .or_else(|| GovernanceType::from_word(word).map(Self::Governance))
    }

    /// Reads a type that the trace document lists.
    pub fn from_specified_word(word: &str) -> Option<Self> {
        Self::from_word(word).filter(Self::is_specified)
    }

    /// Returns every type of the vocabulary, family by family, in the order of the specification.
    pub fn all() -> impl Iterator<Item = Self> {
        let activities = ActivityType::ALL.iter().copied().map(Self::Activity);
        let gateways = GatewayType::ALL.iter().copied().map(Self::Gateway);
        let reasoning = ReasoningType::ALL.iter().copied().map(Self::Reasoning);
        activities
            .chain(gateways)
            .chain(reasoning)
            .chain(GovernanceType::ALL.iter().copied().map(Self::Governance))
    }

    /// Returns whether the trace document lists this type.
    pub fn is_specified(&self) -> bool {
        match self {
            Self::Activity(word) => {
                !ActivityType::ALL.iter().skip(SPECIFIED_ACTIVITIES).any(|pack| pack == word)
            }
            Self::Gateway(word) => !GatewayType::ALL.iter().skip(SPECIFIED_GATEWAYS).any(|pack| pack == word),
            Self::Reasoning(_) | Self::Governance(_) => true,
            Self::Custom(_) => false,
        }
    }

    /// Returns the wire word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Activity(word) => word.as_str(),
            Self::Gateway(word) => word.as_str(),
            Self::Reasoning(word) => word.as_str(),
            Self::Governance(word) => word.as_str(),
            Self::Custom(word) => word.as_str(),
        }
    }

    /// Returns the family.
    pub const fn category(self) -> ActionCategory {
        match self {
            Self::Activity(_) | Self::Custom(_) => ActionCategory::Activity,
            Self::Gateway(_) => ActionCategory::Gateway,
            Self::Reasoning(_) => ActionCategory::Reasoning,
            Self::Governance(_) => ActionCategory::Governance,
        }
    }
}

impl fmt::Display for ActionType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

impl From<ActivityType> for ActionType {
    fn from(word: ActivityType) -> Self {
        Self::Activity(word)
    }
}

impl From<GatewayType> for ActionType {
    fn from(word: GatewayType) -> Self {
        Self::Gateway(word)
    }
}

impl From<ReasoningType> for ActionType {
    fn from(word: ReasoningType) -> Self {
        Self::Reasoning(word)
    }
}

impl From<GovernanceType> for ActionType {
    fn from(word: GovernanceType) -> Self {
        Self::Governance(word)
    }
}

impl From<CustomType> for ActionType {
    fn from(word: CustomType) -> Self {
        Self::Custom(word)
    }
}

/// The longest name of a custom action type. Names are stored inline, so that a type stays a plain value.
pub const CUSTOM_TYPE_BYTES_MAX: usize = 48;

/// The name of an action type that is in no list: `CertificationRun`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CustomType {
    bytes: [u8; CUSTOM_TYPE_BYTES_MAX],
    len: u8,
}

impl CustomType {
    /// Reads a name: a capital letter, then ASCII letters and digits, and no word of the vocabulary.
    pub fn from_word(word: &str) -> Option<Self> {
        let is_name = word.starts_with(|first: char| first.is_ascii_uppercase())
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_name || ActionType::from_word(word).is_some() {
            return None;
        }
        let mut bytes = [0; CUSTOM_TYPE_BYTES_MAX];
        bytes.get_mut(..word.len())?.copy_from_slice(word.as_bytes());
        Some(Self { bytes, len: u8::try_from(word.len()).ok()? })
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        self.bytes
            .get(..self.len.into())
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or_default()
    }
}

impl fmt::Debug for CustomType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "CustomType({})", self.as_str())
    }
}

/// A word that is no action type where one was expected.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{found}` is not an action type{}", suggestion.as_ref().map(|word| format!("; did you mean `{word}`?")).unwrap_or_default())]
pub struct UnknownActionType {
    /// The word that was found.
    pub found: String,
    /// The known or declared type whose name is nearest, if one is near.
    pub suggestion: Option<String>,
}

/// The action types a document may use: the vocabulary, and the custom ones it declares.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct ActionTypes {
    declared: Vec<CustomType>,
}

impl ActionTypes {
    /// Adds a declared custom type. A word of the vocabulary needs no declaration and is accepted.
    ///
    /// # Errors
    /// The reason why the word cannot be the name of a type.
    pub fn declare(&mut self, word: &str) -> Result<(), String> {
        if ActionType::from_word(word).is_some() {
            return Ok(());
        }
        let custom = CustomType::from_word(word).ok_or_else(|| {
            format!(
                "a custom action type is a capital letter and then letters and digits, at most {CUSTOM_TYPE_BYTES_MAX}; found {word:?}"
            )
        })?;
        if !self.declared.contains(&custom) {
            self.declared.push(custom);
        }
        Ok(())
    }

    /// Adds the custom types that `other` declares.
    pub fn extend(&mut self, other: &Self) {
        for custom in &other.declared {
            if !self.declared.contains(custom) {
                self.declared.push(*custom);
            }
        }
    }

    /// Returns the declared custom types, in the order of their declaration.
    pub fn declared(&self) -> impl Iterator<Item = &str> {
        self.declared.iter().map(CustomType::as_str)
    }

    /// Reads a type of the vocabulary or a declared one.
    ///
    /// # Errors
    /// [`UnknownActionType`] with the nearest name, if one is near.
    pub fn read(&self, word: &str) -> Result<ActionType, UnknownActionType> {
        ActionType::from_word(word)
            .or_else(|| self.declared.iter().find(|custom| custom.as_str() == word).copied().map(Into::into))
            .ok_or_else(|| UnknownActionType { found: word.to_owned(), suggestion: self.nearest(word) })
    }

    /// Returns the name nearest to `word`, if it is near enough to be a slip.
    fn nearest(&self, word: &str) -> Option<String> {
        let known = ActionType::all().chain(self.declared.iter().copied().map(Into::into));
        let ranked = known.map(|known| (edits(word, known.as_str()), known));
        let (edits, nearest) = ranked.min_by_key(|(edits, _)| *edits)?;
        (edits <= slip(word)).then(|| nearest.as_str().to_owned())
    }
}

/// Returns how many edits still count as a slip of the pen: a third of the letters.
fn slip(word: &str) -> usize {
    (word.chars().count() / 3).clamp(1, 4)
}

/// Returns the number of inserted, removed and replaced letters between two words, without regard to case.
fn edits(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, letter) in left.to_lowercase().chars().enumerate() {
        let mut next = vec![at + 1];
        for (column, other) in right.iter().enumerate() {
            let replaced = row.get(column).copied().unwrap_or_default() + usize::from(letter != *other);
            let removed = row.get(column + 1).copied().unwrap_or_default() + 1;
            let inserted = next.last().copied().unwrap_or_default() + 1;
            next.push(replaced.min(removed).min(inserted));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specification_has_46_types_and_the_packs_add_theirs() {
        let (specified, packs): (Vec<_>, Vec<_>) = ActionType::all().partition(ActionType::is_specified);
        assert_eq!((specified.len(), packs.len()), (46, 29));
        for known in ActionType::all() {
            assert_eq!(ActionType::from_word(known.as_str()), Some(known));
        }
        assert_eq!(ActionType::from_specified_word("Deploy"), None);
        assert_eq!(
            ActionType::from_word("Decision").map(ActionType::category),
            Some(ActionCategory::Gateway)
        );
    }

    #[test]
    fn a_custom_type_is_a_camel_case_name_that_is_declared() {
        let mut types = ActionTypes::default();
        assert!(types.read("CertificationRun").is_err());
        types.declare("CertificationRun").unwrap();
        assert_eq!(types.read("CertificationRun").unwrap().as_str(), "CertificationRun");
        assert_eq!(
            types.read("CertificationRan").unwrap_err().suggestion.as_deref(),
            Some("CertificationRun")
        );
        for refused in ["", "certification", "Two words", "Ä", &"X".repeat(CUSTOM_TYPE_BYTES_MAX + 1)] {
            assert!(types.declare(refused).is_err(), "{refused:?}");
        }
        assert!(types.declare(&"X".repeat(CUSTOM_TYPE_BYTES_MAX)).is_ok());
    }

    #[test]
    fn a_misspelt_type_suggests_the_nearest_one() {
        let near = |word: &str| ActionTypes::default().read(word).unwrap_err().suggestion;
        for (word, nearest) in [
            ("GitCommitt", "GitCommit"),
            ("deploy", "Deploy"),
            ("Gitpsuh", "GitPush"),
            ("RunTest", "RunTests"),
        ] {
            assert_eq!(near(word).as_deref(), Some(nearest), "{word}");
        }
        assert_eq!(near("Publish"), None);
        assert_eq!(near(""), None);
    }
}
