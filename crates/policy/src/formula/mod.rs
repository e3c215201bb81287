#![doc = include_str!("../../LANGUAGE.md")]

mod ast;
mod error;
mod operator;
mod parse;
mod place;
mod print;
mod token;
mod tokenize;

pub use ast::{Expr, Term, Word};
pub use error::{SyntaxError, SyntaxErrorKind};
pub use operator::{Binary, Comparison, Quantifier, Scope, Unary};
pub use parse::{FORMULA_BYTES_MAX, FORMULA_DEPTH_MAX, Formula};
pub use place::Place;
pub use print::Alphabet;

#[cfg(test)]
mod tests;
