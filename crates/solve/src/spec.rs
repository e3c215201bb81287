//! Everything that a problem pins about a run of the loop.

use std::sync::Arc;

use hence_canon::read::{Finding, Reader, items};
use hence_canon::{Digest, Object, Value};
use hence_cognition::budget::{Most, PriceKnown, Usage};
use hence_engine::{SOLVE_SKILL, SOLVE_SKILL_VERSION};
use hence_sandbox::{Identity, Limits as BlockLimits};

use crate::limits::SolveLimits;

/// The member of a problem's settings that pins the loop.
pub const SOLVE_KEY: &str = "solve";

/// The window of a model in tokens, unless the problem says otherwise.
pub const WINDOW_TOKENS_DEFAULT: u64 = 128_000;

/// The tokens that an API adds around the texts of one request.
const FRAME_TOKENS_MAX: u64 = 1024;

hence_canon::words! {
    /// The forms in which a model may answer.
    pub enum AnswerForms {
        /// Assigning `Final` in a block.
        Final = "final",
        /// Also `FINAL(…)`, `FINAL_VAR(…)` and the dict `answer`.
        Compat = "compat",
    }
}

hence_canon::words! {
    /// The treatment of a model call that was under way when a process ended: whether it was charged is undecided.
    pub enum Recovery {
        /// It is asked again, under the same idempotency key.
        Retry = "retry",
        /// The run stops until a person says that it may be asked again.
        Ask = "ask",
    }
}

hence_canon::words! {
    /// The rules of the loop that a run follows. A recorded run keeps the rules that it began with, so that it replays.
    pub enum Rules {
        /// The first rules: the code of a reply runs although the reply was cut, and `Final` of a block that raised counts.
        First = "1",
        /// The rules of new runs.
        Second = "2",
    }
}

hence_canon::words! {
    /// The way in which a context was read.
    pub enum ContextKind {
        /// A text by reference.
        Text = "text",
        /// A list of texts by reference.
        Files = "files",
        /// A value from JSON.
        Json = "json",
        /// A list of values from lines of JSON.
        JsonLines = "jsonl",
        /// A list of rows from CSV, by the names in its first line.
        Csv = "csv",
        /// A value that the parent run stored as a blob.
        Blob = "blob",
    }
}

/// A model, as the problem pins it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelPin {
    /// The name that the user gave.
    pub name: Arc<str>,
    /// Everything that decides about its replies: API, endpoint, name, temperature, seed and most tokens of a reply.
    pub settings: Object,
    /// The most tokens of a reply.
    pub max_tokens: u64,
    /// The price of a million tokens as the settings state it, if they do.
    pub price: Option<Object>,
}

impl ModelPin {
    /// Returns the pin as a problem holds it.
    pub fn value(&self) -> Value {
        let mut members = vec![
            ("name", Value::from(self.name.clone())),
            ("settings", self.settings.clone().into()),
            ("max_tokens", self.max_tokens.into()),
        ];
        members.extend(self.price.clone().map(|price| ("price", price.into())));
        members.into_iter().collect::<Object>().into()
    }

    fn read(mut reader: Reader<'_>) -> Result<Self, Finding> {
        Ok(Self {
            name: reader.text("name")?,
            settings: reader.object("settings")?.source().clone(),
            max_tokens: reader.count("max_tokens")?,
            price: reader.optional_object("price")?.map(|price| price.source().clone()),
        })
    }

    /// Returns the most that a request with so many bytes of text may use. A token stands for at least one byte.
    pub fn most(&self, request_bytes: u64) -> Most {
        let usage = Usage {
            calls: 1,
            tokens_in: request_bytes.saturating_add(FRAME_TOKENS_MAX),
            tokens_out: self.max_tokens,
            ..Usage::default()
        };
        let cost = self.price.as_ref().and_then(|price| crate::price::most(price, &usage));
        let price = if cost.is_some() { PriceKnown::Yes } else { PriceKnown::No };
        Most { usage: Usage { cost: cost.into_iter().collect(), ..usage }, price }
    }
}

/// A context, as the problem pins it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContextPin {
    /// The way it was read.
    pub kind: ContextKind,
    /// Its path, or the pattern of its paths.
    pub path: Arc<str>,
    /// The digest of the file, or of the list of files.
    pub sha256: Digest,
    /// Its bytes, all files together.
    pub bytes: u64,
    /// Its characters, all files together.
    pub characters: u64,
    /// The number of files.
    pub files: u64,
}

