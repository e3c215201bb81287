//! Runs of the recursive loop: one action for each turn, sub-call and block, one artifact for each value.

use std::sync::Arc;

use hence_canon::{Canonical, Object, Value};
use hence_engine::Determinism;
use hence_journal::{Control, RecordIndex};
use hence_review::model::{
    Action, ActionCommon, ActionPayload, ArtifactContent, ArtifactId, MetaActionId, Residual, TargetPart,
};
use hence_review::vocabulary::ActivityType;
use hence_review::vocabulary::ResidualKind::{Limitation, Unverified};
use hence_review::vocabulary::ResidualSeverity::{High, Medium};
use hence_solve::{
    ANSWERED_BY_KEY, BlockEnd, Compaction, Entry, FINISH_REASON_KEY, Operation, Spec, Turn, mentions,
};
use hence_state::{ProblemSpec, StepResult};

use crate::ProjectError;
use crate::artifacts::{NewArtifact, NewArtifacts, PROBLEM, Succession};
use crate::delta::{Achieved, Facts, TraceDelta, UnitHead};
use crate::gaps::{GapMembers as _, gap};
use crate::run_info::{action_common, action_step, repeatability};
use crate::text;
use crate::trace::{RunLink, RunRelation};
use crate::view::{Conclusion, Context, Ending, RunView};

/// The projection of a run of the loop.
#[derive(Default)]
pub(crate) struct SolveView {
    turn: u64,
    /// The artifacts of the turn's reply and of the sub-calls since the last block: a block can have used them.
    recent: Vec<ArtifactId>,
    calls: usize,
    children: Vec<RunLink>,
    completed: bool,
    failed: Option<String>,
}

/// The parts of a record that a view remembers.
#[derive(Clone, Debug)]
pub(crate) enum SolveFact {
    /// A turn began.
    Turn(u64),
    /// A sub-call was answered, by a child run if one is named.
    Call(Option<Arc<str>>),
    /// A block ended.
    Block,
    /// The run ended without an answer.
    Failed(String),
    /// The run completed.
    Completed,
}

/// The words of one action.
struct Words {
    kind: ActivityType,
    label: String,
    rationale: String,
    result: String,
    determinism: Determinism,
    achieved: Achieved,
}

impl SolveView {
    fn unit(&self, entry: &Entry) -> UnitHead {
        let turn = match entry {
            Entry::Turn(turn) => turn.turn,
            _ => self.turn,
        };
        UnitHead {
            id: MetaActionId::new(format!("turn-{turn}")),
            title: format!("Turn {turn}").into(),
            intent: "Write code over the input, run it and read what it prints".into(),
            parent: None,
        }
    }

    fn words(entry: &Entry) -> Words {
        match entry {
            Entry::Turn(turn) => Words {
                kind: ActivityType::FormulatePlan,
                label: format!("Turn {}: {} replies", turn.turn, turn.model),
                rationale: "The model sees the conversation so far and writes the next code.".to_owned(),
                result: turn.reply.text.to_string(),
                determinism: Determinism::Recorded,
                achieved: Achieved::Unknown,
            },
            Entry::Compact(compact) => Words {
                kind: ActivityType::ReportProgress,
                label: format!("Summarize the turns up to {}", compact.turn),
                rationale: "The conversation would not fit into the model's window.".to_owned(),
                result: compact.reply.text.to_string(),
                determinism: Determinism::Recorded,
                achieved: Achieved::Unknown,
            },
            Entry::Call(call) => Words {
                kind: ActivityType::ToolCall,
                label: format!("{}: {}", call.function.as_str(), text::shortened(&call.prompt)),
                rationale: match call.cached_from {
                    Some(record) => format!("Record {record} answers an equal call."),
                    None => format!("The block of turn {} asks {}.", call.turn, call.model),
                },
                result: match &call.answer {
                    Ok(Value::String(answer)) => answer.to_string(),
                    Ok(answer) => answer.to_string(),
                    Err(error) => format!("{}: {}", error.kind, error.message),
                },
                determinism: Determinism::Recorded,
                achieved: if call.answer.is_ok() { Achieved::Yes } else { Achieved::No },
            },
            Entry::Block(block) => Words {
                kind: ActivityType::Compute,
                label: format!("Run block {} of turn {}", block.block, block.turn),
                rationale: "Code of the model runs in the sandbox.".to_owned(),
                result: match &block.end {
                    BlockEnd::Completed => block.printed.to_string(),
                    BlockEnd::Raised(error) => format!("{}: {}", error.kind, error.message),
                    BlockEnd::Stopped { limit } => format!("stopped by the limit of {limit}"),
                },
                determinism: match &block.end {
                    BlockEnd::Stopped { .. } => Determinism::Recorded,
                    _ => Determinism::Deterministic,
                },
                achieved: if block.end == BlockEnd::Completed { Achieved::Yes } else { Achieved::No },
            },
            Entry::End(end) => Words {
                kind: ActivityType::ReportProgress,
                label: format!("End: limit {}", end.exhausted.limit),
                rationale: end.exhausted.message.clone(),
                result: end.partial.as_ref().map(|partial| partial.to_string()).unwrap_or_default(),
                determinism: Determinism::Deterministic,
                achieved: Achieved::No,
            },
        }
    }

