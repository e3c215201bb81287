//! The position of a run: the fold of its records, and what comes next.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Canonical, Digest, Object, Value};
use hence_journal::RecordIndex;
use hence_state::{ProblemSpec, Timestamp};

use crate::conversation::{self, Message, Request};
use crate::fences;
use crate::forms::{self, Form};
use crate::limits::{Exhausted, SolveLimits, Used};
use crate::record::{Block, BlockEnd, Compaction, End, Entry, Function, Operation, SubCall, Turn};
use crate::spec::{AnswerForms, Rules, Spec};
use crate::variables::SolveVariables;

/// The share of the window, in percent, from which on the conversation is compacted.
const COMPACT_PERCENT: u64 = 85;

/// The bytes of text that a token stands for, as a guess: it decides about compaction only, never about a limit.
const BYTES_PER_TOKEN: u64 = 4;

/// The turns that a summary covers at least; with fewer there is nothing to gain.
const COMPACT_TURNS_MIN: u64 = 2;

/// A run at one position.
#[derive(Clone)]
pub struct Progress {
    problem: Arc<ProblemSpec>,
    spec: Arc<Spec>,
    /// The system prompt; `None` when only the journal is available.
    system: Option<Arc<str>>,
    /// The records in effect, in order.
    path: Vec<(RecordIndex, Arc<Entry>)>,
    variables: SolveVariables,
    used: Used,
    own_turns: u64,
    open: Option<OpenTurn>,
    /// The conversation without the first message, which says how many turns there are.
    messages: Vec<Message>,
    /// The number of summaries, and the turns since the last one.
    compactions: u64,
    since_compaction: Vec<Value>,
    partial: Option<Arc<str>>,
    /// The answers of sub-calls, by what was asked.
    answered: BTreeMap<Digest, (RecordIndex, Value)>,
    ended: Option<End>,
    /// The last record that a fork shares with its origin; 0 for a run that is no fork.
    shared: u64,
    /// For the records that a fork shares: up to which count of records the requests name which number of turns.
    named_turns: Vec<(u64, u64)>,
    /// Whether the indices of records are known. A verification counts steps, not records.
    knows_indices: bool,
}

/// A turn whose blocks are not all recorded.
#[derive(Clone, Debug)]
struct OpenTurn {
    turn: u64,
    reply: Arc<str>,
    parts: fences::Parts,
    /// Whether the reply was cut off at its limit of tokens, where the rules mind that.
    is_cut: bool,
    blocks_done: usize,
    calls: u64,
    feedback: String,
}

/// The thing that a run does next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Next {
    /// The model is asked for a turn.
    Turn {
        /// The number of the turn, from 1.
        turn: u64,
    },
    /// The model is asked for a summary.
    Compact {
        /// The last turn that it covers.
        turn: u64,
    },
    /// A block runs.
    Block {
        /// The turn.
        turn: u64,
        /// The number of the block in its turn, from 1.
        block: u64,
        /// The code.
        code: Arc<str>,
    },
    /// The run ends without an answer.
    End(End),
    /// The run has its answer and completes.
    Complete,
    /// The run has ended.
    Nothing,
}

impl Progress {
    /// Returns the beginning of a run.
    ///
    /// # Errors
    /// The reason why the run cannot begin.
    pub fn begin(problem: Arc<ProblemSpec>, system: Option<Arc<str>>) -> Result<Self, String> {
        let spec = Spec::read(problem.canonical().value()).map_err(|finding| finding.to_string())?;
        let variables = SolveVariables::begin(&problem, &spec).map_err(|refusal| refusal.to_string())?;
        let origin = problem.canonical().value().get("settings").and_then(|settings| settings.get("origin"));
        let shared = origin.and_then(|origin| origin.get("shared")?.as_u64()).unwrap_or(0);
        let named_turns = origin.map(read_named_turns).unwrap_or_default();
        if let Some(system) = &system
            && Digest::of(system.as_bytes()) != spec.system
        {
            return Err("the system prompt is not the one that the problem pins".to_owned());
        }
        Ok(Self {
            problem,
            spec: Arc::new(spec),
            system,
            path: Vec::new(),
            variables,
            used: Used::default(),
            own_turns: 0,
            open: None,
            messages: Vec::new(),
            compactions: 0,
            since_compaction: Vec::new(),
            partial: None,
            answered: BTreeMap::new(),
            ended: None,
            shared,
            named_turns,
            knows_indices: true,
        })
    }

