#![doc = include_str!("../../LANGUAGE.md")]

mod ast;
mod error;
mod parse;
mod print;
mod token;

pub use ast::{Binary, Comparison, Expr, Quantifier, Scope, Term, Unary, Word};
pub use error::{Location, SyntaxError, SyntaxErrorKind};
pub use parse::{FORMULA_BYTES_MAX, FORMULA_DEPTH_MAX, Formula};
pub use print::Alphabet;

#[cfg(test)]
mod tests;
