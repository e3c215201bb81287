//! Words of artifacts and of reproducing them.

use super::word::words;

words! {
    /// The constructors of artifacts (§7.1), without their suffix.
    ArtifactType, "artifact type" {
        UserInstruction = "UserInstruction",
        SourceCode = "SourceCode",
        Documentation = "Documentation",
        SearchResults = "SearchResults",
        AnalysisNote = "AnalysisNote",
        Plan = "Plan",
        Formalization = "Formalization",
        FormalModel = "FormalModel" | "IMLModel",
        VerificationGoal = "VerificationGoal",
        VerificationResult = "VerificationResult",
        StateSpaceAnalysisResult = "StateSpaceAnalysisResult" | "Decomposition",
        ConformanceResult = "ConformanceResult",
        CoSimulationResult = "CoSimulationResult",
        GeneratedTests = "GeneratedTests",
        CommandResult = "CommandResult",
        Diff = "Diff",
        UserApproval = "UserApproval",
        Commit = "Commit",
        ReproductionBundle = "ReproductionBundle",
    }
}

impl ArtifactType {
    /// Returns whether this is a model a goal can be about.
    pub const fn is_model(self) -> bool {
        matches!(self, Self::Formalization | Self::FormalModel)
    }
}

words! {
    /// How far something can be reproduced (§12).
    ReproducibilityStatus, "reproducibility status" {
        NotReproducible = "not_reproducible",
        PartiallyReproducible = "partially_reproducible",
        Reproducible = "reproducible",
    }
}

words! {
    /// What reproducing means for an action (§12.2).
    ReproductionKind, "reproduction kind" {
        DeterministicReplay = "deterministic_replay",
        ToolReexecution = "tool_reexecution",
        ProceduralReplay = "procedural_replay",
        ManualReproduction = "manual_reproduction",
        NotReproducible = "not_reproducible",
    }
}

words! {
    /// How a reproduction is carried out (§12.2).
    ProcedureKind, "procedure kind" {
        Command = "command",
        Workflow = "workflow",
        Reference = "reference",
        Manual = "manual",
    }
}

words! {
    /// What kind of environment an execution needs (§12.3).
    EnvironmentKind, "environment kind" {
        Toolchain = "toolchain",
        Container = "container",
        Service = "service",
        ExternalSystem = "external_system",
    }
}
