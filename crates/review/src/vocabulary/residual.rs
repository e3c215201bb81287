//! Words of the residual surface (§13).

use super::word::words;

words! {
    /// Why something is not established.
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
    /// Who surfaced a residual.
    ResidualSource, "residual source" {
        AgentDeclared = "agent_declared",
        PolicyDerived = "policy_derived",
        ToolInferred = "tool_inferred",
        ReviewerAdded = "reviewer_added",
    }
}

words! {
    /// Where a residual stands; a residual that does not say is open.
    ResidualStatus, "residual status" {
        Open = "open",
        Acknowledged = "acknowledged",
        Addressed = "addressed",
        Waived = "waived",
    }
}
