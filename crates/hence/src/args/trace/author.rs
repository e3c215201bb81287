//! The arguments of the commands with which an agent of its own reports its work.

use std::str::FromStr;

use clap::{ArgGroup, Args as ClapArgs, ValueEnum};
use hence_canon::did_you_mean;
use hence_review::model::OutcomeType;
use hence_review::vocabulary::{
    ActionType, ActionTypes, ArtifactType, Confidence, Determinism, ReferenceGoalKind, Relationship,
    ResidualKind, ResidualSeverity, ResidualStatus,
};

use crate::args::limits::{Money, money};
use crate::args::review::Part;

/// The run that an operation is appended to.
#[derive(ClapArgs)]
pub(crate) struct AuthoredRef {
    /// The run that `hence trace init` began, or a prefix of its id
    pub(crate) run: String,
    /// The time of the operation, such as 2026-02-09T10:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "\
Example: hence trace init fix-41 'Fix the rounding in ledger.py' --agent my-agent --model openai/gpt-5

The run has the action 1, which receives the task, and the artifact `problem`, which is the task.")]
pub(crate) struct TraceInitArgs {
    /// The id of the run
    pub(crate) run: String,
    /// The task: text, @FILE, or - for standard input
    pub(crate) task: String,
    /// The name of the agent
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: String,
    /// The model of the agent
    #[arg(long, value_name = "NAME", default_value = "none")]
    pub(crate) model: String,
    /// The time of the operation, such as 2026-02-09T10:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
}

const ACT_EXAMPLES: &str = "\
Examples:
  hence trace act fix-41 ReadFile 'Read ledger.py' --why 'the report names it' --file ledger.py --output src:SourceCode:@ledger.py
  hence trace act fix-41 RunTests 'Run the tests' --why 'they cover rounding' --command 'pytest -q' --exit-code 0
  hence trace act fix-41 ExclusiveDecision 'Choose the fix' --why 'two ways' --choose decimal --reject 'round(x, 2)=binary floats'

`hence policy actions` lists the types. The outcome follows from the exit code unless --status states it.";

#[derive(ClapArgs)]
#[command(after_help = ACT_EXAMPLES)]
pub(crate) struct TraceActArgs {
    #[command(flatten)]
    pub(crate) target: AuthoredRef,
    /// The action type, such as EditFile or RunTests
    #[arg(value_name = "TYPE", value_parser = action_type)]
    pub(crate) action_type: ActionType,
    /// The action in a line
    pub(crate) label: String,
    /// The reason for the action
    #[arg(long, value_name = "TEXT")]
    pub(crate) why: String,
    /// The action in full: text, or @FILE
    #[arg(long, value_name = "TEXT")]
    pub(crate) detail: Option<String>,
    /// The unit of intent that the action belongs to
    #[arg(long, value_name = "TITLE")]
    pub(crate) unit: Option<String>,
    /// An artifact that the action used; may be repeated
    #[arg(long = "input", value_name = "ID")]
    pub(crate) inputs: Vec<String>,
    /// An artifact that the action made, with its kind and the file it is in; may be repeated
    #[arg(long = "output", value_name = "ID:KIND[:@FILE]")]
    pub(crate) outputs: Vec<NewOutput>,
    /// A file that the action read or changed; may be repeated
    #[arg(long = "file", value_name = "PATH")]
    pub(crate) files: Vec<String>,
    /// An address that the action read; may be repeated
    #[arg(long = "url", value_name = "URL")]
    pub(crate) urls: Vec<String>,
    /// The command line that was run
    #[arg(long, value_name = "COMMAND")]
    pub(crate) command: Option<String>,
    /// The exit code of the command
    #[arg(long, value_name = "CODE", requires = "command", allow_negative_numbers = true)]
    pub(crate) exit_code: Option<i64>,
    /// How the action ended
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<ActionEnd>,
    /// The result in a line: text, or @FILE
    #[arg(long, value_name = "TEXT")]
    pub(crate) result: Option<String>,
    /// The tool that did it
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// The version of the tool
    #[arg(long, value_name = "VERSION", requires = "tool")]
    pub(crate) tool_version: Option<String>,
    /// The method of the tool
    #[arg(long, value_name = "NAME")]
    pub(crate) method: Option<String>,
    /// Whether the tool gives the same again: deterministic, mixed or nondeterministic
    #[arg(long, value_name = "WORD", value_parser = word::<Determinism>)]
    pub(crate) determinism: Option<Determinism>,
    /// The time it took, in milliseconds
    #[arg(long, value_name = "MS")]
    pub(crate) duration_ms: Option<u32>,
    /// Tokens sent to a model
    #[arg(long, value_name = "TOKENS")]
    pub(crate) tokens_in: Option<u32>,
    /// Tokens received from it
    #[arg(long, value_name = "TOKENS")]
    pub(crate) tokens_out: Option<u32>,
    /// The cost, as 0.0125USD
    #[arg(long, value_name = "AMOUNT", value_parser = money)]
    pub(crate) cost: Option<Money>,
    /// A chosen option of a decision; may be repeated
    #[arg(long, value_name = "OPTION")]
    pub(crate) choose: Vec<String>,
    /// A rejected option of a decision, with the reason; may be repeated
    #[arg(long, value_name = "OPTION=REASON")]
    pub(crate) reject: Vec<String>,
}

/// How an action ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ActionEnd {
    Completed,
    Failed,
    /// Somebody or some rule did not let it happen
    Refused,
    /// It was stopped before its end
    Cancelled,
    Unknown,
}

