//! Reports for machines that read neither our text nor our JSON.
//!
//! Every form is a view of the same [`Report`](crate::Report): whether the trace passes is decided by
//! [`Report::passes`](crate::Report::passes), never by a form.

mod github;
mod junit;
mod sarif;

pub use github::github;
pub use junit::junit;
pub use sarif::sarif;

#[cfg(test)]
mod tests;
