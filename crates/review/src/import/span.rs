//! Trees of telemetry spans → trace.
//!
//! One file, because all that a span states is read once and then used by its action, its unit and its gaps.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use hence_canon::time::{Instant, IsoTime};
use hence_canon::{Object, Value};

use crate::command::{
    Callee, Deed, Ended, LineEnd, Part, Ran, ShellNames, Signs, exit_codes, folder_given, lines_given,
    merged, part_of_tool, parts_after,
};
use crate::secret::{self, Redactions};
use crate::vocabulary::{
    ActionType, ActivityType, ArtifactType, EvidenceType, GatewayType, GovernanceType, MetaSource,
    MetaStatus, ResidualKind, ResidualSeverity, ResidualSource, ResidualStatus,
};

use super::approval::Answer;
use super::exec_header;
use super::leaks::{self, Committed, Leaks, Shown};
use super::text::{shorten, shorten_values};
use super::usage::Usage;

/// Longest texts, in characters.
const STATEMENT_CHARS_MAX: usize = 200;
const RESULT_CHARS_MAX: usize = 160;
const ARGUMENT_CHARS_MAX: usize = 400;
const SUMMARY_CHARS_MAX: usize = 200;
/// The characters of a text that are looked at.
const RAW_CHARS_MAX: usize = 4000;

/// Takes the beginning of a text, of which a trace shows a part.
pub(super) fn beginning(text: &str) -> String {
    text.chars().take(RAW_CHARS_MAX).collect()
}

/// Milliseconds since 1970.
pub(super) type Millis = i64;

/// Reads an ISO 8601 date and time. A date that does not exist, such as 31 February, is no time.
pub(crate) fn parse_time(text: &str) -> Option<Millis> {
    let time = IsoTime::parse(text).filter(|time| time.has_time())?;
    time.to_instant().map(Instant::as_millis)
}

/// Writes a time as `2026-07-22T12:00:00.002Z`.
fn format_time(millis: Millis) -> Option<Value> {
    Instant::from_millis(millis).map(|instant| instant.to_millis_text().into())
}

/// A span of any source.
#[derive(Clone)]
pub(super) struct Span {
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) name: String,
    pub(super) start: Option<Millis>,
    pub(super) duration_ms: Option<Millis>,
    pub(super) label: String,
    /// The kind of work.
    pub(super) work: Work,
    pub(super) tool: Option<String>,
    pub(super) model: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) intent: Option<String>,
    /// The reason, if the source has one.
    pub(super) rationale: Option<String>,
    /// The request.
    pub(super) arguments: Option<Value>,
    /// The result, or the error.
    pub(super) result: Option<String>,
    pub(super) ended: SpanEnd,
    /// The exit code that the result states.
    pub(super) exit_code: Option<i64>,
    /// The signs in the whole output, of which the result is the beginning.
    pub(super) signs: Signs,
    pub(super) shown: Shown,
    /// The secrets that it commits.
    pub(super) committed: Committed,
    pub(super) usage: Option<Usage>,
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
    /// The command that the tool ran, if it was given one of a known kind.
    pub(super) part: Option<Box<Part>>,
    /// Everything that the source states in the words of traces.
    pub(super) stated: Stated,
    /// The answer that it records, which matters if it is an approval.
    pub(super) answer: Answer,
}

/// The members of a span that are written in the words of traces, as an exporter of traces writes them.
#[derive(Clone, Default)]
pub(super) struct Stated {
    /// The type of the action.
    pub(super) action_type: Option<ActionType>,
    /// The type of its outputs, and their payload.
    pub(super) artifact: Option<(ArtifactType, Object)>,
    /// The gaps that it declares.
    pub(super) gaps: Vec<Object>,
}

/// The most gaps that one span may declare.
const GAPS_MAX: usize = 100;

impl Stated {
    /// Reads what a span states: `ponens.action_type`, `ponens.artifact_type` with `ponens.payload`, `ponens.residuals`.
    /// A word that traces do not have is left out.
    pub(super) fn read(text: impl Fn(&str) -> Option<String>) -> Self {
        let document = |key: &str| hence_canon::parse(text(key)?.as_bytes()).ok();
        let artifact_type = text("ponens.artifact_type").and_then(|word| ArtifactType::from_word(&word));
        let payload = document("ponens.payload").and_then(|payload| payload.as_object().cloned());
        let gaps = document("ponens.residuals");
        let gaps = gaps.as_ref().and_then(Value::as_array).unwrap_or_default();
        let is_gap = |gap: &&Object| {
            let word = |key: &str| gap.get(key).and_then(Value::as_str).unwrap_or_default();
            ResidualKind::from_word(word("kind")).is_some() && !word("statement").trim().is_empty()
        };
        Self {
            action_type: text("ponens.action_type").and_then(|word| ActionType::from_word(&word)),
            artifact: artifact_type.zip(payload),
            gaps: gaps.iter().filter_map(Value::as_object).filter(is_gap).take(GAPS_MAX).cloned().collect(),
        }
    }

