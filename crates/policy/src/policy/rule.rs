//! The formula of a policy, with the words the policy defines.

use std::collections::BTreeMap;

use hence_canon::{Object, Value};

use crate::formula::{Expr, Formula, SyntaxError, Term, Word};

/// A formula and the definitions of its own words.
///
/// A definition is a formula over what a trace states: `pci_scope = "target(a) ∈ …"`. A word with a definition
/// is exact; a word without one is searched for in texts.
#[derive(Clone, Debug)]
pub struct Rule {
    formula: Formula,
    definitions: BTreeMap<Word, Formula>,
    expr: Expr,
}

/// Errors of a policy's formula or definitions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// No formula, or one that is not a text.
    #[error("the policy has no formula")]
    Missing,
    /// A formula that cannot be read.
    #[error("{0}")]
    Syntax(#[from] SyntaxError),
    /// A definition that cannot be read.
    #[error("definition of `{word}`: {fault}")]
    Definition {
        /// The word.
        word: String,
        /// The error.
        fault: String,
    },
}

impl Rule {
    /// Reads `formula` and `predicates` of a policy object.
    ///
    /// # Errors
    /// [`RuleError`] for anything that is missing or cannot be parsed.
    pub fn read(source: &Object) -> Result<Self, RuleError> {
        let text = source.get("formula").and_then(Value::as_str).ok_or(RuleError::Missing)?;
        let formula = Formula::parse(text)?;
        let mut definitions = BTreeMap::new();
        let defined = source.get("predicates").filter(|value| !value.is_null());
        if let Some(defined) = defined {
            let fault = |word: &str, fault: String| RuleError::Definition { word: word.to_owned(), fault };
            let object =
                defined.as_object().ok_or_else(|| fault("*", "`predicates` must be an object".to_owned()))?;
            for (word, meaning) in object.iter() {
                let text = meaning.as_str().ok_or_else(|| fault(word, "must be a formula".to_owned()))?;
                let meaning = Formula::parse(text).map_err(|error| fault(word, error.to_string()))?;
                definitions.insert(Word::from(&**word), meaning);
            }
        }
        let expr = replace(formula.expr(), &definitions);
        Ok(Self { formula, definitions, expr })
    }

    /// Returns the formula as written.
    pub fn formula(&self) -> &Formula {
        &self.formula
    }

    /// Returns the definitions, by word.
    pub fn definitions(&self) -> impl Iterator<Item = (&Word, &Formula)> {
        self.definitions.iter()
    }

    /// Returns the formula with every defined word replaced by its definition. Definitions do not use each other,
    /// so the tree is at most twice as high as a formula may be.
    pub fn expr(&self) -> &Expr {
        &self.expr
    }

    /// Returns whether the policy defines a word.
    pub fn defines(&self, word: &str) -> bool {
        self.definitions.contains_key(&Word::from(word))
    }
}

fn replace(expr: &Expr, definitions: &BTreeMap<Word, Formula>) -> Expr {
    if definitions.is_empty() {
        return expr.clone();
    }
    let again = |part: &Expr| replace(part, definitions);
    let boxed = |part: &Expr| Box::new(replace(part, definitions));
    match expr {
        Expr::Atom(word) => match definitions.get(word) {
            Some(meaning) => meaning.expr().clone(),
            None => expr.clone(),
        },
        Expr::Typed { name, conditions } => {
            Expr::Typed { name: name.clone(), conditions: conditions.iter().map(again).collect() }
        }
        Expr::Not(inner) => Expr::Not(boxed(inner)),
        Expr::And(parts) => Expr::And(parts.iter().map(again).collect()),
        Expr::Or(parts) => Expr::Or(parts.iter().map(again).collect()),
        Expr::Implies(left, right) => Expr::Implies(boxed(left), boxed(right)),
        Expr::Iff(left, right) => Expr::Iff(boxed(left), boxed(right)),
        Expr::Unary(operator, inner) => Expr::Unary(*operator, boxed(inner)),
        Expr::Binary(operator, left, right) => Expr::Binary(*operator, boxed(left), boxed(right)),
        Expr::Quantified { quantifier, variable, set, body } => Expr::Quantified {
            quantifier: *quantifier,
            variable: variable.clone(),
            set: set.as_ref().map(|set| replace_in_term(set, definitions)),
            body: boxed(body),
        },
        Expr::Count { of, comparison, bound } => {
            Expr::Count { of: boxed(of), comparison: *comparison, bound: *bound }
        }
        Expr::Compare { left, comparison, right } => Expr::Compare {
            left: replace_in_term(left, definitions),
            comparison: *comparison,
            right: replace_in_term(right, definitions),
        },
        Expr::Member { element, set } => Expr::Member {
            element: replace_in_term(element, definitions),
            set: replace_in_term(set, definitions),
        },
        Expr::Constant(_) | Expr::Holds(_) => expr.clone(),
    }
}

/// A term holds formulas only in the guards of its comprehensions.
fn replace_in_term(term: &Term, definitions: &BTreeMap<Word, Formula>) -> Term {
    match term {
        Term::Comprehension { body, guard } => {
            Term::Comprehension { body: body.clone(), guard: Box::new(replace(guard, definitions)) }
        }
        other => other.clone(),
    }
}
