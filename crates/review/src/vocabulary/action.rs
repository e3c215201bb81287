//! Words of actions, their evidence and their grouping.

use super::word::words;

words! {
    /// The types of events that begin or end a trace (§6).
    EventType, "event type" {
        TaskReceived = "TaskReceived",
        TriggeredByEvent = "TriggeredByEvent",
        ProcessCompleted = "ProcessCompleted",
        ProcessAborted = "ProcessAborted",
        ProcessInterrupted = "ProcessInterrupted",
    }
}

impl EventType {
    /// Returns whether a trace can begin with this event.
    pub const fn is_trigger(self) -> bool {
        matches!(self, Self::TaskReceived | Self::TriggeredByEvent)
    }

    /// Returns whether a trace can end with this event.
    pub const fn is_outcome(self) -> bool {
        !self.is_trigger()
    }
}

words! {
    /// The four families of actions (§8.1).
    ActionCategory, "action category" {
        Activity = "activity",
        Gateway = "gateway",
        Reasoning = "reasoning",
        Governance = "governance",
    }
}

words! {
    /// Types of the family `activity`: those of the specification, then those of the policy packs.
    ActivityType, "activity type" {
        ReadFile = "ReadFile",
        SearchCode = "SearchCode",
        SearchWeb = "SearchWeb",
        AnalyzeCode = "AnalyzeCode",
        ExploreDirectory = "ExploreDirectory",
        ReadDocumentation = "ReadDocumentation",
        EditFile = "EditFile",
        CreateFile = "CreateFile",
        DeleteFile = "DeleteFile",
        RenameFile = "RenameFile",
        RunCommand = "RunCommand",
        RunTests = "RunTests",
        TypeCheck = "TypeCheck",
        Lint = "Lint",
        ManualVerification = "ManualVerification",
        GitStatus = "GitStatus",
        GitDiff = "GitDiff",
        GitCommit = "GitCommit",
        AskUser = "AskUser",
        ReportProgress = "ReportProgress",
        Explain = "Explain",
        FormulatePlan = "FormulatePlan",
        DecomposeTask = "DecomposeTask",
        EstimateImpact = "EstimateImpact",
        GitPush = "GitPush",
        Deploy = "Deploy",
        ToolCall = "ToolCall",
        Retrieve = "Retrieve",
        Compute = "Compute",
        Draft = "Draft",
        Release = "Release",
        Output = "Output",
        Incident = "Incident",
        Recommendation = "Recommendation",
        Distribution = "Distribution",
        Plan = "Plan",
        SystemRequirement = "SystemRequirement",
        HighLevelRequirement = "HLR",
        LowLevelRequirement = "LLR",
        SourceCode = "SourceCode",
        Test = "Test",
        Change = "Change",
        ProblemReport = "ProblemReport",
        DerivedRequirement = "DerivedRequirement",
        CoverageAnalysis = "CoverageAnalysis",
        AccomplishmentSummary = "AccomplishmentSummary",
        StaticAnalysis = "StaticAnalysis",
        Deviation = "Deviation",
        ComplianceSummary = "ComplianceSummary",
        Directive = "Directive",
        Finding = "Finding",
    }
}

words! {
    /// Types of the family `gateway`: those of the specification, then those of the policy packs.
    GatewayType, "gateway type" {
        ExclusiveDecision = "ExclusiveDecision",
        ParallelSplit = "ParallelSplit",
        EventBasedDecision = "EventBasedDecision",
        LoopGateway = "LoopGateway",
        Decision = "Decision",
        UserApproval = "UserApproval",
    }
}

words! {
    /// Types of the family `reasoning`.
    ReasoningType, "reasoning type" {
        Formalize = "Formalize",
        DefineVerificationGoal = "DefineVerificationGoal" | "DefineVG",
        Verify = "Verify",
        StateSpaceAnalysis = "StateSpaceAnalysis" | "Decompose",
        ConformanceCheck = "ConformanceCheck",
        CoSimulate = "CoSimulate",
        GenerateTests = "GenerateTests",
    }
}

words! {
    /// Types of the family `governance`.
    GovernanceType, "governance type" {
        EvaluatePolicy = "EvaluatePolicy",
        CreateReviewItem = "CreateReviewItem",
        AcknowledgeReviewItem = "AcknowledgeReviewItem",
        ResolveReviewItem = "ResolveReviewItem",
        AddComment = "AddComment",
        RequestApproval = "RequestApproval",
        Approve = "Approve",
        Reject = "Reject",
        CreateSnapshot = "CreateSnapshot",
        RecordAudit = "RecordAudit",
        LinkTrace = "LinkTrace",
    }
}

words! {
    /// The types of evidence (§9.1).
    EvidenceType, "evidence type" {
        FileRef = "FileRef",
        UrlRef = "UrlRef",
        CommandOutput = "CommandOutput",
        SearchResult = "SearchResult",
    }
}

words! {
    /// The confidence of an observation (§9.2).
    Confidence, "confidence" {
        High = "high",
        Medium = "medium",
        Low = "low",
    }
}

words! {
    /// The determinism of a tool (§8.3).
    Determinism, "determinism" {
        Deterministic = "deterministic",
        Mixed = "mixed",
        Nondeterministic = "nondeterministic",
    }
}

words! {
    /// The source of a grouping of actions (§8.4), most faithful first.
    MetaSource, "meta-action source" {
        PlanDeclared = "plan_declared",
        TurnSegmented = "turn_segmented",
        IntentInferred = "intent_inferred",
        Curated = "curated",
    }
}

words! {
    /// The status of a meta-action (§8.4).
    MetaStatus, "meta-action status" {
        Completed = "completed",
        Partial = "partial",
        Abandoned = "abandoned",
    }
}
