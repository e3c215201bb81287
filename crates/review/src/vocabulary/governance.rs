//! Words of review, links, policies and goals (§14, §15, §18).

use super::word::words;

words! {
    /// What a comment, review item or residual is about (§14.1).
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
    /// Where a comment stands (§14.2).
    CommentStatus, "comment status" {
        Open = "open",
        Resolved = "resolved",
    }
}

words! {
    /// Where a review item stands (§14.3).
    ReviewItemStatus, "review item status" {
        Open = "open",
        Acknowledged = "acknowledged",
        Resolved = "resolved",
        Waived = "waived",
    }
}

words! {
    /// How one trace relates to another (§15).
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
    /// Where a trace stands in its chain (§15.2).
    ChainStatus, "chain status" {
        Active = "active",
        Superseded = "superseded",
        Archived = "archived",
    }
}

words! {
    /// How much a failed policy matters.
    PolicySeverity, "policy severity" {
        Info = "info",
        Warning = "warning",
        Error = "error",
    }
}

words! {
    /// What a policy ranges over.
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
    /// What an acceptance item is bound to (§18), weakest evidence first by [`strength`](Self::strength).
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
    /// Where an acceptance item stands (§18).
    AcceptanceStatus, "acceptance status" {
        Todo = "todo" | "AcceptTodo",
        Doing = "doing" | "AcceptDoing",
        Done = "done" | "AcceptDone",
        Blocked = "blocked" | "AcceptBlocked",
    }
}

words! {
    /// Where a goal stands (§18).
    GoalStatus, "goal status" {
        Scratch = "scratch" | "GoalScratch",
        Active = "active" | "GoalActive",
        Done = "done" | "GoalDone",
        Abandoned = "abandoned" | "GoalAbandoned",
    }
}

words! {
    /// What a review of acceptance criteria says (§18).
    Verdict, "verdict" {
        Approved = "approved",
        ChangesRequested = "changes-requested",
    }
}
