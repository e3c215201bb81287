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
    /// Types of the family `activity`.
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
    }
}

words! {
    /// Types of the family `gateway`.
    GatewayType, "gateway type" {
        ExclusiveDecision = "ExclusiveDecision",
        ParallelSplit = "ParallelSplit",
        EventBasedDecision = "EventBasedDecision",
        LoopGateway = "LoopGateway",
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

/// The type of an action, with the family it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "the variants are the families")]
pub enum ActionType {
    Activity(ActivityType),
    Gateway(GatewayType),
    Reasoning(ReasoningType),
    Governance(GovernanceType),
}

impl ActionType {
    /// Reads a type of any family.
    pub fn from_word(word: &str) -> Option<Self> {
        ActivityType::from_word(word)
            .map(Self::Activity)
            .or_else(|| GatewayType::from_word(word).map(Self::Gateway))
            .or_else(|| ReasoningType::from_word(word).map(Self::Reasoning))
            .or_else(|| GovernanceType::from_word(word).map(Self::Governance))
    }

    /// Returns the wire word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Activity(word) => word.as_str(),
            Self::Gateway(word) => word.as_str(),
            Self::Reasoning(word) => word.as_str(),
            Self::Governance(word) => word.as_str(),
        }
    }

    /// Returns the family.
    pub const fn category(self) -> ActionCategory {
        match self {
            Self::Activity(_) => ActionCategory::Activity,
            Self::Gateway(_) => ActionCategory::Gateway,
            Self::Reasoning(_) => ActionCategory::Reasoning,
            Self::Governance(_) => ActionCategory::Governance,
        }
    }
}

impl From<ActivityType> for ActionType {
    fn from(word: ActivityType) -> Self {
        Self::Activity(word)
    }
}

impl From<GatewayType> for ActionType {
    fn from(word: GatewayType) -> Self {
        Self::Gateway(word)
    }
}

impl From<ReasoningType> for ActionType {
    fn from(word: ReasoningType) -> Self {
        Self::Reasoning(word)
    }
}

impl From<GovernanceType> for ActionType {
    fn from(word: GovernanceType) -> Self {
        Self::Governance(word)
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