    /// Removes the secrets.
    fn redact(&mut self, removed: &mut Redactions) {
        let mut clean = |object: &Object| {
            let clean = secret::redact_value(&object.clone().into(), removed);
            clean.as_object().cloned().unwrap_or_default()
        };
        if let Some((_, payload)) = &mut self.artifact {
            *payload = clean(payload);
        }
        self.gaps.iter_mut().for_each(|gap| *gap = clean(gap));
    }
}

/// The end of a call, as its result states it.
struct StatedEnd {
    /// The exit code.
    exit_code: Option<i64>,
    /// The output of the command, where the result holds it apart.
    printed: Option<String>,
}

impl StatedEnd {
    /// Reads a result that is an object with an exit code, or a text that begins with one.
    fn of(result: Option<&str>) -> Self {
        let Some(text) = result else { return Self { exit_code: None, printed: None } };
        let is_object = text.trim_start().starts_with('{');
        let parse = |text: &str| hence_canon::parse(text.as_bytes()).ok();
        // Python writes objects with other quotes.
        let value = is_object.then(|| parse(text).or_else(|| parse(&text.replace('\'', "\"")))).flatten();
        let Some(object) = value.as_ref().and_then(Value::as_object) else {
            return Self { exit_code: exec_header::exit_code(text), printed: None };
        };
        let codes = |object: &Object| exit_codes(object).first().copied();
        let inner = ["metadata", "result", "output"].iter().filter_map(|key| object.get(key)?.as_object());
        let exit_code = codes(object).or_else(|| inner.into_iter().find_map(codes));
        let printed = ["stdout", "output", "stderr", "text", "content"];
        let printed: Vec<&str> = printed.iter().filter_map(|key| object.get(key)?.as_str()).collect();
        Self { exit_code, printed: (!printed.is_empty()).then(|| printed.join("\n")) }
    }
}

impl Span {
    /// Adds the exit code that the result states: a call that was made may have run a command that failed.
    ///
    /// An error that the call reports counts before its result, unless only the result has a code.
    pub(super) fn with_stated_end(mut self, error: Option<&str>, output: Option<&str>) -> Self {
        let has_code = |text: &&str| StatedEnd::of(Some(text)).exit_code.is_some();
        let output = output.filter(has_code).or(error).or(output);
        let stated = StatedEnd::of(output);
        let printed = stated.printed.as_deref().or(output).unwrap_or_default();
        (self.signs, self.shown) = (Signs::of(printed), Shown::of(printed));
        let is_call = self.work == Work::ToolCall;
        // A code of zero does not take back what the span says.
        let agrees = |code: &i64| *code != 0 || self.ended != SpanEnd::Badly;
        self.exit_code = stated.exit_code.filter(|code| is_call && agrees(code));
        self.ended = match self.exit_code {
            Some(0) => SpanEnd::Well,
            Some(_) => SpanEnd::Badly,
            None => self.ended,
        };
        self
    }

    /// Returns whether it checks something.
    fn is_check(&self) -> bool {
        use ActivityType::{Lint, RunTests, TypeCheck};
        let stated = self.part.as_ref().map(|part| part.deed.action_type()).or(self.stated.action_type);
        matches!(stated, Some(ActionType::Activity(RunTests | Lint | TypeCheck)))
    }

    /// Returns whether rules ask for checks before it.
    fn is_deed(&self) -> bool {
        match &self.part {
            Some(part) => part.deed.is_consequential(),
            None => matches!(self.work, Work::Commit | Work::Deploy | Work::Release),
        }
    }

    fn is_change(&self) -> bool {
        self.part.as_ref().is_some_and(|part| part.deed.changes_file() || part.deed == Deed::Format)
    }