impl ContextPin {
    fn value(&self) -> Value {
        let members: [(&str, Value); 6] = [
            ("kind", self.kind.as_str().into()),
            ("path", self.path.clone().into()),
            ("sha256", self.sha256.into()),
            ("bytes", self.bytes.into()),
            ("characters", self.characters.into()),
            ("files", self.files.into()),
        ];
        members.into_iter().collect::<Object>().into()
    }

    fn read(value: &Value) -> Result<Self, Finding> {
        let mut reader = Reader::new(value)?;
        Ok(Self {
            kind: reader.parsed("kind")?,
            path: reader.text("path")?,
            sha256: reader.parsed("sha256")?,
            bytes: reader.count("bytes")?,
            characters: reader.count("characters")?,
            files: reader.count("files")?,
        })
    }
}

/// The interpreter of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InterpreterPin {
    /// The name of the interpreter.
    pub name: Arc<str>,
    /// The version of the program.
    pub version: Arc<str>,
    /// The version of the protocol.
    pub protocol: u64,
    /// The limits of a block.
    pub limits: BlockLimits,
}

impl InterpreterPin {
    /// Pins an interpreter.
    pub fn of(identity: &Identity, limits: BlockLimits) -> Self {
        let Identity { name, version, protocol } = identity;
        Self {
            name: (*name).into(),
            version: version.as_str().into(),
            protocol: u64::from(*protocol),
            limits,
        }
    }

    /// Returns whether an interpreter is the one that is pinned.
    pub fn is(&self, identity: &Identity) -> bool {
        *self.name == *identity.name
            && *self.version == *identity.version
            && self.protocol == u64::from(identity.protocol)
    }

    fn value(&self) -> Value {
        let limits: Object = [
            ("block_milliseconds", Some(self.limits.block_milliseconds)),
            ("memory_bytes", Some(self.limits.memory_bytes)),
            ("output_bytes", Some(self.limits.output_bytes as u64)),
            ("recursion_depth", Some(self.limits.recursion_depth)),
            ("host_calls", self.limits.host_calls),
        ]
        .into_iter()
        .filter_map(|(key, limit)| Some((key, limit?)))
        .collect();
        let members: [(&str, Value); 4] = [
            ("name", self.name.clone().into()),
            ("version", self.version.clone().into()),
            ("protocol", self.protocol.into()),
            ("limits", limits.into()),
        ];
        members.into_iter().collect::<Object>().into()
    }

    fn read(mut reader: Reader<'_>) -> Result<Self, Finding> {
        let mut limits = reader.object("limits")?;
        let read = BlockLimits {
            block_milliseconds: limits.count("block_milliseconds")?,
            memory_bytes: limits.count("memory_bytes")?,
            output_bytes: usize::try_from(limits.count("output_bytes")?).unwrap_or(usize::MAX),
            recursion_depth: limits.count("recursion_depth")?,
            host_calls: limits.optional_count("host_calls")?,
        };
        if !read.are_allowed() {
            return Err(Finding::other(format_args!(
                "the limits of a block are at most {:?}, found {read:?}",
                BlockLimits::MOST
            )));
        }
        Ok(Self {
            name: reader.text("name")?,
            version: reader.text("version")?,
            protocol: reader.count("protocol")?,
            limits: read,
        })
    }
}

/// The call of another run that a run answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParentPin {
    /// The run.
    pub run: Arc<str>,
    /// The index of the record that its call will have there.
    pub record: u64,
    /// The depth of this run: 1 right below the outermost.
    pub depth: u64,
    /// The outermost run, whose task tree this run belongs to.
    pub root: Arc<str>,
    /// The state of the parent run.
    pub state: Arc<str>,
}

impl ParentPin {
    fn value(&self) -> Value {
        let members: [(&str, Value); 5] = [
            ("run", self.run.clone().into()),
            ("record", self.record.into()),
            ("depth", self.depth.into()),
            ("root", self.root.clone().into()),
            ("state", self.state.clone().into()),
        ];
        members.into_iter().collect::<Object>().into()
    }

    fn read(mut reader: Reader<'_>) -> Result<Self, Finding> {
        Ok(Self {
            run: reader.text("run")?,
            record: reader.count("record")?,
            depth: reader.count("depth")?,
            root: reader.text("root")?,
            state: reader.text("state")?,
        })
    }
}

