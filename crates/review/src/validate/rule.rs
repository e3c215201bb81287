//! The rules of validation and the findings about them.

use std::fmt;

use hence_canon::{JsonPointer, Object, Value};

hence_canon::words! {
    /// The severity of a finding, in validation of traces and in linting of policies.
    pub enum Severity {
        /// Worth a look; the document can still be used.
        Warning = "warning",
        /// The document breaks a rule of its format, or cannot be evaluated.
        Error = "error",
    }
}

/// One broken rule and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// Its severity here.
    pub severity: Severity,
    /// The place in the document.
    pub pointer: JsonPointer,
    /// The subject by the ids a reader knows: `a5`, `2:a1`; empty for the trace itself.
    pub subject: String,
    /// The expected and the found value.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {} at `{}`: {}", self.severity, self.rule, self.pointer, self.message)
    }
}

impl From<&Finding> for Value {
    fn from(finding: &Finding) -> Self {
        let members: Object = [
            ("level", Value::from(finding.severity.to_string())),
            ("rule", finding.rule.id().into()),
            ("pointer", finding.pointer.to_string().into()),
            ("subject", finding.subject.as_str().into()),
            ("message", finding.message.as_str().into()),
        ]
        .into_iter()
        .collect();
        members.into()
    }
}

/// The findings of one document, in document order per family of rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub(super) findings: Vec<Finding>,
}

impl Report {
    /// Returns all findings.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns the errors.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error)
    }

    /// Returns the warnings.
    pub fn warnings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Warning)
    }

    /// Returns whether there are no errors.
    pub fn is_valid(&self) -> bool {
        self.errors().next().is_none()
    }

    /// Returns whether the document has the structure of a trace, whatever else is wrong with it.
    pub fn has_structure(&self) -> bool {
        !self.errors().any(|finding| finding.rule.is_structural())
    }
}

/// The pass that a rule belongs to (§17.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stage {
    /// The document has the shape of a trace: kinds of values, required members, words of closed lists.
    Wire,
    /// The document is consistent: references exist, order and lineage hold.
    Semantic,
}

macro_rules! rules {
    ($($variant:ident = $id:literal $stage:ident $severity:ident),+ $(,)?) => {
        /// A rule a trace can break.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[allow(missing_docs, reason = "each rule is named by its id")]
        pub enum Rule { $($variant),+ }

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the id, as reports print it.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$variant => $id),+ }
            }

            /// Returns the pass the rule belongs to.
            pub const fn stage(self) -> Stage {
                match self { $(Self::$variant => Stage::$stage),+ }
            }

            /// Returns the usual level of the rule.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity),+ }
            }
        }
    };
}