    /// Returns the same position for a reader that does not know the indices of records.
    #[must_use]
    pub(crate) fn without_indices(self) -> Self {
        Self { knows_indices: false, ..self }
    }

    /// Returns the problem.
    pub fn problem(&self) -> &Arc<ProblemSpec> {
        &self.problem
    }

    /// Returns what the problem pins.
    pub fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    /// Returns the limits.
    pub fn limits(&self) -> &SolveLimits {
        &self.spec.limits
    }

    /// Returns the records in effect.
    pub fn path(&self) -> &[(RecordIndex, Arc<Entry>)] {
        &self.path
    }

    /// Returns the variables.
    pub fn variables(&self) -> &SolveVariables {
        &self.variables
    }

    /// Returns what the run and its children used.
    pub fn used(&self) -> &Used {
        &self.used
    }

    /// Returns the number of turns that the run itself had.
    pub fn turns(&self) -> u64 {
        self.own_turns
    }

    /// Returns the end without an answer.
    pub fn end(&self) -> Option<&End> {
        self.ended.as_ref()
    }

    /// Returns the best partial answer so far.
    pub fn partial(&self) -> Option<&Arc<str>> {
        self.partial.as_ref()
    }

    /// Returns the same position at the beginning of the run.
    pub(crate) fn at_beginning(&self) -> Result<Self, String> {
        Self::begin(self.problem.clone(), self.system.clone())
    }

    /// Returns to an earlier position. What was used since was paid for, so it stays used.
    pub(crate) fn roll_back_to(&mut self, earlier: &Self) {
        let used = self.used.clone();
        *self = Self { used, ..earlier.clone() };
    }

    /// Returns the recorded calls of the block that is due.
    pub(crate) fn open_calls(&self) -> Vec<SubCall> {
        let calls = self.path.iter().rev().map_while(|(_, entry)| match &**entry {
            Entry::Call(call) => Some((**call).clone()),
            _ => None,
        });
        let mut calls: Vec<SubCall> = calls.collect();
        calls.reverse();
        calls
    }

    /// Returns the answer of an equal sub-call, with its record.
    pub(crate) fn answered(&self, identity: &Digest) -> Option<&(RecordIndex, Value)> {
        self.answered.get(identity)
    }

    /// Returns what comes next.
    pub fn next(&self) -> Next {
        if self.ended.is_some() {
            return Next::Nothing;
        }
        if self.variables.answer().is_some() {
            return Next::Complete;
        }
        if let Some(open) = &self.open
            && let Some(code) = open.parts.blocks.get(open.blocks_done)
        {
            let block = open.blocks_done as u64 + 1;
            return Next::Block { turn: open.turn, block, code: code.as_str().into() };
        }
        let is_compacted = self.is_compacted_next();
        let request = if is_compacted { self.compact_request() } else { self.turn_request() };
        let most = self.spec.model.most(request.bytes());
        let exhausted = match is_compacted {
            true => self.limits().refuse_call(&self.used, &self.spec.model.name, &most),
            false => self.limits().refuse_turn(self.own_turns, &self.used, &self.spec.model.name, &most),
        };
        match exhausted {
            Some(exhausted) => Next::End(self.end_by(exhausted)),
            None if is_compacted => Next::Compact { turn: self.own_turns },
            None => Next::Turn { turn: self.own_turns + 1 },
        }
    }

    /// Returns the end by a limit, with the best partial answer.
    pub fn end_by(&self, exhausted: Exhausted) -> End {
        End { exhausted, partial: self.partial.clone() }
    }

    fn is_compacted_next(&self) -> bool {
        let window = self.spec.window_tokens.saturating_mul(COMPACT_PERCENT) / 100;
        // A last turn that is not taken needs no summary before it.
        self.since_compaction.len() as u64 >= COMPACT_TURNS_MIN
            && self.own_turns < self.limits().turns
            && self.turn_request().bytes() / BYTES_PER_TOKEN > window
    }

    /// Returns the request of the next turn.
    pub fn turn_request(&self) -> Request {
        let named = self.named_turns.iter().find(|(until, _)| (self.path.len() as u64) < *until);
        let turns = named.map_or(self.limits().turns, |(_, turns)| *turns);
        let turn_line = conversation::turn_line(self.own_turns + 1, turns);
        self.request_ending_with(&turn_line)
    }

