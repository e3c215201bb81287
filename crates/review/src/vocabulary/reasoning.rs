//! Words of the reasoning payloads (§10, §11).

use super::word::words;

words! {
    /// How far a formalization captured its source (§10.1).
    FormalizationStatus, "formalization status" {
        Transparent = "transparent",
        Opaque = "opaque",
        Failed = "failed",
    }
}

words! {
    /// What a verification goal asks (§10.3).
    VerificationGoalKind, "verification goal kind" {
        Verify = "verify",
        Instance = "instance",
        Theorem = "theorem",
        Lemma = "lemma",
        Axiom = "axiom",
    }
}

words! {
    /// Where a single property stands (§10.3).
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
    /// What a model found by a solver shows (§10.4).
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
    /// What a goal of a reference artifact demands (§11.1).
    ReferenceGoalKind, "reference goal kind" {
        Conformance = "conformance",
        Invariant = "invariant",
        Refinement = "refinement",
    }
}