    /// Returns one span for each command of a known kind that a tool was given, or the span itself.
    fn by_command(self, names: &mut ShellNames, leaks: &mut Leaks) -> Vec<Self> {
        let given = self.arguments.as_ref().filter(|_| self.work == Work::ToolCall);
        let lines = given.map(|arguments| lines_given(arguments, Callee::DoesElse)).unwrap_or_default();
        let end = match self.ended {
            SpanEnd::Well => LineEnd::Well,
            // How far a line came that was ended from outside is not known.
            SpanEnd::Badly if self.result.as_deref().is_some_and(says_stopped) => LineEnd::Hidden,
            SpanEnd::Badly => LineEnd::Badly,
            SpanEnd::Unstated => LineEnd::Hidden,
        };
        let folder = given.map(folder_given).unwrap_or_default();
        let mut spans: Vec<Self> = Vec::new();
        for line in &lines {
            let found = parts_after(line, folder, end, self.signs, names);
            let committed = leaks.line(&found, &self.shown);
            spans.extend(merged(&found).into_iter().map(|part| Self {
                committed: if part.deed == Deed::Commit { committed.clone() } else { Committed::default() },
                part: Some(Box::new(part)),
                usage: None,
                ..self.clone()
            }));
        }
        match spans.first_mut() {
            Some(first) => first.usage.clone_from(&self.usage),
            None => return vec![self.by_tool()],
        }
        spans
    }

    /// Adds what a tool did whose name says it.
    fn by_tool(mut self) -> Self {
        let name = self.tool.as_deref().or_else(|| self.name.strip_prefix("execute_tool "));
        let name = name.filter(|_| self.work == Work::ToolCall && self.stated.action_type.is_none());
        let found = name.and_then(|name| part_of_tool(name, self.arguments.as_ref().unwrap_or(&Value::Null)));
        self.part = found.map(|part| {
            let ended = match self.ended {
                SpanEnd::Badly if self.result.as_deref().is_some_and(says_stopped) => Ended::Unknown,
                SpanEnd::Badly => Ended::Badly,
                SpanEnd::Well | SpanEnd::Unstated => Ended::Well,
            };
            Box::new(Part { ended, ..part })
        });
        let private = self.part.iter().flat_map(|part| &part.private_files);
        self.committed.private_files.extend(private.cloned());
        self.committed.holds_secret |= !self.committed.private_files.is_empty();
        self
    }

    /// Removes the secrets from every text, then cuts the long ones.
    fn redact(&mut self, removed: &mut Redactions) {
        let mut clean = |text: &mut String| {
            if let Cow::Owned(clean) = secret::redact(text, removed) {
                *text = clean;
            }
        };
        [&mut self.name, &mut self.label].into_iter().for_each(&mut clean);
        let texts =
            [&mut self.tool, &mut self.intent, &mut self.rationale, &mut self.result, &mut self.agent];
        texts.into_iter().flatten().for_each(&mut clean);
        self.inputs.iter_mut().chain(&mut self.outputs).for_each(&mut clean);
        self.result = self.result.take().map(|text| shorten(&text, RESULT_CHARS_MAX));
        self.stated.redact(removed);
        let arguments = self.arguments.take().map(|value| secret::redact_value(&value, removed));
        self.arguments = arguments.map(|value| shorten_values(&value, ARGUMENT_CHARS_MAX));
    }

    fn failed(&self) -> bool {
        self.ended == SpanEnd::Badly
    }
}

/// Words of an error by which a call ended before it was finished.
const STOPPING: &[&str] = &[
    "timeout",
    "timed out",
    "deadline exceeded",
    "aborted",
    "interrupted",
    "cancelled",
    "canceled",
    "killed",
    "sigterm",
    "sigkill",
    "sigint",
    "connection reset",
    "connection closed",
    "exit code 124",
    "exit code 130",
    "exit code 137",
    "exit code 143",
];

/// Returns whether an error says that the call was ended before it was finished.
fn says_stopped(error: &str) -> bool {
    let error = error.to_lowercase();
    STOPPING.iter().any(|words| error.contains(words))
}

/// The end of a span, as its source says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SpanEnd {
    Well,
    Badly,
    /// The source says nothing.
    Unstated,
}

/// The kinds of work that telemetry distinguishes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Work {
    Retrieve,
    ToolCall,
    Approval,
    Decision,
    Release,
    Deploy,
    Commit,
    Draft,
    Compute,
    Progress,
}

/// Words of a name that ask for an approval, which is not one yet.
const ASKING: &[&str] = &["request", "await", "wait", "ask", "pending", "need", "require", "seek"];

