//! Tree → text, which [`Formula::parse`](super::Formula::parse) reads back as the same tree.

use super::{Comparison, Expr, Quantifier, Term};

/// The two alphabets of formulas.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Alphabet {
    /// `∧ ∨ ¬ → ∀ ∈ ≠ ∅`
    Unicode,
    /// `/\ \/ not -> forall in != empty`
    Ascii,
}

/// The binding strength of the context of a part; a part that binds looser gets parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Binding {
    Iff,
    Implies,
    Or,
    And,
    Temporal,
    Unary,
}

impl Expr {
    /// Writes the tree, with no more parentheses than it needs.
    pub fn print(&self, alphabet: Alphabet) -> String {
        let mut printer = Printer { out: String::new(), alphabet };
        printer.expr(self, Binding::Iff);
        printer.out
    }
}

impl std::fmt::Display for Expr {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.print(Alphabet::Unicode))
    }
}

struct Printer {
    out: String,
    alphabet: Alphabet,
}

impl Printer {
    fn sign(&mut self, unicode: &str, ascii: &str) {
        self.out.push_str(match self.alphabet {
            Alphabet::Unicode => unicode,
            Alphabet::Ascii => ascii,
        });
    }

    fn expr(&mut self, expr: &Expr, place: Binding) {
        // A quantifier's body runs to the right end, so it is bare only where nothing can follow.
        let binding = match expr {
            Expr::Iff(..) | Expr::Quantified { .. } => Binding::Iff,
            Expr::Implies(..) => Binding::Implies,
            Expr::Or(_) => Binding::Or,
            Expr::And(_) => Binding::And,
            Expr::Binary(..) => Binding::Temporal,
            _ => Binding::Unary,
        };
        if binding < place {
            self.parenthesised(expr);
        } else {
            self.bare(expr);
        }
    }

    fn parenthesised(&mut self, expr: &Expr) {
        self.out.push('(');
        self.bare(expr);
        self.out.push(')');
    }

    fn bare(&mut self, expr: &Expr) {
        match expr {
            Expr::Constant(value) => self.out.push_str(if *value { "true" } else { "false" }),
            Expr::Atom(word) => self.out.push_str(word.as_str()),
            Expr::Typed { name, conditions } => {
                self.out.push_str(name.as_str());
                self.separated(conditions, |printer, condition| printer.expr(condition, Binding::Iff));
            }
            Expr::Not(inner) => {
                self.sign("¬", "not ");
                self.expr(inner, Binding::Unary);
            }
            Expr::And(operands) => self.chain(operands, (" ∧ ", " /\\ "), Binding::Temporal),
            Expr::Or(operands) => self.chain(operands, (" ∨ ", " \\/ "), Binding::And),
            Expr::Implies(left, right) => {
                self.expr(left, Binding::Or);
                self.sign(" → ", " -> ");
                self.expr(right, Binding::Implies);
            }
            Expr::Iff(left, right) => {
                self.quantifier_aside(left, Binding::Iff);
                self.out.push_str(" <-> ");
                self.quantifier_aside(right, Binding::Implies);
            }
            Expr::Unary(operator, inner) => {
                self.out.push_str(operator.word());
                self.parenthesised(inner);
            }
            Expr::Binary(operator, left, right) => {
                self.expr(left, Binding::Temporal);
                self.out.push(' ');
                self.out.push_str(operator.word());
                self.out.push(' ');
                self.expr(right, Binding::Unary);
            }
            Expr::Quantified { quantifier, variable, set, body } => {
                self.quantified(*quantifier, variable.as_str(), set.as_ref(), body);
            }
            Expr::Count { of, comparison, bound } => {
                self.out.push_str("count(");
                self.expr(of, Binding::Iff);
                self.out.push(')');
                self.comparison(*comparison);
                self.out.push_str(&bound.to_string());
            }
            Expr::Compare { left, comparison, right } => {
                self.term(left);
                self.comparison(*comparison);
                self.term(right);
            }
            Expr::Member { element, set } => {
                self.term(element);
                self.sign(" ∈ ", " in ");
                self.term(set);
            }
            Expr::Holds(term) => self.term(term),
        }
    }

    /// Writes an operand of `<->`, where a quantifier needs parentheses because its body extends to the right end.
    fn quantifier_aside(&mut self, expr: &Expr, place: Binding) {
        match expr {
            Expr::Quantified { .. } => self.parenthesised(expr),
            _ => self.expr(expr, place),
        }
    }

    fn chain(&mut self, operands: &[Expr], sign: (&str, &str), place: Binding) {
        for (index, operand) in operands.iter().enumerate() {
            if index > 0 {
                self.sign(sign.0, sign.1);
            }
            self.expr(operand, place);
        }
    }

    fn quantified(&mut self, quantifier: Quantifier, variable: &str, set: Option<&Term>, body: &Expr) {
        match quantifier {
            Quantifier::All => self.sign("∀ ", "forall "),
            Quantifier::Some => self.sign("∃ ", "exists "),
            Quantifier::One => self.sign("∃! ", "exists! "),
        }
        self.out.push_str(variable);
        if let Some(set) = set {
            self.sign(" ∈ ", " in ");
            self.term(set);
        }
        self.out.push_str(" . ");
        self.expr(body, Binding::Iff);
    }

    fn separated<T>(&mut self, items: &[T], write: impl Fn(&mut Self, &T)) {
        self.out.push('(');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            write(self, item);
        }
        self.out.push(')');
    }

    fn comparison(&mut self, comparison: Comparison) {
        match comparison {
            Comparison::Equal => self.out.push_str(" = "),
            Comparison::NotEqual => self.sign(" ≠ ", " != "),
            Comparison::AtLeast => self.sign(" ≥ ", " >= "),
            Comparison::AtMost => self.sign(" ≤ ", " <= "),
            Comparison::Above => self.out.push_str(" > "),
            Comparison::Below => self.out.push_str(" < "),
        }
    }

    fn term(&mut self, term: &Term) {
        match term {
            Term::Word(word) => self.out.push_str(word.as_str()),
            Term::Field { base, path } => {
                self.out.push_str(base.as_str());
                for member in path {
                    self.out.push('.');
                    self.out.push_str(member.as_str());
                }
            }
            Term::Call { function, arguments } => {
                self.out.push_str(function.as_str());
                self.separated(arguments, Self::term);
            }
            Term::Text(text) => {
                let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
                self.out.push_str(&format!("\"{escaped}\""));
            }
            Term::Int(value) => self.out.push_str(&value.to_string()),
            Term::Empty => self.sign("∅", "empty"),
            Term::List(items) => {
                self.out.push('{');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.out.push_str(", ");
                    }
                    self.term(item);
                }
                self.out.push('}');
            }
            Term::Comprehension { body, guard } => {
                self.out.push('{');
                self.term(body);
                self.out.push_str(" | ");
                self.expr(guard, Binding::Iff);
                self.out.push('}');
            }
        }
    }
}

impl std::fmt::Display for Term {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut printer = Printer { out: String::new(), alphabet: Alphabet::Unicode };
        printer.term(self);
        out.write_str(&printer.out)
    }
}
