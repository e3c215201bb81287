//! Words of artifacts, of reproducing them, and of formal reasoning.

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
    /// The degree of reproducibility (§12).
    ReproducibilityStatus, "reproducibility status" {
        NotReproducible = "not_reproducible",
        PartiallyReproducible = "partially_reproducible",
        Reproducible = "reproducible",
    }
}

words! {
    /// The kind of a reproduction (§12.2).
    ReproductionKind, "reproduction kind" {
        DeterministicReplay = "deterministic_replay",
        ToolReexecution = "tool_reexecution",
        ProceduralReplay = "procedural_replay",
        ManualReproduction = "manual_reproduction",
        NotReproducible = "not_reproducible",
    }
}

words! {
    /// The kind of a reproduction's procedure (§12.2).
    ProcedureKind, "procedure kind" {
        Command = "command",
        Workflow = "workflow",
        Reference = "reference",
        Manual = "manual",
    }
}

words! {
    /// The kind of an environment (§12.3).
    EnvironmentKind, "environment kind" {
        Toolchain = "toolchain",
        Container = "container",
        Service = "service",
        ExternalSystem = "external_system",
    }
}

words! {
    /// The status of a formalization (§10.1).
    FormalizationStatus, "formalization status" {
        Transparent = "transparent",
        Opaque = "opaque",
        Failed = "failed",
    }
}

words! {
    /// The kind of a verification goal (§10.3).
    VerificationGoalKind, "verification goal kind" {
        Verify = "verify",
        Instance = "instance",
        Theorem = "theorem",
        Lemma = "lemma",
        Axiom = "axiom",
    }
}

words! {
    /// The status of a property (§10.3).
    PropertyStatus, "property status" {
        Pending = "pending",
        Proved = "proved",
        Refuted = "refuted",
        Unknown = "unknown",
    }
}

words! {
    /// The tag of a verification result (§10.4).
    VerificationStatus, "verification status" {
        Proved = "proved",
        Refuted = "refuted",
        Sat = "sat",
        Unknown = "unknown",
    }
}

words! {
    /// The type of a model that a solver found (§10.4).
    SatModelType, "model type" {
        Instance = "instance",
        Counterexample = "counterexample",
    }
}

words! {
    /// Whether a target conforms to its reference (§10.6).
    ConformanceStatus, "conformance status" {
        Passed = "passed",
        Failed = "failed",
        Partial = "partial",
        Unknown = "unknown",
    }
}

words! {
    /// Whether two executions agree (§10.7).
    CoSimulationStatus, "co-simulation status" {
        Matched = "matched",
        Mismatched = "mismatched",
        Partial = "partial",
        Error = "error",
    }
}

words! {
    /// The kind of a reference artifact's goal (§11.1).
    ReferenceGoalKind, "reference goal kind" {
        Conformance = "conformance",
        Invariant = "invariant",
        Refinement = "refinement",
    }
}