    /// Returns the request for a summary.
    pub fn compact_request(&self) -> Request {
        self.request_ending_with(conversation::SUMMARIZE)
    }

    fn request_ending_with(&self, last: &str) -> Request {
        let mut messages = Vec::with_capacity(self.messages.len() + 1);
        if self.messages.is_empty() {
            messages.push(Message::user(conversation::first_message(&self.spec)));
        }
        messages.extend(self.messages.iter().cloned());
        if let Some(message) = messages.last_mut() {
            *message = Message::user(format!("{}\n\n{last}", message.text));
        }
        Request { system: self.system.clone(), messages }
    }

    /// Applies a record.
    ///
    /// # Errors
    /// The reason why it may not come here; the position is then undefined.
    pub fn apply(&mut self, index: RecordIndex, at: &Timestamp, entry: Entry) -> Result<(), String> {
        self.variables.at(at).map_err(|refusal| refusal.to_string())?;
        let entry = Arc::new(entry);
        self.used.bytes = self.used.bytes.saturating_add(recorded_bytes(&entry));
        match &*entry {
            Entry::Turn(turn) => self.apply_turn(index, turn)?,
            Entry::Call(call) => self.apply_call(index, call)?,
            Entry::Block(block) => self.apply_block(index, block)?,
            Entry::Compact(compact) => self.apply_compaction(index, compact)?,
            Entry::End(end) => {
                let follows = end.exhausted.is_measured() || self.next() == Next::End(end.clone());
                if !follows || end.partial != self.partial {
                    return Err("the run does not end here".to_owned());
                }
                self.ended = Some(end.clone());
                let reason = format!("limit {}: {}", end.exhausted.limit, end.exhausted.message);
                self.variables.fail(&reason, index).map_err(|refusal| refusal.to_string())?;
            }
        }
        self.path.push((index, entry));
        Ok(())
    }

    /// Applies a record that was applied to another position of the same run, with the time that it had there.
    pub(crate) fn follow(&mut self, index: RecordIndex, entry: &Entry) -> Result<(), String> {
        // The time decides about nothing that a block can see: no variable of a run expires.
        let at = self.problem.created_at().clone();
        self.apply(index, &at, entry.clone())
    }

    fn check_request(&self, request: &Request, found: Digest) -> Result<(), String> {
        let Some(_) = &self.system else { return Ok(()) };
        let expected = request.digest();
        if expected == found {
            return Ok(());
        }
        Err(format!(
            "the conversation has the digest {}, the record says {}",
            expected.short(),
            found.short()
        ))
    }

    fn apply_turn(&mut self, index: RecordIndex, turn: &Turn) -> Result<(), String> {
        if self.next() != (Next::Turn { turn: turn.turn }) {
            return Err(format!("turn {} is not due", turn.turn));
        }
        // The turns that a fork shares with its origin were those of its origin's model.
        let is_shared = index.get() <= self.shared;
        if !is_shared && turn.model != self.spec.model.name {
            return Err(format!(
                "the run pins the model {}, the turn is of {}",
                self.spec.model.name, turn.model
            ));
        }
        let request = self.turn_request();
        self.check_request(&request, turn.request)?;
        self.messages = request.messages;
        self.messages.push(Message::assistant(&turn.reply.text));
        self.own_turns += 1;
        self.used.turns += 1;
        self.used.calls.add(&turn.reply.usage);
        let is_cut = self.spec.rules == Rules::Second && turn.reply.is_cut();
        let end = if is_cut { fences::ReplyEnd::Cut } else { fences::ReplyEnd::Whole };
        let parts = fences::parts(&turn.reply.text, end);
        if !parts.prose.is_empty() {
            self.partial = Some(parts.prose.as_str().into());
        }
        let (reply, feedback) = (turn.reply.text.clone(), String::new());
        self.open =
            Some(OpenTurn { turn: turn.turn, reply, parts, is_cut, blocks_done: 0, calls: 0, feedback });
        self.finish_turn(index)
    }