rules! {
    TraceType = "trace.type" Wire Error,
    TraceId = "trace.id" Wire Error,
    TraceRequired = "trace.required" Wire Error,
    SpecVersion = "trace.spec_version" Wire Warning,
    SpecVersionContent = "trace.spec_version.content" Semantic Warning,
    Timestamp = "trace.timestamp" Wire Warning,
    Trigger = "trace.trigger" Wire Warning,
    Outcome = "trace.outcome" Wire Warning,
    EventType = "event.type" Wire Error,
    EventKind = "event.kind" Wire Error,
    ActionsEmpty = "trace.actions.empty" Semantic Warning,
    MetricsTotal = "metrics.total" Semantic Warning,
    FilesModified = "files_modified.consistent" Semantic Warning,

    ActionType = "action.type" Wire Error,
    ActionTypeUnknown = "action.type.unknown" Wire Warning,
    ActionId = "action.id" Wire Error,
    ActionIdDuplicate = "action.id.duplicate" Semantic Error,
    ActionOrder = "action.order" Semantic Warning,
    ActionCategory = "action.category" Wire Error,
    ActionCategoryMismatch = "action.category.mismatch" Wire Warning,
    ActionLabel = "action.label" Wire Warning,
    ActionRationale = "action.rationale" Wire Warning,
    ActionInputsType = "action.inputs.type" Wire Error,
    EvidenceType = "evidence.type" Wire Error,
    EvidenceRef = "evidence.ref" Wire Error,
    ObservationConfidence = "observation.confidence" Wire Error,
    ExecutionDeterminism = "execution.determinism" Wire Error,
    ExecutionTool = "execution.tool" Semantic Warning,
    GatewayOptions = "gateway.options" Semantic Warning,
    GatewayNext = "ref.gateway.next" Semantic Error,
    ReproducibilityStatus = "reproducibility.status" Wire Error,
    ReproducibilityKind = "reproducibility.kind" Wire Error,

    ArtifactType = "artifact.type" Wire Error,
    ArtifactTypeUnknown = "artifact.type.unknown" Wire Warning,
    ArtifactId = "artifact.id" Wire Error,
    ArtifactIdDuplicate = "artifact.id.duplicate" Semantic Error,
    ArtifactRevision = "artifact.revision" Wire Error,
    ArtifactPayload = "artifact.payload" Wire Error,
    VerificationStatus = "vr.status" Wire Error,
    VerificationResult = "vr.result" Wire Error,

    RefInput = "ref.input" Semantic Error,
    RefOutput = "ref.output" Semantic Error,
    RefProducer = "ref.producer" Semantic Error,
    FlowUnproduced = "flow.unproduced" Semantic Error,
    FlowOrder = "flow.order" Semantic Error,
    FlowProducerUnique = "flow.producer.unique" Semantic Error,
    FlowProducerMismatch = "flow.producer.mismatch" Semantic Error,

    RefDerivedFrom = "ref.derived_from" Semantic Error,
    LineageOrder = "lineage.order" Semantic Error,
    LineageCycle = "lineage.cycle" Semantic Error,
    RefSupersedes = "ref.supersedes" Semantic Error,
    LineageSupersedes = "lineage.supersedes" Semantic Error,
    LineageResultGoal = "lineage.vr.goal" Semantic Error,
    LineageGoalModel = "lineage.vg.model" Semantic Error,

    ResidualId = "residual.id" Wire Error,
    ResidualIdDuplicate = "residual.id.duplicate" Semantic Error,
    ResidualKind = "residual.kind" Wire Error,
    ResidualStatement = "residual.statement" Wire Error,
    ResidualSeverity = "residual.severity" Wire Error,
    ResidualStatus = "residual.status" Wire Error,
    ResidualSource = "residual.source" Wire Error,
    TargetType = "target.type" Wire Error,
    RefTarget = "ref.target" Semantic Error,
    RefRelated = "ref.related" Semantic Error,
    RefIntroducedBy = "ref.introduced_by" Semantic Error,
    ResidualLifecycle = "residual.lifecycle" Semantic Warning,

    MetaId = "meta.id" Wire Error,
    MetaIdDuplicate = "meta.id.duplicate" Semantic Error,
    MetaTitle = "meta.title" Wire Error,
    MetaSource = "meta.source" Wire Error,
    MetaStatus = "meta.status" Wire Error,
    MetaMemberType = "meta.member.type" Wire Error,
    RefMetaMember = "ref.meta.member" Semantic Error,
    MetaOverlap = "meta.overlap" Semantic Error,
    MetaOrder = "meta.order" Semantic Warning,
    MetaContiguous = "meta.contiguous" Semantic Warning,
    MetaEmpty = "meta.empty" Semantic Warning,
    RefMetaParent = "ref.meta.parent" Semantic Error,
    MetaParentCycle = "meta.parent.cycle" Semantic Error,
    RefMetaBackref = "ref.meta.backref" Semantic Error,
    MetaBackref = "meta.backref" Semantic Error,
    RefMetaResidual = "ref.meta.residual" Semantic Error,
    RefMetaProduced = "ref.meta.produced" Semantic Error,

    PolicyId = "policy.id" Wire Error,
    PolicyIdDuplicate = "policy.id.duplicate" Semantic Error,
    PolicySeverity = "policy.severity" Wire Error,
    PolicyFormula = "policy.formula" Wire Warning,
    RefEvaluationPolicy = "ref.evaluation.policy" Semantic Error,
    EvaluationStatus = "evaluation.status" Wire Error,
    RefEvaluationAction = "ref.evaluation.action" Semantic Error,
    RefEvaluationArtifact = "ref.evaluation.artifact" Semantic Error,

    CommentStatus = "comment.status" Wire Error,
    RefCommentParent = "ref.comment.parent" Semantic Error,
    ReviewItemStatus = "review_item.status" Wire Error,
    ReviewItemResolution = "review_item.resolution" Semantic Warning,

    LinkRelationship = "link.relationship" Wire Error,
    LinkSelf = "link.self" Semantic Error,
    LinkEndpoint = "link.endpoint" Semantic Warning,
    LineageChainStatus = "lineage.chain_status" Wire Error,
    LineageParent = "lineage.parent" Semantic Error,

    RefEnvironment = "ref.environment" Semantic Error,
    RefRequiredArtifact = "ref.required_artifact" Semantic Error,

    GoalId = "goal.id" Wire Error,
    GoalIdDuplicate = "goal.id.duplicate" Semantic Error,
    GoalIntent = "goal.intent" Wire Error,
    GoalItemKind = "goal.item.kind" Wire Error,
    GoalItemIdDuplicate = "goal.item.id.duplicate" Semantic Error,
    RefGoalMeta = "ref.goal.meta" Semantic Error,
    RefGoalResidual = "ref.goal.residual" Semantic Warning,
    RefGoalPolicy = "ref.goal.policy" Semantic Warning,
    GoalReviewDoer = "goal.review.doer" Semantic Warning,

    Canonical = "canonical.decode" Wire Error,
}

impl Rule {
    /// Returns whether the rule is an error in canonical validation and a warning in interchange.
    pub const fn is_error_when_canonical(self) -> bool {
        matches!(
            self,
            Self::ActionTypeUnknown
                | Self::ArtifactTypeUnknown
                | Self::ActionCategoryMismatch
                | Self::ActionLabel
        )
    }

    /// Returns whether breaking the rule leaves a document without the structure of a trace, for the grade and the
    /// readiness for review.
    pub const fn is_structural(self) -> bool {
        matches!(
            self,
            Self::TraceType
                | Self::TraceId
                | Self::TraceRequired
                | Self::ActionType
                | Self::ActionId
                | Self::ActionIdDuplicate
                | Self::ArtifactType
                | Self::ArtifactId
                | Self::ResidualKind
                | Self::ResidualSeverity
                | Self::ResidualStatus
                | Self::PolicyId
                | Self::MetaId
                | Self::MetaIdDuplicate
                | Self::MetaSource
                | Self::MetaStatus
                | Self::MetaMemberType
                | Self::RefMetaMember
                | Self::MetaOverlap
                | Self::RefMetaParent
                | Self::RefMetaBackref
                | Self::MetaBackref
        )
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.pad(self.id())
    }
}