    /// Returns the values that an entry makes: a key, a name and the value.
    fn made(entry: &Entry, index: RecordIndex) -> Vec<(String, Arc<str>, Value)> {
        match entry {
            Entry::Turn(turn) => vec![("reply".to_owned(), "reply".into(), turn.reply.text.clone().into())],
            Entry::Compact(compact) => {
                vec![("summary".to_owned(), "summary".into(), compact.reply.text.clone().into())]
            }
            Entry::Call(call) => match &call.answer {
                Ok(answer) => vec![(format!("call-{index}"), "answer".into(), answer.clone())],
                Err(_) => Vec::new(),
            },
            Entry::Block(block) => {
                let printed = (!block.printed.is_empty()).then(|| {
                    ("printed".to_owned(), Arc::from("printed"), Value::from(block.printed.clone()))
                });
                let written = block.operations.iter().filter_map(|operation| match operation {
                    Operation::Set { name, value } => {
                        Some((format!("vars/{name}"), name.clone(), value.clone()))
                    }
                    _ => None,
                });
                printed.into_iter().chain(written).collect()
            }
            Entry::End(_) => Vec::new(),
        }
    }

    fn delta(
        &self,
        context: &Context<'_>,
        index: RecordIndex,
        result: &StepResult,
        entry: &Entry,
    ) -> TraceDelta {
        let (unit, words) = (self.unit(entry), Self::words(entry));
        let mut inputs = vec![ArtifactId::new(PROBLEM)];
        if !matches!(entry, Entry::Turn(_)) {
            inputs.extend(self.recent.iter().cloned());
        }
        if let Entry::Block(block) = entry {
            // A block can have used every variable that it names.
            let named = context.artifacts.all_newest().filter(|id| {
                let name = id.as_str().strip_prefix("vars/").and_then(|id| id.rsplit_once('#'));
                name.is_some_and(|(name, _)| mentions(&block.code, name)) && !inputs.contains(id)
            });
            let named: Vec<ArtifactId> = named.cloned().collect();
            inputs.extend(named);
        }
        let mut new = NewArtifacts::after(context.artifacts);
        let mut outputs = Vec::new();
        for (key, name, value) in Self::made(entry, index) {
            let metadata = Object::from_iter([
                ("sha256", Value::from(Canonical::of(&value).digest())),
                ("record", index.get().into()),
            ]);
            outputs.push(new.make(NewArtifact {
                key: key.into(),
                summary: text::shortened(&format!("{name}: {}", text::summary(&value))),
                name,
                role: None,
                action: context.next,
                sources: inputs.clone(),
                succession: Succession::Replaces,
                content: ArtifactContent::AnalysisNote,
                content_ref: format!("journal:{}/result/output", index.get()),
                metadata,
            }));
        }
        let common = ActionCommon {
            evidence: vec![context.run.evidence(index)],
            execution: Some(context.run.execution(result.step(), repeatability(words.determinism))),
            reproducibility: Some(context.run.reproducibility(words.determinism, &[], &inputs, &outputs)),
            meta_action_id: Some(unit.id.clone()),
            inputs,
            outputs,
            ..action_common(context.next, &text::shortened(&words.label), &text::shortened(&words.rationale))
        };
        let input = [("input_sha256", Value::from(result.input_hash()))];
        let request = input.into_iter().chain(asked(entry, &context.run.problem)).collect();
        let summary = text::shortened(&words.result);
        let payload = ActionPayload {
            request: Some(request),
            result: stated(entry),
            result_summary: Some(summary.into()),
        };
        let action = Action { common, step: action_step(words.kind.into(), payload), extra: Object::new() };
        TraceDelta {
            actions: vec![action],
            artifacts: new.into_vec(),
            residuals: Vec::new(),
            happened: 0,
            unit,
            achieved: words.achieved,
            facts: Facts::Solve(fact(entry)),
        }
    }
}

/// Returns which model an entry asked, with which parameters, and what it was sent: the digest of a conversation, which the
/// record's command shows, or the prompt of a sub-call.
fn asked(entry: &Entry, problem: &ProblemSpec) -> Vec<(&'static str, Value)> {
    let spec = Spec::read(problem.canonical().value()).ok();
    let turns = spec.as_ref().map(|spec| &spec.model);
    let (pin, sent) = match entry {
        Entry::Turn(turn) => (turns, ("request_sha256", turn.request.into())),
        Entry::Compact(compact) => (turns, ("request_sha256", compact.request.into())),
        Entry::Call(call) => {
            let pin = spec.as_ref().and_then(|spec| spec.sub_call_model(Some(&call.model)));
            (pin, ("prompt", text::shortened(&call.prompt).into()))
        }
        Entry::Block(_) | Entry::End(_) => return Vec::new(),
    };
    let mut members = vec![sent];
    members.extend(pin.map(|pin| ("model", pin.name.clone().into())));
    // The key is the name of a secret; it is no parameter of the request.
    members.extend(pin.map(|pin| ("parameters", pin.settings.without("key").into())));
    members
}

