//! The names that almost every command uses.

pub(crate) use schemars::JsonSchema;
pub(crate) use serde::Serialize;

pub(crate) use crate::code::Code;
pub(crate) use crate::context::Context;
pub(crate) use crate::data::Data;
pub(crate) use crate::error::CliError;
pub(crate) use crate::escape::{escape, escape_json};
pub(crate) use crate::exit::Exit;
pub(crate) use crate::hint;
pub(crate) use crate::report::{Form, Text, columns, counted, one_line, pairs};
pub(crate) use crate::table::table;