impl Work {
    /// Guesses the kind from the words of a name, most telling words first.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let keywords: &[(&[&str], Self)] = &[
            (&["retriev", "search", "fetch", "query"], Self::Retrieve),
            (&["tool", "rpc", "http", "call"], Self::ToolCall),
            (
                &["bash", "shell", "terminal", "run_command", "execute_command", "exec_command"],
                Self::ToolCall,
            ),
            (&["approv"], Self::Approval),
            (&["decis", "gate"], Self::Decision),
            (&["releas", "execut", "dispatch"], Self::Release),
            (&["deploy"], Self::Deploy),
            (&["commit"], Self::Commit),
            (&["draft"], Self::Draft),
            (&["comput", "chat", "generat", "reason"], Self::Compute),
        ];
        keywords.iter().find(|(words, _)| words.iter().any(|word| name.contains(word))).map(|(_, work)| *work)
    }

    /// Returns the type of an action that did this work.
    fn action_type(self, span: &Span) -> ActionType {
        match self {
            Self::Retrieve => ActivityType::Retrieve.into(),
            Self::ToolCall => ActivityType::ToolCall.into(),
            Self::Release => ActivityType::Release.into(),
            Self::Deploy => ActivityType::Deploy.into(),
            Self::Approval => approval(span),
            Self::Decision => GatewayType::Decision.into(),
            Self::Commit => ActivityType::GitCommit.into(),
            Self::Draft => ActivityType::Draft.into(),
            Self::Compute => ActivityType::Compute.into(),
            Self::Progress => ActivityType::ReportProgress.into(),
        }
    }
}

/// An approval that was refused, that failed, that nobody affirmed, or that was only asked for, is none. Where the log
/// does not say what was answered, the name of the span is taken at its word.
fn approval(span: &Span) -> ActionType {
    let name = span.name.to_lowercase();
    let mut words = name.split(|letter: char| !letter.is_alphanumeric());
    let asks = words.any(|word| ASKING.iter().any(|asking| word.starts_with(asking)));
    match span.answer {
        Answer::No => GovernanceType::Reject.into(),
        _ if span.failed() => GatewayType::Decision.into(),
        _ if asks => GovernanceType::RequestApproval.into(),
        Answer::Neither => GatewayType::Decision.into(),
        Answer::Yes | Answer::Unstated => GatewayType::UserApproval.into(),
    }
}

fn is_approval(kind: ActionType) -> bool {
    matches!(
        kind,
        ActionType::Gateway(GatewayType::UserApproval) | ActionType::Governance(GovernanceType::Approve)
    )
}

/// The spans of one trace, and its description.
pub(super) struct Export {
    pub(super) trace_id: String,
    pub(super) assistant: &'static str,
    /// The description of the trace when neither it nor its root span has a name.
    pub(super) kind: &'static str,
    /// The source's word for spans, for the summary.
    pub(super) unit: &'static str,
    /// The name of the trace, if the source has one.
    pub(super) name: Option<String>,
    pub(super) summary: Option<String>,
    pub(super) spans: Vec<Span>,
}