impl ActionEnd {
    /// Returns the word of the trace.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }
}

const ARTIFACT_EXAMPLES: &str = "\
Examples:
  hence trace artifact fix-41 SourceCode --name ledger.py --by 3 --supersedes src --content @ledger.py
  hence trace artifact fix-41 ConformanceResult --by 5 --payload @conformance.json

The kinds of formal tools need a payload; `hence schema trace` describes each: Formalization, FormalModel, VerificationGoal,
VerificationResult, StateSpaceAnalysisResult, ConformanceResult, CoSimulationResult, GeneratedTests, ReproductionBundle.";

#[derive(ClapArgs)]
#[command(after_help = ARTIFACT_EXAMPLES)]
pub(crate) struct TraceArtifactArgs {
    #[command(flatten)]
    pub(crate) target: AuthoredRef,
    /// The kind, such as SourceCode, Documentation, Plan, CommandResult or ConformanceResult
    #[arg(value_name = "KIND", value_parser = word::<ArtifactType>)]
    pub(crate) kind: ArtifactType,
    /// The id [default: the first free one of a1, a2, …]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// The action that made it [default: the last]
    #[arg(long, value_name = "ACTION")]
    pub(crate) by: Option<i64>,
    /// The name, such as a file's
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The role, such as formal_model, proof or audit_evidence
    #[arg(long)]
    pub(crate) role: Option<String>,
    /// The format, such as text/x-python
    #[arg(long)]
    pub(crate) format: Option<String>,
    /// The content in a line
    #[arg(long, value_name = "TEXT")]
    pub(crate) summary: Option<String>,
    /// An artifact it was made from; may be repeated
    #[arg(long = "from", value_name = "ID")]
    pub(crate) sources: Vec<String>,
    /// The artifact it replaces; its revision is the next one
    #[arg(long, value_name = "ID")]
    pub(crate) supersedes: Option<String>,
    /// The file with the content, of which the digest and the size are recorded
    #[arg(long, value_name = "@FILE")]
    pub(crate) content: Option<String>,
    /// The result of a formal tool: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    pub(crate) payload: Option<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "\
Example: hence trace reference fix-41 money-spec --name 'Money, version 3' --domain payments --kind protocol_spec \\
           --goal 'no-cent-lost:invariant:sums are equal before and after'")]
pub(crate) struct TraceReferenceArgs {
    #[command(flatten)]
    pub(crate) target: AuthoredRef,
    /// The id of the reference artifact
    pub(crate) id: String,
    /// Its name
    #[arg(long)]
    pub(crate) name: String,
    /// The domain it belongs to
    #[arg(long)]
    pub(crate) domain: String,
    /// Its kind: formal_model, documentation, contract_model, protocol_spec or another word
    #[arg(long, default_value = "documentation")]
    pub(crate) kind: String,
    /// Its description
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Its version
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<String>,
    /// Its source, such as an address
    #[arg(long)]
    pub(crate) source: Option<String>,
    /// The file with the content, of which the digest and the size are recorded
    #[arg(long, value_name = "@FILE")]
    pub(crate) content: Option<String>,
    /// A requirement of it: conformance, invariant or refinement; may be repeated
    #[arg(long = "goal", value_name = "ID:KIND:TEXT")]
    pub(crate) goals: Vec<NewGoal>,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence trace observe fix-41 'One test was flaky before' --on 4 --confidence medium"
)]
pub(crate) struct TraceObserveArgs {
    #[command(flatten)]
    pub(crate) target: AuthoredRef,
    /// The observation
    pub(crate) statement: String,
    /// The action it belongs to [default: the last]
    #[arg(long, value_name = "ACTION")]
    pub(crate) on: Option<i64>,
    /// The confidence: high, medium or low
    #[arg(long, value_name = "WORD", value_parser = word::<Confidence>, default_value = "medium")]
    pub(crate) confidence: Confidence,
    /// An artifact it follows from; may be repeated
    #[arg(long = "from", value_name = "ID")]
    pub(crate) sources: Vec<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "\
Example: hence trace link fix-41 fix-40 --as supersedes --note 'the first fix was wrong'

Relations: supersedes, reruns, derived_from, same_task, same_pr, policy_recheck_of, conformance_recheck_of, forked_from,
related_to.")]
pub(crate) struct TraceLinkArgs {
    #[command(flatten)]
    pub(crate) target: AuthoredRef,
    /// The id of the other trace
    pub(crate) to: String,
    /// The relation of this trace to the other one
    #[arg(long = "as", value_name = "RELATION", value_parser = word::<Relationship>)]
    pub(crate) relation: Relationship,
    /// A note
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

#[derive(ClapArgs)]
#[command(
    group(ArgGroup::new("what").args(["statement", "status"]).required(true)),
    after_help = "\
Examples:
  hence trace residual fix-41 'Amounts above 10^15 were not tried' --kind unverified --severity medium --on artifact:src
  hence trace residual fix-41 --id r1 --status addressed --by 6 --note 'a test with 10^18'

A gap is open, acknowledged, addressed or waived. An addressed or waived gap can only be opened again."
)]
pub(crate) struct TraceResidualArgs {
    #[command(flatten)]
    pub(crate) target: AuthoredRef,
    /// The gap in plain language; without it --id and --status change a declared gap
    pub(crate) statement: Option<String>,
    /// The id of the gap [default of a new one: the first free one of r1, r2, …]
    #[arg(long, value_name = "ID", required_unless_present = "statement")]
    pub(crate) id: Option<String>,
    /// The kind: assumption, unverified, out_of_scope, limitation or open_question
    #[arg(long, value_name = "KIND", value_parser = word::<ResidualKind>, required_unless_present = "status")]
    pub(crate) kind: Option<ResidualKind>,
    /// The severity: info, low, medium, high or critical
    #[arg(long, value_name = "SEVERITY", value_parser = word::<ResidualSeverity>, required_unless_present = "status")]
    pub(crate) severity: Option<ResidualSeverity>,
    /// The part of the trace it is about
    #[arg(long, value_name = "trace|action:ID|artifact:ID|…")]
    pub(crate) on: Option<Part>,
    /// A check that would close it
    #[arg(long, value_name = "TEXT")]
    pub(crate) check: Option<String>,
    /// The reason it is a gap
    #[arg(long, value_name = "TEXT")]
    pub(crate) rationale: Option<String>,
    /// The new status: open, acknowledged, addressed or waived
    #[arg(long, value_name = "STATUS", value_parser = word::<ResidualStatus>,
          conflicts_with_all = ["kind", "severity", "on", "check", "rationale"])]
    pub(crate) status: Option<ResidualStatus>,
    /// The action that addressed it, or that gave rise to a new one
    #[arg(long, value_name = "ACTION")]
    pub(crate) by: Option<i64>,
    /// The reason for the new status
    #[arg(long, value_name = "TEXT", requires = "status")]
    pub(crate) note: Option<String>,
}

