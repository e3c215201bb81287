//! The interpreter of a run: it is started when the first block runs, and rebuilt from the records after it was lost.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, OnceLock};

use hence_canon::Value;
use hence_engine::RunError;
use hence_sandbox::{Event, Limit, PyValue, Sandbox, SandboxError};

use crate::block::{self, BlockStart, CallRequest, CallSource};
use crate::context::ContextFault;
use crate::ports::{Halt, Tools};
use crate::progress::Progress;
use crate::record::{Block, BlockEnd, CodeError, Entry, SubCall};
use crate::spec::{AnswerForms, Rules, Spec};
use crate::variables::SolveVariables;

/// The functions that every block can use, in terms of functions that the host answers.
const PRELUDE: &str = include_str!("prelude.py");

/// The functions and names of other runtimes.
const PRELUDE_COMPAT: &str = include_str!("prelude_compat.py");

/// The functions that the second rules change.
const PRELUDE_2: &str = include_str!("prelude_2.py");

/// The functions of other runtimes that the second rules change.
const PRELUDE_COMPAT_2: &str = include_str!("prelude_compat_2.py");

/// Something that stopped a block before its end. Nothing of it is recorded; a resumed run runs it again.
#[derive(Debug)]
pub(crate) enum Interrupted {
    /// A context is gone or has changed.
    Context(ContextFault),
    /// The interpreter cannot be used.
    Sandbox(SandboxError),
    /// A record could not be made or appended.
    Run(RunError),
    /// The run must stop.
    Halt(Halt),
    /// A model cannot be reached.
    Unavailable(String),
    /// The interpreter computes something else than what is recorded.
    Diverged(String),
    /// The loop's own code does not run in the interpreter; the limit that stopped it, or none.
    OwnCode(Option<Limit>, String),
}

impl From<ContextFault> for Interrupted {
    fn from(fault: ContextFault) -> Self {
        Self::Context(fault)
    }
}

impl From<SandboxError> for Interrupted {
    fn from(error: SandboxError) -> Self {
        Self::Sandbox(error)
    }
}

impl From<RunError> for Interrupted {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

/// The interpreter of a run, and what it holds.
pub(crate) struct Session<'t> {
    pub(crate) tools: &'t dyn Tools,
    sandbox: Option<Box<dyn Sandbox>>,
    /// Whether a block returned to earlier variables, so that a new interpreter takes the place of this one.
    restarts: bool,
    /// The numbers of contexts that the interpreter holds.
    pub(crate) loaded: BTreeSet<usize>,
    /// Whether a block so far has brackets that are noted.
    pub(crate) traces: bool,
    /// The names that earlier blocks left.
    pub(crate) names: BTreeSet<Arc<str>>,
    /// The values that the interpreter gets with the next block, because the run's variables were changed otherwise.
    pub(crate) pending: BTreeMap<Arc<str>, Value>,
}

impl<'t> Session<'t> {
    pub(crate) fn new(tools: &'t dyn Tools) -> Self {
        Self {
            tools,
            sandbox: None,
            restarts: false,
            loaded: BTreeSet::new(),
            traces: false,
            names: BTreeSet::new(),
            pending: BTreeMap::new(),
        }
    }

    /// Makes the interpreter hold everything that was recorded before the block that is due.
    pub(crate) fn prepare(&mut self, progress: &Progress) -> Result<BlockStart, Interrupted> {
        if self.sandbox.is_none() {
            self.rebuild(progress)?;
        }
        BlockStart::of(progress)
    }

    /// Runs a block that was prepared.
    pub(crate) fn run(
        &mut self,
        start: BlockStart,
        calls: &mut dyn CallSource,
    ) -> Result<Block, Interrupted> {
        let Some(mut sandbox) = self.sandbox.take() else {
            return Err(Interrupted::Sandbox(SandboxError::Gone("it was not started".to_owned())));
        };
        let spec = start.spec.clone();
        // An interpreter whose block did not end is dropped: it is rebuilt for the next attempt.
        let made = block::run(self, &mut *sandbox, start, calls)?;
        if matches!(made.end, BlockEnd::Stopped { .. }) {
            self.forget();
        } else if self.restarts {
            let mut fresh = self.tools.interpreter(spec.interpreter.limits)?;
            introduce(self.tools, &mut *fresh, &spec)?;
            (self.sandbox, self.restarts) = (Some(fresh), false);
        } else {
            self.sandbox = Some(sandbox);
        }
        Ok(made)
    }