/// Makes a trace: spans with children become units of intent, the others actions.
pub(super) fn trace(mut export: Export) -> Value {
    let mut removed = Redactions::default();
    // Commands are read before secrets are removed from them.
    export.spans.sort_by_key(|span| span.start);
    let mut names = ShellNames::default();
    let mut leaks = Leaks::default();
    let spans = export.spans.into_iter();
    export.spans = spans.flat_map(|span| span.by_command(&mut names, &mut leaks)).collect();
    move_late_checks(&mut export.spans);
    export.spans.iter_mut().for_each(|span| span.redact(&mut removed));
    let mut clean = |text: String| secret::redact(&text, &mut removed).into_owned();
    export.name = export.name.map(&mut clean);
    export.summary = export.summary.map(clean).map(|text| shorten(&text, SUMMARY_CHARS_MAX));
    let tree = Tree::of(&export.spans);
    let actions: Vec<&Span> = export.spans.iter().filter(|span| !tree.is_internal(&span.id)).collect();
    let mut exchange = Exchange::of(&actions);
    let action_values: Vec<Value> = actions
        .iter()
        .enumerate()
        .map(|(place, span)| action(span, place + 1, &tree, &mut exchange))
        .collect();
    let root = export.spans.iter().find(|span| tree.parent(span).is_none() && span.parent.is_none());
    let described = export.name.clone().or_else(|| root.map(|root| root.name.clone()));
    let outcome = match root.or_else(|| export.spans.first()) {
        Some(root) if root.failed() => "ProcessAborted",
        _ => "ProcessCompleted",
    };
    let counted = format!("{} actions from {} {}", actions.len(), export.spans.len(), export.unit);
    let model = export.spans.iter().find_map(|span| span.model.clone());
    let mut members = vec![
        ("trace_id", Value::from(export.trace_id.as_str())),
        ("spec_version", "1.6".into()),
        ("assistant", export.assistant.into()),
        ("model", model.as_deref().unwrap_or("unknown").into()),
    ];
    let start = export.spans.iter().find_map(|span| span.start).and_then(format_time);
    members.extend(start.map(|start| ("timestamp", start)));
    let trigger =
        [("type", "TriggeredByEvent"), ("description", described.as_deref().unwrap_or(export.kind))];
    members.extend([
        ("trigger", Object::from_iter(trigger).into()),
        ("actions", action_values.into()),
        ("meta_actions", units(&export.spans, &actions, &tree)),
        (
            "outcome",
            Object::from_iter([
                ("type", outcome),
                ("summary", export.summary.as_deref().unwrap_or(&counted)),
            ])
            .into(),
        ),
        ("artifacts", exchange.artifacts.into()),
        ("reference_artifacts", exchange.external.into_iter().map(external).collect()),
        ("residuals", failures(&actions).into_iter().chain(declared(&actions)).collect()),
    ]);
    let mut total = Usage::default();
    export
        .spans
        .iter()
        .filter(|span| !tree.is_internal(&span.id))
        .filter_map(|span| span.usage.as_ref())
        .for_each(|usage| total.add(usage));
    if !removed.is_empty() {
        let removed = Object::from_iter([("redactions", removed.to_object())]);
        members.push(("metadata", removed.into()));
    }
    let metrics: Object = total.members().collect();
    if !metrics.is_empty() {
        members.push(("metrics", metrics.into()));
    }
    Object::from_iter(members).into()
}

/// Places a check that ended after a deed began behind that deed: the deed could not rely on it. If files changed while the
/// check ran, nobody knows which of them it saw.
fn move_late_checks(spans: &mut [Span]) {
    for at in (0..spans.len()).rev() {
        let Some(check) = spans.get(at).filter(|span| span.is_check()) else { continue };
        let Some(end) = check.start.zip(check.duration_ms).map(|(start, took)| start.saturating_add(took))
        else {
            continue;
        };
        let rest = spans.get(at + 1..).unwrap_or_default();
        let is_inside = |span: &Span| span.start.is_some_and(|start| start < end) && span.id != check.id;
        let Some(last) = rest.iter().rposition(|span| span.is_deed() && is_inside(span)) else { continue };
        if !rest.iter().any(|span| span.is_change() && is_inside(span)) {
            spans.get_mut(at..=at + last + 1).into_iter().for_each(|moved| moved.rotate_left(1));
        } else if let Some(check) = spans.get_mut(at).filter(|span| !span.failed()) {
            check.ended = SpanEnd::Unstated;
            (check.result, check.exit_code) = (None, None);
            check.part.iter_mut().for_each(|part| part.ended = Ended::Unknown);
        }
    }
}

/// The enclosing span of each span.
struct Tree<'a> {
    parents: BTreeMap<&'a str, &'a str>,
    internal: BTreeMap<&'a str, usize>,
}

impl<'a> Tree<'a> {
    fn of(spans: &'a [Span]) -> Self {
        let known: BTreeSet<&str> = spans.iter().map(|span| span.id.as_str()).collect();
        let parent = |span: &'a Span| {
            span.parent.as_deref().filter(|parent| known.contains(parent) && *parent != span.id)
        };
        let mut parents: BTreeMap<&str, &str> =
            spans.iter().filter_map(|span| Some((span.id.as_str(), parent(span)?))).collect();
        cut_circles(&mut parents);
        let enclosing: BTreeSet<&str> = parents.values().copied().collect();
        let mut internal = BTreeMap::new();
        for span in spans.iter().filter(|span| enclosing.contains(span.id.as_str())) {
            let number = internal.len() + 1;
            internal.entry(span.id.as_str()).or_insert(number);
        }
        Self { parents, internal }
    }

    fn is_internal(&self, id: &str) -> bool {
        self.internal.contains_key(id)
    }

    /// Returns the unit that encloses a span.
    fn parent(&self, span: &Span) -> Option<String> {
        let parent = self.parents.get(span.id.as_str())?;
        self.internal.get(parent).map(|number| format!("m{number}"))
    }
}

