//! Reproducibility and environments (§12).

use hence_canon::Object;

use crate::vocabulary::{EnvironmentKind, ProcedureKind, ReproducibilityStatus, ReproductionKind};

use super::field::{ArtifactId, EnvironmentId, Text};
use super::record::record;

record! {
    /// How far a trace can be reproduced (§12.1).
    TraceReproducibility {
        status: ReproducibilityStatus,
        entrypoints: Vec<Text>,
        required_artifact_ids: Vec<ArtifactId>,
        required_environment_ids: Vec<EnvironmentId>,
        limitations: Vec<Text>,
        notes: Option<Text>,
    }
}

record! {
    /// How an action can be reproduced (§12.2).
    ActionReproducibility {
        status: ReproducibilityStatus,
        reproduction_kind: ReproductionKind,
        input_artifact_ids: Vec<ArtifactId>,
        environment_id: Option<EnvironmentId>,
        procedure: ReproductionProcedure,
        expected_output: Option<ExpectedOutput>,
        limitations: Vec<Text>,
        notes: Option<Text>,
    }
}

record! {
    /// What to do to reproduce an action (§12.2).
    ReproductionProcedure {
        kind: ProcedureKind,
        command: Option<Text>,
        working_directory: Option<Text>,
        arguments: Vec<Text>,
        steps: Vec<Text>,
        reference: Option<Text>,
    }
}

record! {
    /// What reproducing should give (§12.2).
    ExpectedOutput {
        artifact_ids: Vec<ArtifactId>,
        result_summary: Option<Text>,
    }
}

record! {
    /// Where an action ran (§12.3).
    ExecutionEnvironment {
        environment_id: EnvironmentId,
        kind: EnvironmentKind,
        name: Text,
        components: Vec<EnvironmentComponent>,
        configuration: Option<Object>,
        notes: Option<Text>,
    }
}

record! {
    /// A part of an environment (§12.3).
    EnvironmentComponent {
        name: Text,
        version: Option<Text>,
    }
}