/// The end of an agent's work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum WorkEnd {
    /// The task is done
    #[default]
    Completed,
    /// The agent gave up
    Aborted,
    /// Somebody or something stopped it
    Interrupted,
}

impl From<WorkEnd> for OutcomeType {
    fn from(end: WorkEnd) -> Self {
        match end {
            WorkEnd::Completed => Self::ProcessCompleted,
            WorkEnd::Aborted => Self::ProcessAborted,
            WorkEnd::Interrupted => Self::ProcessInterrupted,
        }
    }
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence trace complete fix-41 'Amounts are decimals; all tests pass'")]
pub(crate) struct TraceCompleteArgs {
    #[command(flatten)]
    pub(crate) target: AuthoredRef,
    /// The result of the work in a line
    pub(crate) summary: String,
    /// How the work ended
    #[arg(long = "as", value_name = "END", default_value = "completed")]
    pub(crate) end: WorkEnd,
    /// The reason for the end
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// An artifact that an action made, as `ID:KIND` or `ID:KIND:@FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewOutput {
    pub(crate) id: String,
    pub(crate) kind: ArtifactType,
    pub(crate) file: Option<String>,
}

impl FromStr for NewOutput {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (rest, file) = match text.split_once(":@") {
            Some((rest, file)) => (rest, Some(file)),
            None => (text, None),
        };
        match (rest.rsplit_once(':'), file) {
            (Some((id, kind)), file) if !id.is_empty() && file != Some("") => {
                Ok(Self { id: id.to_owned(), kind: word(kind)?, file: file.map(str::to_owned) })
            }
            _ => Err(format!(
                "expected ID:KIND or ID:KIND:@FILE, as src:SourceCode:@ledger.py, found {text:?}"
            )),
        }
    }
}