    fn apply_call(&mut self, index: RecordIndex, call: &SubCall) -> Result<(), String> {
        let Next::Block { turn, block, .. } = self.next() else {
            return Err("no block is due that could call".to_owned());
        };
        if (turn, block) != (call.turn, call.block) {
            return Err(format!("block {block} of turn {turn} is due"));
        }
        // A child answers every call for one that is answered and does not repeat another call's answer.
        let is_by_child =
            call.function == Function::Rlm && self.limits().depth > 0 && call.cached_from.is_none();
        if call.child.is_none() && is_by_child && call.answer.is_ok() {
            return Err("the call names no child run that answered it".to_owned());
        }
        if call.child.is_some() && !is_by_child {
            return Err("no child run can have answered the call".to_owned());
        }
        let identity = SubCall::identity(call.function, &call.model, &call.prompt, call.context.as_ref());
        if let Some(record) = call.cached_from {
            let known = self.answered.get(&identity);
            let is_other = |index: &RecordIndex| self.knows_indices && index.get() != record;
            if known.is_none_or(|(index, value)| is_other(index) || call.answer.as_ref() != Ok(value)) {
                return Err(format!("record {record} does not answer this call"));
            }
        } else if let Ok(value) = &call.answer {
            if self.answered.contains_key(&identity) {
                return Err("an equal call was answered before, and the record does not say so".to_owned());
            }
            self.answered.insert(identity, (index, value.clone()));
        }
        self.used.add(&call.used);
        if let Some(open) = &mut self.open {
            open.calls += 1;
        }
        Ok(())
    }