/// Everything that a problem pins about a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spec {
    /// The question.
    pub question: Arc<str>,
    /// The model of the turns.
    pub model: ModelPin,
    /// The model of sub-calls, if it is another.
    pub sub_model: Option<ModelPin>,
    /// The digest of the system prompt.
    pub system: Digest,
    /// The interpreter.
    pub interpreter: InterpreterPin,
    /// The contexts.
    pub contexts: Vec<ContextPin>,
    /// The limits.
    pub limits: SolveLimits,
    /// The window of the model in tokens; the conversation is compacted before it is full.
    pub window_tokens: u64,
    /// The forms of an answer.
    pub forms: AnswerForms,
    /// The treatment of calls that were under way when a process ended.
    pub recovery: Recovery,
    /// The call that this run answers.
    pub parent: Option<ParentPin>,
    /// The rules that the run follows.
    pub rules: Rules,
}

impl Spec {
    /// Reads what a problem pins.
    ///
    /// # Errors
    /// [`Finding`] with the place of the first member that does not fit.
    pub fn read(problem: &Value) -> Result<Self, Finding> {
        let mut document = Reader::new(problem)?;
        let question = document.object("inputs")?.text("prompt")?;
        let mut settings = document.object("settings")?;
        let mut pin = settings.object("skill")?;
        for (key, expected) in [("id", SOLVE_SKILL), ("version", SOLVE_SKILL_VERSION)] {
            let found = pin.text(key)?;
            if *found != *expected {
                return Err(pin.finding(key, format_args!("expected {expected:?}, found {found:?}")));
            }
        }
        let mut solve = settings.object(SOLVE_KEY)?;
        Ok(Self {
            question,
            model: ModelPin::read(solve.object("model")?)?,
            sub_model: solve.optional_object("sub_model")?.map(ModelPin::read).transpose()?,
            system: solve.parsed("system_sha256")?,
            interpreter: InterpreterPin::read(solve.object("interpreter")?)?,
            contexts: solve.required("contexts", |value| items(value, ContextPin::read))?,
            limits: SolveLimits::read(solve.object("limits")?)?,
            window_tokens: solve.count("window_tokens")?,
            forms: solve.parsed("answer_forms")?,
            recovery: solve.optional_parsed("recovery")?.unwrap_or(Recovery::Retry),
            parent: solve.optional_object("parent")?.map(ParentPin::read).transpose()?,
            rules: solve.optional_parsed("rules")?.unwrap_or(Rules::First),
        })
    }

    /// Returns the member `settings.solve` of the problem.
    pub fn settings(&self) -> Object {
        let mut members = vec![
            ("model", self.model.value()),
            ("system_sha256", self.system.into()),
            ("interpreter", self.interpreter.value()),
            ("contexts", self.contexts.iter().map(ContextPin::value).collect::<Vec<_>>().into()),
            ("limits", self.limits.value()),
            ("window_tokens", self.window_tokens.into()),
            ("answer_forms", self.forms.as_str().into()),
        ];
        members.extend(self.sub_model.as_ref().map(|model| ("sub_model", model.value())));
        members.extend(self.parent.as_ref().map(|parent| ("parent", parent.value())));
        if self.recovery != Recovery::Retry {
            members.push(("recovery", self.recovery.as_str().into()));
        }
        if self.rules != Rules::First {
            members.push(("rules", self.rules.as_str().into()));
        }
        members.into_iter().collect()
    }

    /// Returns the problem of a run.
    pub fn problem(&self, id: &str, created_at: &str) -> Value {
        let object =
            |members: Vec<(&str, Value)>| -> Value { members.into_iter().collect::<Object>().into() };
        let skill = object(vec![("id", SOLVE_SKILL.into()), ("version", SOLVE_SKILL_VERSION.into())]);
        object(vec![
            ("version", "1.0.0".into()),
            ("id", id.into()),
            ("created_at", created_at.into()),
            ("inputs", object(vec![("prompt", self.question.clone().into())])),
            ("settings", object(vec![("skill", skill), (SOLVE_KEY, self.settings().into())])),
        ])
    }

    /// Returns the model of sub-calls that has a name; the default one when there is no name.
    pub fn sub_call_model(&self, name: Option<&str>) -> Option<&ModelPin> {
        let default = self.sub_model.as_ref().unwrap_or(&self.model);
        match name {
            None => Some(default),
            Some(name) => [default, &self.model].into_iter().find(|model| *model.name == *name),
        }
    }

    /// Returns the depth of the run: 0 for the outermost.
    pub fn depth(&self) -> u64 {
        self.parent.as_ref().map_or(0, |parent| parent.depth)
    }
}