/// Returns what the endpoint stated about the reply of an entry.
fn stated(entry: &Entry) -> Option<Object> {
    let (finish_reason, answered_by) = match entry {
        Entry::Turn(Turn { reply, .. }) | Entry::Compact(Compaction { reply, .. }) => {
            (&reply.finish_reason, &reply.answered_by)
        }
        Entry::Call(call) => (&call.finish_reason, &call.answered_by),
        Entry::Block(_) | Entry::End(_) => return None,
    };
    let stated = [(FINISH_REASON_KEY, finish_reason), (ANSWERED_BY_KEY, answered_by)];
    let stated: Object = stated.into_iter().filter_map(|(key, text)| Some((key, text.clone()?))).collect();
    (!stated.is_empty()).then_some(stated)
}

fn fact(entry: &Entry) -> SolveFact {
    match entry {
        Entry::Turn(turn) => SolveFact::Turn(turn.turn),
        Entry::Compact(compact) => SolveFact::Turn(compact.turn),
        Entry::Call(call) => SolveFact::Call(call.child.as_ref().map(|child| child.run.clone())),
        Entry::Block(_) => SolveFact::Block,
        Entry::End(end) => {
            SolveFact::Failed(format!("limit {}: {}", end.exhausted.limit, end.exhausted.message))
        }
    }
}

impl RunView for SolveView {
    fn begin(&self, context: &Context<'_>) -> TraceDelta {
        let unit = UnitHead {
            id: MetaActionId::new("begin"),
            title: "Begin the run".into(),
            intent: "Bind the run to its problem".into(),
            parent: None,
        };
        crate::reason::begin(context, unit)
    }

    fn step(
        &self,
        context: &Context<'_>,
        index: RecordIndex,
        result: &StepResult,
    ) -> Result<TraceDelta, ProjectError> {
        let entry = Entry::read(result, context.run.blobs)
            .map_err(|error| ProjectError::Event { index, reason: error.to_string() })?;
        Ok(self.delta(context, index, result, &entry))
    }

    fn control(&self, _: &Context<'_>, _: RecordIndex, control: &Control) -> TraceDelta {
        let unit = self.unit(&Entry::End(hence_solve::End {
            exhausted: hence_solve::Exhausted::new("", String::new()),
            partial: None,
        }));
        let facts = match control {
            Control::Complete { .. } => Facts::Solve(SolveFact::Completed),
            _ => Facts::Nothing,
        };
        TraceDelta::empty(unit, facts)
    }

    fn apply(&mut self, delta: &TraceDelta) -> Result<(), ProjectError> {
        let Facts::Solve(fact) = &delta.facts else { return Ok(()) };
        let outputs = delta.actions.iter().flat_map(|action| action.common.outputs.iter().cloned());
        match fact {
            SolveFact::Turn(turn) => {
                self.turn = *turn;
                self.recent = outputs.collect();
            }
            SolveFact::Call(child) => {
                self.calls += 1;
                self.recent.extend(outputs);
                self.children.extend(child.iter().map(|run| RunLink {
                    run: run.clone(),
                    relation: RunRelation::Started,
                    root: None,
                    note: Some("it answers a sub-call of this run".into()),
                }));
            }
            // The reply of the turn stays: later blocks of it are made of it too.
            SolveFact::Block => self.recent.truncate(1),
            SolveFact::Failed(reason) => self.failed = Some(reason.clone()),
            SolveFact::Completed => self.completed = true,
        }
        Ok(())
    }

    fn conclude(&self, _: &Context<'_>, _: &[Action]) -> Conclusion {
        let ending = match (&self.failed, self.completed) {
            (Some(reason), _) => Ending::Failed(reason.clone()),
            (None, true) => Ending::Completed,
            (None, false) => Ending::Unfinished,
        };
        Conclusion {
            before: self.gaps(),
            after: Vec::new(),
            ending,
            limitations: limitations(),
            loops: 0,
            iterations_max: 0,
        }
    }

    fn links(&self) -> Vec<RunLink> {
        self.children.clone()
    }

    fn plan(&self) -> String {
        format!("skill {} {}", hence_engine::SOLVE_SKILL, hence_engine::SOLVE_SKILL_VERSION)
    }
}

fn limitations() -> Vec<String> {
    vec![
        "replies of models and answers of child runs are read from the journal; every block is run again"
            .to_owned(),
    ]
}

impl SolveView {
    /// Returns the gaps of the run as a whole.
    fn gaps(&self) -> Vec<Residual> {
        if self.turn == 0 {
            return Vec::new();
        }
        let statement = "The answer follows from code and replies of a language model; nothing in the record checks that it is right.";
        let check = "Read the blocks and the parts of the input that they read.";
        let answer = gap("answer-of-a-model", Unverified, High, statement, check).on(TargetPart::Trace);
        let statement = "Which values a block used is inferred from the names in its code.";
        let check = "Do not take the lineage for more than the names that occur.";
        vec![answer, gap("sources-inferred", Limitation, Medium, statement, check).on_artifact(PROBLEM)]
    }
}