    fn apply_block(&mut self, index: RecordIndex, block: &Block) -> Result<(), String> {
        let due = self.next();
        if due != (Next::Block { turn: block.turn, block: block.block, code: block.code.clone() }) {
            return Err(format!("block {} of turn {} is not due", block.block, block.turn));
        }
        let source = format!("turn {}, block {}", block.turn, block.block);
        for operation in &block.operations {
            self.operate(operation, &source, index).map_err(|refusal| refusal.to_string())?;
        }
        let names = self.variables.list();
        let names: Vec<(String, &'static str)> =
            names.into_iter().map(|(name, kind)| (name.to_string(), kind)).collect();
        let names: Vec<_> = names.into_iter().filter(|(name, _)| name != "Final").collect();
        if self.partial.is_none() && !block.printed.trim().is_empty() {
            let printed: String =
                block.printed.trim().chars().take(conversation::SHOWN_CHARACTERS_MAX).collect();
            self.partial = Some(printed.into());
        }
        if let Some(open) = &mut self.open {
            if open.calls != block.calls {
                return Err(format!("the block made {} calls, {} are recorded", block.calls, open.calls));
            }
            open.calls = 0;
            open.blocks_done += 1;
            open.feedback.push_str(&conversation::block_feedback(block, &names));
            open.feedback.push('\n');
            if matches!(block.end, BlockEnd::Stopped { .. }) {
                // Later blocks of the reply rely on what the stopped one would have left.
                open.parts.blocks.truncate(open.blocks_done);
            }
        }
        self.finish_turn(index)
    }

    fn operate(
        &mut self,
        operation: &Operation,
        source: &str,
        index: RecordIndex,
    ) -> Result<(), hence_variables::Refusal> {
        match operation {
            Operation::Set { name, value } => self.variables.set(name, value, source, index),
            Operation::Delete { name } => self.variables.delete(name, source, index),
            Operation::Checkpoint { name } => self.variables.checkpoint(name, index),
            Operation::Rollback { name } => self.variables.roll_back(name, index),
        }
    }

    /// Ends a turn whose blocks are all recorded: its outcome becomes a message.
    fn finish_turn(&mut self, index: RecordIndex) -> Result<(), String> {
        let is_answered = self.variables.answer().is_some();
        let Some(open) = self.open.take_if(|open| is_answered || open.blocks_done >= open.parts.blocks.len())
        else {
            return Ok(());
        };
        let mut feedback = open.feedback;
        if open.is_cut {
            feedback.push_str(conversation::CUT);
            if open.parts.has_open_block {
                feedback.push_str(conversation::CUT_BLOCK);
            }
        } else if open.blocks_done == 0 {
            feedback.push_str(conversation::NOTHING_RAN);
        }
        if open.parts.left_out > 0 {
            feedback.push_str(&format!("{} more blocks were not run.", open.parts.left_out));
        }
        // A form at the end of a reply that was cut may be a fragment of another one.
        if !is_answered && !open.is_cut && self.spec.forms == AnswerForms::Compat {
            self.accept_form(&open.parts.prose, open.turn, index, &mut feedback)?;
        }
        let feedback: Arc<str> = feedback.trim_end().into();
        let members: [(&str, Value); 3] =
            [("turn", open.turn.into()), ("reply", open.reply.into()), ("outcome", feedback.clone().into())];
        self.since_compaction.push(members.into_iter().collect::<Object>().into());
        self.messages.push(Message::user(feedback));
        Ok(())
    }

    /// Sets `Final` from a form that other runtimes accept.
    fn accept_form(
        &mut self,
        prose: &str,
        turn: u64,
        index: RecordIndex,
        feedback: &mut String,
    ) -> Result<(), String> {
        let value = match forms::find(prose) {
            None => return Ok(()),
            Some(Form::Text(text)) => Value::from(text),
            Some(Form::Variable(name)) => match self.variables.value(&name) {
                Some(value) if !value.is_null() => value,
                _ => {
                    feedback.push_str(&format!("\nThere is no variable {name}, so the run goes on."));
                    return Ok(());
                }
            },
        };
        let source = format!("turn {turn}");
        self.variables.set("Final", &value, &source, index).map_err(|refusal| refusal.to_string())
    }

    fn apply_compaction(&mut self, index: RecordIndex, compact: &Compaction) -> Result<(), String> {
        if self.next() != (Next::Compact { turn: compact.turn }) {
            return Err("no summary is due".to_owned());
        }
        self.check_request(&self.compact_request(), compact.request)?;
        self.used.calls.add(&compact.reply.usage);
        self.compactions += 1;
        let variable = format!("history_{}", self.compactions);
        let turns: Value = std::mem::take(&mut self.since_compaction).into();
        self.variables.set(&variable, &turns, "compaction", index).map_err(|refusal| refusal.to_string())?;
        let first = conversation::first_message(&self.spec);
        let message = conversation::summary_message(&first, &compact.reply.text, &variable);
        self.messages = vec![Message::user(message)];
        Ok(())
    }
}

/// The member of a fork's origin with the numbers of turns that shared requests name.
const NAMED_TURNS_KEY: &str = "named_turns";

fn read_named_turns(origin: &Value) -> Vec<(u64, u64)> {
    let pairs = origin.get(NAMED_TURNS_KEY).and_then(Value::as_array).unwrap_or_default();
    pairs.iter().filter_map(|pair| Some((pair.at(0)?.as_u64()?, pair.at(1)?.as_u64()?))).collect()
}

/// Returns the origin of a fork of `of` with the numbers of turns that the requests of its shared records name. Each request says how many
/// turns there are, so a fork with another limit needs those of its origin to build the shared requests again.
pub fn with_named_turns(origin: Object, of: &Progress, shared: u64, turns: u64) -> Object {
    // The origin may be a fork itself, and share records with a run that had yet another limit.
    let earlier = of.named_turns.iter().copied().filter(|(until, _)| *until < shared);
    let own = of.named_turns.iter().find(|(until, _)| *until >= shared);
    let own = own.map_or(of.limits().turns, |(_, turns)| *turns);
    let pairs: Vec<(u64, u64)> = earlier.chain([(shared, own)]).collect();
    if pairs.iter().all(|(_, named)| *named == turns) {
        return origin;
    }
    let value = |(until, turns): &(u64, u64)| Value::from(vec![Value::from(*until), Value::from(*turns)]);
    origin.with(NAMED_TURNS_KEY, pairs.iter().map(value).collect::<Vec<_>>())
}

/// Returns the bytes of texts and values that a record holds.
fn recorded_bytes(entry: &Entry) -> u64 {
    let value = |value: &Value| Canonical::of(value).bytes().len();
    let bytes = match entry {
        Entry::Turn(turn) => turn.reply.text.len(),
        Entry::Compact(compact) => compact.reply.text.len(),
        Entry::Call(call) => call.prompt.len() + call.answer.as_ref().map_or(0, value),
        Entry::Block(block) => {
            let written = block.operations.iter().map(|operation| match operation {
                Operation::Set { value: written, .. } => value(written),
                _ => 0,
            });
            block.printed.len() + block.code.len() + written.sum::<usize>()
        }
        Entry::End(_) => 0,
    };
    bytes as u64
}