/// A requirement of a reference artifact, as `ID:KIND:TEXT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewGoal {
    pub(crate) id: String,
    pub(crate) kind: ReferenceGoalKind,
    pub(crate) text: String,
}

impl FromStr for NewGoal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.splitn(3, ':').collect();
        match parts.as_slice() {
            [id, kind, text] if !id.is_empty() && !text.is_empty() => {
                Ok(Self { id: (*id).to_owned(), kind: word(kind)?, text: (*text).to_owned() })
            }
            _ => Err(format!(
                "expected ID:KIND:TEXT, as no-cent-lost:invariant:sums are equal, found {text:?}"
            )),
        }
    }
}

/// Reads a word of a closed list, and says which one was probably meant.
fn word<W>(text: &str) -> Result<W, String>
where
    W: FromStr<Err = hence_review::vocabulary::UnknownWord>,
{
    text.parse().map_err(|unknown: W::Err| {
        let meant = did_you_mean(text, unknown.expected.iter().copied());
        format!("{unknown}{meant}")
    })
}

fn action_type(text: &str) -> Result<ActionType, String> {
    ActionTypes::default()
        .read(text)
        .map_err(|unknown| format!("{unknown} (`hence policy actions` lists them)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_and_goals_are_read_and_slips_are_named() {
        let read = "src:SourceCode:@a:b.py".parse::<NewOutput>().unwrap();
        assert_eq!((read.id.as_str(), read.file.as_deref()), ("src", Some("a:b.py")));
        let read = "a:b:Plan".parse::<NewOutput>().unwrap();
        assert_eq!((read.id.as_str(), read.kind, read.file), ("a:b", ArtifactType::Plan, None));
        for wrong in ["", "src", ":Plan", "src:Plan:@"] {
            assert!(wrong.parse::<NewOutput>().is_err(), "{wrong:?}");
        }
        let error = "src:SourceCod".parse::<NewOutput>().unwrap_err();
        assert!(error.ends_with("did you mean `SourceCode`?"), "{error}");
        let goal = "g:invariant:a:b".parse::<NewGoal>().unwrap();
        assert_eq!((goal.kind, goal.text.as_str()), (ReferenceGoalKind::Invariant, "a:b"));
        assert!("g:invariant".parse::<NewGoal>().is_err());
        assert!(action_type("RunTest").unwrap_err().contains("RunTests"));
    }
}