/// Removes the parent that closes a circle, where spans enclose each other.
fn cut_circles(parents: &mut BTreeMap<&str, &str>) {
    let mut settled: BTreeSet<String> = BTreeSet::new();
    let starts: Vec<String> = parents.keys().map(|id| (*id).to_owned()).collect();
    for start in starts {
        let mut path: BTreeSet<String> = BTreeSet::new();
        let mut current = start;
        while !settled.contains(&current) {
            path.insert(current.clone());
            let Some(parent) = parents.get(current.as_str()).map(|parent| (*parent).to_owned()) else {
                break;
            };
            if path.contains(&parent) {
                parents.remove(current.as_str());
                break;
            }
            current = parent;
        }
        settled.extend(path);
    }
}

/// Artifacts by the names that spans consume and produce; a name produced again is a new version.
struct Exchange {
    produced: BTreeSet<String>,
    /// Every id in use: names from the log, and versions made here.
    taken: BTreeSet<String>,
    /// The ids made so far.
    made: BTreeSet<String>,
    newest: BTreeMap<String, String>,
    versions: BTreeMap<String, usize>,
    artifacts: Vec<Value>,
    external: BTreeSet<String>,
}

impl Exchange {
    fn of(actions: &[&Span]) -> Self {
        let produced: BTreeSet<String> =
            actions.iter().flat_map(|span| span.outputs.iter().cloned()).collect();
        let consumed = actions.iter().flat_map(|span| span.inputs.iter().cloned());
        Self {
            taken: produced.iter().cloned().chain(consumed).collect(),
            produced,
            made: BTreeSet::new(),
            newest: BTreeMap::new(),
            versions: BTreeMap::new(),
            artifacts: Vec::new(),
            external: BTreeSet::new(),
        }
    }