    /// Makes the next block run in a new interpreter that holds these variables and nothing else: the interpreter cannot
    /// delete names, and a name that stayed would become a variable again.
    pub(crate) fn restart_with(&mut self, variables: &SolveVariables) {
        self.forget();
        self.restarts = true;
        for (name, _) in variables.list() {
            if let Some(value) = variables.value(name.as_str()).filter(|_| !name.is_final()) {
                self.names.insert(name.shared());
                self.pending.insert(name.shared(), value);
            }
        }
    }

    fn forget(&mut self) {
        *self = Self::new(self.tools);
    }

    /// Starts an interpreter and runs the recorded blocks again, with the recorded answers of their calls.
    fn rebuild(&mut self, progress: &Progress) -> Result<(), Interrupted> {
        self.forget();
        let spec = progress.spec();
        let mut sandbox = self.tools.interpreter(spec.interpreter.limits)?;
        if !spec.interpreter.is(sandbox.identity()) {
            let found = sandbox.identity();
            return Err(Interrupted::Diverged(format!(
                "the run pins the interpreter {} {}, this one is {} {}",
                spec.interpreter.name, spec.interpreter.version, found.name, found.version
            )));
        }
        introduce(self.tools, &mut *sandbox, spec)?;
        self.sandbox = Some(sandbox);
        let is_run = |entry: &Entry| matches!(entry, Entry::Block(block) if !matches!(block.end, BlockEnd::Stopped { .. }));
        if !progress.path().iter().any(|(_, entry)| is_run(entry)) {
            return Ok(());
        }
        let mut earlier = progress.at_beginning().map_err(Interrupted::Diverged)?;
        let mut queue = RecordedCalls::default();
        for (index, entry) in progress.path() {
            match &**entry {
                Entry::Call(call) => queue.0.push_back((**call).clone()),
                Entry::Block(recorded) if is_run(entry) => {
                    let made = self.run(BlockStart::of(&earlier)?, &mut queue)?;
                    if made != **recorded {
                        return Err(Interrupted::Diverged(format!(
                            "block {} of turn {} (record {index}) gives something else when it runs again",
                            recorded.block, recorded.turn
                        )));
                    }
                }
                Entry::Block(_) => queue.0.clear(),
                _ => {}
            }
            earlier.follow(*index, entry).map_err(Interrupted::Diverged)?;
        }
        Ok(())
    }
}

/// Gives a new interpreter the functions of the host and the question.
fn introduce(tools: &dyn Tools, sandbox: &mut dyn Sandbox, spec: &Spec) -> Result<(), Interrupted> {
    // Only new runs share the memory of an interpreter; a run of earlier rules has other functions.
    let known = tools.introduced(spec.forms).filter(|_| spec.rules == Rules::Second);
    match known.and_then(OnceLock::get) {
        Some(memory) => sandbox.load(memory)?,
        None => {
            feed_own(sandbox, PRELUDE, &[])?;
            if spec.forms == AnswerForms::Compat {
                feed_own(sandbox, PRELUDE_COMPAT, &[])?;
            }
            if spec.rules == Rules::Second {
                feed_own(sandbox, PRELUDE_2, &[])?;
                if spec.forms == AnswerForms::Compat {
                    feed_own(sandbox, PRELUDE_COMPAT_2, &[])?;
                }
            }
            if let Some(known) = known {
                // Another thread may have been first; its memory is the same.
                let _ = known.set(sandbox.dump()?);
            }
        }
    }
    feed_own(sandbox, "None", &[("prompt", &Value::from(spec.question.clone()))])?;
    Ok(())
}

/// Runs code of the loop. It fails only when a block took away what it needs.
pub(crate) fn feed_own(
    sandbox: &mut dyn Sandbox,
    code: &str,
    inputs: &[(&str, &Value)],
) -> Result<PyValue, Interrupted> {
    match sandbox.feed(code, inputs)? {
        Event::Completed(value) => Ok(value),
        Event::Stopped(limit) => {
            let message = format!("the interpreter was stopped in the loop's own code: {}", limit.as_str());
            Err(Interrupted::OwnCode(Some(limit), message))
        }
        other => {
            let message = format!("the interpreter cannot run the loop's own code: {other:?}");
            Err(Interrupted::OwnCode(None, message))
        }
    }
}

/// The recorded calls of a block that runs again.
#[derive(Default)]
pub(crate) struct RecordedCalls(pub(crate) VecDeque<SubCall>);

impl CallSource for RecordedCalls {
    fn ask(&mut self, requests: &[CallRequest]) -> Result<Vec<Result<Value, CodeError>>, Interrupted> {
        let mut answers = Vec::with_capacity(requests.len());
        for request in requests {
            let call = self.0.pop_front().filter(|call| request.is_of(call));
            let call = call.ok_or_else(|| {
                Interrupted::Diverged("a block makes a call that is not recorded".to_owned())
            })?;
            answers.push(call.answer);
        }
        Ok(answers)
    }
}
