//! The trait of a step, and the view of a run that a step sees.

use std::sync::Arc;

use hence_canon::{Canonical, Object, Value};
use hence_state::{Artifacts, Metadata, ProblemSpec, Profile, StepError, StepIndex, StepsRule};

use crate::blob::{self, BlobError, Blobs};
use crate::bound::Callees;
use crate::model::Model;

/// One step of a routing policy. Implement it to add your own; register it with [`Engine`](crate::Engine).
///
/// A step is a pure function of its [`View`] unless [`determinism`](Self::determinism) says otherwise: no clock, no
/// randomness, no environment. Its output is recorded, hashed and replayed.
pub trait Step: Send + Sync {
    /// Returns the name used in policies, loops and records.
    fn name(&self) -> &str;

    /// Returns the key of the artifact that holds the output.
    fn artifact_key(&self) -> &str;

    /// Returns whether the step is a function of its view alone.
    fn determinism(&self, problem: &ProblemSpec) -> Determinism {
        let _ = problem;
        Determinism::Deterministic
    }

    /// Returns whether a replay runs the step again; otherwise it reads the result from the journal.
    fn is_recomputed(&self, problem: &ProblemSpec) -> bool {
        self.determinism(problem) == Determinism::Deterministic
    }

    /// Returns the input of the step; its digest is recorded.
    ///
    /// # Errors
    /// [`InputUnavailable`] when the view lacks a value: a verifier may not have the problem or a blob.
    fn input(&self, view: &View<'_>) -> Result<Value, InputUnavailable>;

    /// Returns the input, if it can be computed from the output alone.
    ///
    /// A verifier that has only the journal can check such a step.
    fn input_from_output(&self, profile: &Profile, output: &Value) -> Option<Value> {
        let _ = (profile, output);
        None
    }

    /// Turns what a capability gave in the place of this step into the step's output. The checks of the step are made
    /// here, after the capability; the default takes over what it gave.
    ///
    /// # Errors
    /// The reason why the step cannot use it, in words.
    fn check_reply(&self, view: &View<'_>, capability: &str, reply: &Value) -> Result<Value, String> {
        let _ = (view, capability);
        Ok(reply.clone())
    }

    /// Returns the call of the step that may change something outside the run, if it makes one. Policies judge such a
    /// step before it is executed.
    fn deed(&self) -> Option<Deed> {
        None
    }

    /// Executes the step.
    ///
    /// # Errors
    /// The errors to record when the step fails; the run then ends.
    fn run(&self, view: &View<'_>, input: &Value) -> Result<Value, Vec<StepError>>;

    /// Executes the step, or returns why it cannot be executed now. The default calls [`run`](Self::run) and measures
    /// nothing.
    ///
    /// # Errors
    /// [`Stopped`] when nothing is to be recorded: the run stops here and can be resumed.
    fn attempt(&self, view: &View<'_>, input: &Value) -> Result<Attempt, Stopped> {
        Ok(match self.run(view, input) {
            Ok(output) => Attempt::Done { output, metrics: Object::new() },
            Err(errors) => Attempt::Failed(errors),
        })
    }
}

/// A call of a step that may change something outside the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deed {
    /// The capability.
    pub capability: Arc<str>,
    /// The action type that the capability declares.
    pub action: Option<Arc<str>>,
    /// The program that the capability starts, with its arguments.
    pub program: Vec<String>,
}

/// The result of executing a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Attempt {
    /// The step succeeded.
    Done {
        /// The output.
        output: Value,
        /// Figures about the execution, such as tokens and cost; recorded next to the output unless empty.
        metrics: Object,
    },
    /// The step failed; the run then ends.
    Failed(Vec<StepError>),
}

/// The reason why a step cannot be executed now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// Something is wrong outside the run. Once it is fixed, the run can be resumed.
    Trouble(String),
    /// A person has to answer first. After that the run can be resumed.
    Waiting(String),
}

/// The member of a result with the metrics of the step.
pub(crate) const METRICS_KEY: &str = "metrics";

/// The member of a result that names the call of a step which acts: its capability and its input. Only runs under policies
/// write it.
pub const CALL_MEMBER: &str = "call";

/// The treatment of a step in a replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Determinism {
    /// The replay executes it again.
    Deterministic,
    /// The replay reads its result from the journal: executing it again may give another one.
    Recorded,
}

/// A value that a step needs and that is not available.
#[derive(Debug, thiserror::Error)]
pub enum InputUnavailable {
    /// The problem.
    #[error("the problem is not known")]
    Problem,
    /// An artifact that no step has written.
    #[error("artifact `{0}` is not there")]
    Artifact(String),
    /// A member of an artifact.
    #[error("artifact `{artifact}` has no `{member}`")]
    Member {
        /// The artifact.
        artifact: String,
        /// The member.
        member: String,
    },
    /// A path that a binding names.
    #[error("nothing is at `{0}`")]
    Place(hence_canon::JsonPointer),
    /// A blob that cannot be read.
    #[error(transparent)]
    Blob(#[from] BlobError),
}

impl InputUnavailable {
    /// Returns the errors of a step whose input is not available.
    pub(crate) fn into_errors(self) -> Vec<StepError> {
        vec![StepError::new("input_unavailable", self.to_string())]
    }
}

/// The view of a run that a step sees: the problem, the artifacts before it, and the language model.
pub struct View<'a> {
    pub(crate) problem: Option<&'a ProblemSpec>,
    pub(crate) profile: &'a Profile,
    pub(crate) artifacts: &'a Artifacts,
    pub(crate) step_index: StepIndex,
    pub(crate) position: u64,
    pub(crate) metadata: Option<&'a Metadata>,
    pub(crate) tally: &'a Tally,
    pub(crate) blobs: &'a dyn Blobs,
    pub(crate) model: Option<&'a dyn Model>,
    pub(crate) callees: Option<&'a dyn Callees>,
}

