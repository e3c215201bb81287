//! What calling a built-in capability is to a reviewer.

/// Returns the type of action a built-in capability stands for.
///
/// Checks are tests that were run, with their result. What reads, weighs or words something is called so; everything
/// else is a tool that was run.
pub(crate) fn of_built_in(id: &str) -> &'static str {
    match id {
        "rules.check" | "claims.support" => "RunTests",
        "table.parse" | "evidence.collect" => "ReadDocumentation",
        "decision.matrix" => "EstimateImpact",
        "text.template" | "text.template_each" | "table.write" => "Explain",
        _ => "RunCommand",
    }
}