    /// Returns the newest version of a name; a name that nobody produces comes from outside.
    ///
    /// A name that is consumed before it is produced stays as the log has it; validation and policies report it.
    fn consume(&mut self, name: &str) -> String {
        if !self.produced.contains(name) {
            self.external.insert(name.to_owned());
        }
        self.newest.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    fn produce(&mut self, name: &str, action_id: usize, inputs: &[String], span: &Span) -> String {
        let version = self.versions.entry(name.to_owned()).or_insert(0);
        *version += 1;
        let mut id = name.to_owned();
        while *version > 1 {
            id = format!("{name}@{version}");
            if self.taken.insert(id.clone()) {
                break;
            }
            *version += 1;
        }
        // An artifact that is made later cannot have been a source, whatever the log lists as consumed.
        let exists = |input: &&String| self.external.contains(*input) || self.made.contains(*input);
        let inputs: Vec<&str> = inputs.iter().filter(exists).map(String::as_str).collect();
        let stated = span.stated.artifact.as_ref();
        let kind = stated.map_or(ArtifactType::AnalysisNote, |(kind, _)| *kind);
        let artifact = Object::from_iter([
            ("artifact_id", Value::from(id.as_str())),
            ("artifact_type", kind.into()),
            ("name", name.into()),
            ("producer_action_id", action_id.into()),
            ("derived_from", inputs.into_iter().collect()),
        ]);
        let artifact = match stated {
            Some((_, payload)) => artifact.with("payload", payload.clone()),
            None => artifact,
        };
        self.artifacts.push(artifact.into());
        self.made.insert(id.clone());
        self.newest.insert(name.to_owned(), id.clone());
        id
    }
}

fn external(name: String) -> Object {
    Object::from_iter([
        ("reference_artifact_id", name.as_str()),
        ("name", name.as_str()),
        ("domain", "external"),
        ("artifact_type", "external_input"),
    ])
}

/// A failed span is a gap: nothing in the trace shows that the failure was repaired.
fn failures(actions: &[&Span]) -> Vec<Object> {
    let failed = actions.iter().enumerate().filter(|(_, span)| span.failed());
    let residual = |(place, span): (usize, &&Span)| {
        let id = place + 1;
        let error =
            span.result.as_deref().map(|text| text.trim_start_matches("ERROR: ")).unwrap_or("no message");
        let target = Object::from_iter([("target_type", "action"), ("target_id", id.to_string().as_str())]);
        Object::from_iter([
            ("residual_id", Value::from(format!("failed-{id}"))),
            ("kind", ResidualKind::Limitation.into()),
            ("statement", shorten(&format!("{} failed: {error}", span.name), STATEMENT_CHARS_MAX).into()),
            ("severity", ResidualSeverity::Medium.into()),
            ("target", target.into()),
            ("source", ResidualSource::ToolInferred.into()),
            ("status", ResidualStatus::Open.into()),
        ])
    };
    failed.map(residual).collect()
}

/// The gaps that spans declare. A gap is open unless the log says otherwise; only its members that traces know are taken.
fn declared(actions: &[&Span]) -> Vec<Object> {
    const KEPT: [&str; 8] = [
        "kind",
        "statement",
        "severity",
        "target",
        "related_artifact_ids",
        "rationale",
        "suggested_check",
        "status",
    ];
    let listed =
        actions.iter().zip(1..).flat_map(|(span, id)| span.stated.gaps.iter().map(move |gap| (gap, id)));
    let one = |(number, (gap, id)): (usize, (&Object, i64))| {
        let kept = KEPT.iter().filter_map(|key| Some((*key, gap.get(key)?.clone())));
        let known = [
            ("residual_id", Value::from(format!("declared-{}", number + 1))),
            ("source", ResidualSource::AgentDeclared.into()),
            ("introduced_by_action_id", id.into()),
        ];
        let found: Object = known.into_iter().chain(kept).collect();
        if found.get("status").is_some() { found } else { found.with("status", ResidualStatus::Open) }
    };
    listed.enumerate().map(one).collect()
}

fn action(span: &Span, id: usize, tree: &Tree<'_>, exchange: &mut Exchange) -> Value {
    // What a command does is read from the command, whatever the log calls it.
    let stated = || match span.stated.action_type {
        // A stated approval is one only if nothing says otherwise; what it is called does not matter.
        Some(stated) if is_approval(stated) => {
            let found = approval(span);
            let only_asks = found == GovernanceType::RequestApproval.into();
            if is_approval(found) || only_asks && span.answer == Answer::Yes { stated } else { found }
        }
        Some(stated) => stated,
        None => span.work.action_type(span),
    };
    let kind = span.part.as_ref().map_or_else(stated, |part| part.deed.action_type());
    let inputs: Vec<String> = span.inputs.iter().map(|name| exchange.consume(name)).collect();
    let outputs: Vec<String> =
        span.outputs.iter().map(|name| exchange.produce(name, id, &inputs, span)).collect();
    let evidence = Object::from_iter([
        ("type", Value::from(EvidenceType::UrlRef)),
        ("ref", format!("span:{}", span.id).into()),
    ]);
    let mut members = vec![
        ("id", Value::from(id)),
        ("type", kind.as_str().into()),
        ("category", kind.category().into()),
        ("label", span.label.as_str().into()),
        ("rationale", span.rationale.as_deref().unwrap_or("").into()),
        ("inputs", inputs.iter().map(String::as_str).collect()),
        ("outputs", outputs.iter().map(String::as_str).collect()),
        ("evidence", vec![evidence].into()),
    ];
    let execution = execution(span);
    if !execution.is_empty() {
        members.push(("execution", execution.into()));
    }
    let request =
        span.arguments.as_ref().map(|arguments| Object::from_iter([("arguments", arguments.clone())]));
    let request = match &span.part {
        Some(part) => Some(of_command(part, &span.committed, request.unwrap_or_default())),
        None => request,
    };
    let is_destructive = span.part.as_ref().is_some_and(|part| part.is_destructive);
    let is_guess = is_approval(kind) && span.stated.action_type.is_none() && span.answer == Answer::Unstated;
    let guess = is_guess.then(|| {
        let statement = "taken for an approval by its name: the log does not say what was answered";
        vec![Object::from_iter([("statement", statement), ("confidence", "low")])].into()
    });
    let optional = [
        ("observations", guess),
        ("request", request.map(Value::from)),
        ("result", result(span)),
        ("result_summary", span.result.as_deref().map(Value::from)),
        ("agent", span.agent.as_deref().map(Value::from)),
        ("timestamp", span.start.and_then(format_time)),
        ("meta_action_id", tree.parent(span).map(Value::from)),
        ("tags", is_destructive.then(|| vec!["destructive"].into_iter().collect())),
    ];
    members.extend(optional.into_iter().filter_map(|(key, text)| Some((key, text?))));
    Object::from_iter(members).into()
}

/// The tool or model, how long it took and what it used.
fn execution(span: &Span) -> Object {
    let texts = [("tool", span.tool.as_deref()), ("model", span.model.as_deref())];
    let texts = texts.into_iter().filter_map(|(key, text)| Some((key, Value::from(text?))));
    let duration = span.duration_ms.map(|duration| ("duration_ms", Value::from(duration)));
    texts.chain(duration).chain(span.usage.iter().flat_map(Usage::members)).collect()
}

/// Adds what is known of a command to a request.
fn of_command(part: &Part, committed: &Committed, request: Object) -> Object {
    let words = secret::words_without_secrets(&part.words);
    let program = words.first().map(|program| ("program", Value::from(program.as_str())));
    let path = part.files.first().map(|file| ("path", Value::from(file.path.as_str())));
    let is_push = part.deed == Deed::Push;
    let force = is_push.then(|| ("force", part.force_value()));
    // Rules ask for the words of a push.
    let list: Value = part.arguments().into_iter().collect();
    let input = request.get("arguments").filter(|_| is_push).cloned().map(|input| ("input", input));
    let list = is_push.then_some(("arguments", list));
    let held = match part.deed {
        Deed::Commit => committed.holds_secret || leaks::holds_secret(part),
        _ => secret::contains(&part.source) || part.content.as_deref().is_some_and(secret::contains),
    };
    let held = held.then(|| ("contains_secret", Value::from(true)));
    let members = [program, path, force, held, committed.member(), input, list].into_iter().flatten();
    members.fold(request, |request, (key, value)| request.with(key, value))
}

fn result(span: &Span) -> Option<Value> {
    let ended = span.part.as_ref().map(|part| (part.ran, part.ended));
    let status = match span.ended {
        _ if matches!(ended, Some((Ran::Maybe, _) | (_, Ended::Unknown))) => "unknown",
        _ if matches!(ended, Some((_, Ended::Badly))) => "failed",
        SpanEnd::Well => "completed",
        SpanEnd::Badly => "failed",
        SpanEnd::Unstated => return None,
    };
    let mut members = Object::from_iter([("status", status)]);
    // Of a line of several commands, the code is that of the last one.
    let owns_code = ended.is_none_or(|(_, ended)| matches!(ended, Ended::Well | Ended::Badly));
    if let Some(code) = span.exit_code.filter(|_| owns_code && status != "unknown") {
        members = members.with("exit_code", code);
    }
    if let (SpanEnd::Badly, Some(error)) = (span.ended, span.result.as_deref()) {
        members = members.with("error", error.trim_start_matches("ERROR: "));
    }
    Some(members.into())
}

fn units(spans: &[Span], actions: &[&Span], tree: &Tree<'_>) -> Value {
    let mut members: BTreeMap<String, (Vec<usize>, bool)> = BTreeMap::new();
    for (place, span) in actions.iter().enumerate() {
        if let Some(unit) = tree.parent(span) {
            let (ids, failed) = members.entry(unit).or_default();
            ids.push(place + 1);
            *failed |= span.failed();
        }
    }
    // Spans with the same id are one unit, described by the first of them.
    let mut seen = BTreeSet::new();
    let internal = spans.iter().filter_map(|span| Some((span, *tree.internal.get(span.id.as_str())?)));
    let internal = internal.filter(|(_, number)| seen.insert(*number));
    internal
        .map(|(span, number)| {
            let id = format!("m{number}");
            let (ids, member_failed) = members.remove(&id).unwrap_or_default();
            let status = match (span.failed(), member_failed) {
                (true, _) => MetaStatus::Abandoned,
                (false, true) => MetaStatus::Partial,
                (false, false) => MetaStatus::Completed,
            };
            let mut unit = Object::from_iter([
                ("id", Value::from(id)),
                ("title", span.name.as_str().into()),
                ("intent", span.intent.as_deref().unwrap_or(&span.name).into()),
                ("action_ids", ids.into()),
                ("status", status.into()),
                ("source", MetaSource::IntentInferred.into()),
            ]);
            if let Some(parent) = tree.parent(span) {
                unit = unit.with("parent_id", parent);
            }
            // What an enclosing span used may contain what its members used, so it is not added to theirs.
            if span.usage.is_some() {
                unit = unit.with("execution", execution(span));
            }
            unit
        })
        .collect()
}