impl<'a> View<'a> {
    /// Returns the problem.
    ///
    /// # Errors
    /// [`InputUnavailable::Problem`] for a verifier that has only the journal.
    pub fn problem(&self) -> Result<&'a ProblemSpec, InputUnavailable> {
        self.problem.ok_or(InputUnavailable::Problem)
    }

    /// Returns the profile of the run.
    pub fn profile(&self) -> &'a Profile {
        self.profile
    }

    /// Returns the state's metadata before this step.
    ///
    /// # Errors
    /// [`InputUnavailable::Problem`] for a verifier that has only the journal.
    pub fn metadata(&self) -> Result<&'a Metadata, InputUnavailable> {
        self.metadata.ok_or(InputUnavailable::Problem)
    }

    /// Returns the state's step index before this step.
    pub fn step_index(&self) -> StepIndex {
        self.step_index
    }

    /// Returns the number of results in effect before this step. Other than the step index it goes back with a rollback.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the keys of all artifacts in canonical order.
    pub fn artifact_keys(&self) -> Vec<&'a str> {
        self.artifacts.keys()
    }

    /// Returns the newest value of an artifact, read from the blobs if it is large.
    ///
    /// # Errors
    /// [`InputUnavailable`] when no step has written the artifact or its value cannot be read.
    pub fn artifact(&self, key: &str) -> Result<Value, InputUnavailable> {
        let newest = self.artifacts.newest(key).ok_or_else(|| InputUnavailable::Artifact(key.to_owned()))?;
        Ok(blob::resolve(newest, self.blobs)?)
    }

    /// Returns a member of the newest value of an artifact.
    ///
    /// # Errors
    /// [`InputUnavailable`] when there is no such artifact or member.
    pub fn artifact_member(&self, key: &str, member: &str) -> Result<Value, InputUnavailable> {
        let value = self.artifact(key)?;
        let unseen = || InputUnavailable::Member { artifact: key.to_owned(), member: member.to_owned() };
        value.get(member).cloned().ok_or_else(unseen)
    }

    /// Returns the items of all outputs of an artifact together, oldest first.
    ///
    /// # Errors
    /// [`InputUnavailable`] when a value cannot be read.
    pub fn all_items(&self, key: &str) -> Result<Vec<Value>, InputUnavailable> {
        let mut items = Vec::new();
        for output in self.tally.lists(key) {
            items.extend_from_slice(blob::resolve(output, self.blobs)?.as_array().unwrap_or_default());
        }
        Ok(items)
    }

    /// Returns the newest value of an artifact; null when no step has written it.
    ///
    /// # Errors
    /// [`InputUnavailable`] when the value cannot be read.
    pub(crate) fn artifact_or_null(&self, key: &str) -> Result<Value, InputUnavailable> {
        match self.artifact(key) {
            Err(InputUnavailable::Artifact(_)) => Ok(Value::Null),
            found => found,
        }
    }

    /// Returns the list under a member of the newest value of an artifact.
    ///
    /// # Errors
    /// [`InputUnavailable`] when there is no such artifact or member.
    pub(crate) fn artifact_list(&self, key: &str, member: &str) -> Result<Vec<Value>, InputUnavailable> {
        Ok(self.artifact_member(key, member)?.as_array().unwrap_or_default().to_vec())
    }

    /// Returns whether the steps of the run work the problem out.
    pub(crate) fn is_worked(&self) -> bool {
        self.profile.steps == StepsRule::Worked
    }

    /// Returns the capabilities that compute methods, if the engine has any.
    pub(crate) fn callees(&self) -> Option<&'a dyn Callees> {
        self.callees
    }

    /// Returns the number of list items in all outputs of an artifact together.
    pub fn items(&self, key: &str) -> u64 {
        self.tally.items(key)
    }

    /// Returns the language model, if the engine has one.
    pub fn model(&self) -> Option<&'a dyn Model> {
        self.model
    }
}

/// The list items per artifact, updated with each result, so that no step has to look at all earlier outputs: a loop that
/// finds nothing new writes an empty list in each of its iterations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(std::collections::BTreeMap<String, Lists>);

/// The lists of one artifact.
#[derive(Clone, Debug, Default)]
struct Lists {
    /// The number of their items.
    items: u64,
    /// The outputs that hold items, and those that could not be read, oldest first.
    outputs: Vec<Canonical>,
}

impl Tally {
    pub(crate) fn items(&self, key: &str) -> u64 {
        self.0.get(key).map_or(0, |lists| lists.items)
    }

    fn lists(&self, key: &str) -> &[Canonical] {
        self.0.get(key).map(|lists| &*lists.outputs).unwrap_or_default()
    }

    /// Notes the items of an output.
    ///
    /// # Errors
    /// [`BlobError`] when the output is a blob that cannot be read.
    pub(crate) fn note(&mut self, key: &str, output: &Canonical, blobs: &dyn Blobs) -> Result<(), BlobError> {
        let may_be_list = output.bytes().first() == Some(&b'[') || blob::is_reference(output);
        if !may_be_list {
            return Ok(());
        }
        let value = blob::resolve(output, blobs);
        let items = value.as_ref().map_or(0, |value| value.as_array().map_or(0, <[Value]>::len));
        if items > 0 || value.is_err() {
            let lists = self.0.entry(key.to_owned()).or_default();
            lists.items += items as u64;
            lists.outputs.push(output.clone());
        }
        value.map(drop)
    }
}

/// Makes an object from members, for outputs and inputs.
pub(crate) fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    members.into_iter().collect::<Object>().into()
}
