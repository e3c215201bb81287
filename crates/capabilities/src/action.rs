//! The action types of built-in capabilities in a trace.

/// Returns the type of action that a call of a built-in capability is in a trace.
///
/// Capabilities that check, read, estimate or explain have a type of their own; every other one is a command that was
/// run.
pub(crate) fn of_built_in(id: &str) -> &'static str {
    match id {
        "rules.check" | "claims.support" => "RunTests",
        "table.parse" | "evidence.collect" => "ReadDocumentation",
        "decision.matrix" => "EstimateImpact",
        "text.template" | "text.template_each" | "table.write" => "Explain",
        _ => "RunCommand",
    }
}
