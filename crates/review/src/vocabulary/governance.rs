//! Words of policies, reviews, goals and residuals.

use super::word::words;

words! {
    /// The kind of part that a comment, review item or residual is about (§14.1).
    TargetType, "target type" {
        Trace = "trace",
        Action = "action",
        Artifact = "artifact",
        Policy = "policy",
        PolicyEvaluation = "policy_evaluation",
        ReferenceArtifact = "reference_artifact",
    }
}

words! {
    /// The status of a comment (§14.2).
    CommentStatus, "comment status" {
        Open = "open",
        Resolved = "resolved",
    }
}

words! {
    /// The status of a review item (§14.3).
    ReviewItemStatus, "review item status" {
        Open = "open",
        Acknowledged = "acknowledged",
        Resolved = "resolved",
        Waived = "waived",
    }
}

words! {
    /// The relationship of two traces (§15).
    Relationship, "relationship" {
        Supersedes = "supersedes",
        Reruns = "reruns",
        DerivedFrom = "derived_from",
        SameTask = "same_task",
        SamePr = "same_pr",
        PolicyRecheckOf = "policy_recheck_of",
        ConformanceRecheckOf = "conformance_recheck_of",
        ForkedFrom = "forked_from",
        RelatedTo = "related_to",
    }
}

words! {
    /// The status of a trace in its chain (§15.2).
    ChainStatus, "chain status" {
        Active = "active",
        Superseded = "superseded",
        Archived = "archived",
    }
}

words! {
    /// The severity of a policy.
    PolicySeverity, "policy severity" {
        Info = "info",
        Warning = "warning",
        Error = "error",
    }
}

words! {
    /// The scope of a policy.
    PolicyScope, "policy scope" {
        Trace = "trace",
        Action = "action",
        Artifact = "artifact",
        Module = "module",
    }
}

words! {
    /// The verdict of a policy.
    EvaluationStatus, "evaluation status" {
        Passed = "passed",
        Failed = "failed",
        Unknown = "unknown",
        NotApplicable = "not_applicable",
    }
}

words! {
    /// The kind of evidence an acceptance item is bound to (§18), weakest first by [`strength`](Self::strength).
    AcceptanceKind, "acceptance kind" {
        Change = "change" | "Change",
        Property = "property" | "Property",
        Obligation = "obligation" | "Obligation",
        Gap = "gap" | "Gap",
    }
}

impl AcceptanceKind {
    /// Returns how much a finished item of this kind shows: change < gap < obligation < property.
    pub const fn strength(self) -> u8 {
        match self {
            Self::Change => 0,
            Self::Gap => 1,
            Self::Obligation => 2,
            Self::Property => 3,
        }
    }
}

words! {
    /// The status of an acceptance item (§18).
    AcceptanceStatus, "acceptance status" {
        Todo = "todo" | "AcceptTodo",
        Doing = "doing" | "AcceptDoing",
        Done = "done" | "AcceptDone",
        Blocked = "blocked" | "AcceptBlocked",
    }
}

words! {
    /// The status of a goal (§18).
    GoalStatus, "goal status" {
        Scratch = "scratch" | "GoalScratch",
        Active = "active" | "GoalActive",
        Done = "done" | "GoalDone",
        Abandoned = "abandoned" | "GoalAbandoned",
    }
}

words! {
    /// The verdict of a review of acceptance items (§18).
    Verdict, "verdict" {
        Approved = "approved",
        ChangesRequested = "changes-requested",
    }
}

words! {
    /// The kind of a residual.
    ResidualKind, "residual kind" {
        Assumption = "assumption",
        Unverified = "unverified",
        OutOfScope = "out_of_scope",
        Limitation = "limitation",
        OpenQuestion = "open_question",
    }
}

words! {
    /// Impact if wrong or left alone, least first: the order of the enum is the order of severity.
    ResidualSeverity, "residual severity" {
        Info = "info",
        Low = "low",
        Medium = "medium",
        High = "high",
        Critical = "critical",
    }
}

words! {
    /// The source of a residual.
    ResidualSource, "residual source" {
        AgentDeclared = "agent_declared",
        PolicyDerived = "policy_derived",
        ToolInferred = "tool_inferred",
        ReviewerAdded = "reviewer_added",
    }
}

words! {
    /// The status of a residual; a residual without one is open.
    ResidualStatus, "residual status" {
        Open = "open",
        Acknowledged = "acknowledged",
        Addressed = "addressed",
        Waived = "waived",
    }
}
