//! Traces for other tools: W3C PROV, in-toto, OpenTelemetry.
//!
//! Each is a pure function of the trace. They carry what the other format can hold; the trace stays the record.

mod in_toto;
mod otlp;
mod prov;

pub use in_toto::in_toto_statement;
pub use otlp::otlp_json;
pub use prov::prov_json;

#[cfg(test)]
mod tests;
