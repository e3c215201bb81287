//! Documents about a run and its children: the task tree, the trajectory, and the cost.
//!
//! Each is a view of journals. Times are the logical times of records; costs are exact decimals next to a number.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hence_canon::{Digest, Float, Object, Value};
use hence_cognition::budget::{Costs, Limits, UNREPORTED_KEY, Usage, costs_value};
use hence_journal::RecordIndex;
use hence_variables::Status;

use crate::fences;
use crate::progress::Progress;
use crate::record::{Block, BlockEnd, Entry, Operation};

/// The version of the documents.
const VERSION: &str = "1.0.0";

/// The part of a budget, in percent, from which on a report warns.
const WARN_PERCENT: u64 = 80;

/// A run with its children, as the documents describe it.
pub struct Task {
    /// The run's id.
    pub run: Arc<str>,
    /// The run.
    pub progress: Progress,
    /// The logical times of its records.
    pub times: BTreeMap<RecordIndex, Arc<str>>,
    /// The child runs, in the order of their calls.
    pub children: Vec<Task>,
}

impl Task {
    fn id(&self, prefix: &str) -> String {
        id_of(prefix, &self.run)
    }

    /// Returns the node id of the task.
    pub fn node_id(&self) -> String {
        self.id("task")
    }

    fn status(&self) -> &'static str {
        let variables = self.progress.variables();
        match variables.workspace().state(variables.state()).map(|state| state.status()) {
            Some(Status::Complete) => "completed",
            Some(Status::Error) => "failed",
            Some(Status::Cancelled) => "cancelled",
            _ => "running",
        }
    }

    /// Returns what the run itself used of each model, without its children. The model of its turns is always there.
    fn usage_by_model(&self) -> BTreeMap<Arc<str>, Usage> {
        let name = &self.progress.spec().model.name;
        let mut used = BTreeMap::from([(name.clone(), Usage::default())]);
        let mut add = |model: &Arc<str>, usage: &Usage| used.entry(model.clone()).or_default().add(usage);
        for (_, entry) in self.progress.path() {
            match &**entry {
                Entry::Turn(turn) => add(&turn.model, &turn.reply.usage),
                Entry::Compact(compact) => add(name, &compact.reply.usage),
                Entry::Call(call) if call.child.is_none() => add(&call.model, &call.used.calls),
                _ => {}
            }
        }
        used
    }

    /// Returns what the run itself used, without its children.
    fn own_usage(&self) -> Usage {
        let mut own = Usage::default();
        self.usage_by_model().values().for_each(|used| own.add(used));
        own
    }

    fn subtree_usage(&self) -> Usage {
        let mut sum = self.own_usage();
        self.children.iter().for_each(|child| sum.add(&child.subtree_usage()));
        sum
    }

    fn walk<'t>(&'t self, depth: u64, visit: &mut dyn FnMut(&'t Self, u64)) {
        visit(self, depth);
        self.children.iter().for_each(|child| child.walk(depth + 1, visit));
    }

    fn cached(&self) -> u64 {
        let is_cached = |entry: &Entry| matches!(entry, Entry::Call(call) if call.cached_from.is_some());
        self.progress.path().iter().filter(|(_, entry)| is_cached(entry)).count() as u64
    }
}

/// Returns the id that a run has in the documents.
fn id_of(prefix: &str, run: &str) -> String {
    let digest = Digest::of(format!("{prefix}\n{run}").as_bytes()).to_string();
    format!("{prefix}-{}", digest.chars().take(8).collect::<String>())
}

fn object(members: Vec<(&str, Value)>) -> Value {
    members.into_iter().collect::<Object>().into()
}

/// Returns an amount as a number, for readers that expect one. The exact amount is next to it.
fn number(costs: &Costs, currency: &str) -> Value {
    let amount = costs.get(currency).map(ToString::to_string).unwrap_or_else(|| "0".to_owned());
    amount.parse::<f64>().ok().and_then(|number| Float::new(number).ok()).map_or(Value::Null, Value::from)
}

fn cost(own: &Usage, subtree: &Usage, cached: u64) -> Value {
    object(vec![
        ("input_tokens", own.tokens_in.into()),
        ("output_tokens", own.tokens_out.into()),
        ("total_tokens", own.tokens().into()),
        ("total_cost_usd", number(&own.cost, "USD")),
        ("subtree_total_cost_usd", number(&subtree.cost, "USD")),
        ("exact", costs_value(&own.cost)),
        ("subtree_exact", costs_value(&subtree.cost)),
        ("cache_hits", cached.into()),
    ])
}

/// Returns the task tree of a run.
pub fn task_tree(root: &Task) -> Value {
    let (mut nodes, mut completed, mut failed, mut deepest) = (0_u64, 0_u64, 0_u64, 0);
    root.walk(0, &mut |task, depth| {
        nodes += 1;
        completed += u64::from(task.status() == "completed");
        failed += u64::from(task.status() == "failed");
        deepest = deepest.max(depth);
    });
    let used = root.subtree_usage();
    let metadata = object(vec![
        ("tree_id", tree_id(root).into()),
        ("root_prompt", root.progress.spec().question.clone().into()),
        ("max_depth", deepest.into()),
        ("total_nodes", nodes.into()),
        ("completed_nodes", completed.into()),
        ("failed_nodes", failed.into()),
        ("total_tokens", used.tokens().into()),
        ("total_cost_usd", number(&used.cost, "USD")),
        ("total_exact", costs_value(&used.cost)),
        ("session_id", root.run.clone().into()),
    ]);
    object(vec![("version", VERSION.into()), ("root_task", node(root, None, 0)), ("metadata", metadata)])
}

fn tree_id(root: &Task) -> String {
    let variables = root.progress.variables();
    let tree = variables.workspace().state(variables.state()).and_then(|state| state.tree());
    tree.map_or_else(|| root.id("tree"), |tree| tree.to_string())
}

fn node(task: &Task, parent: Option<&str>, depth: u64) -> Value {
    let (id, spec) = (task.node_id(), task.progress.spec());
    let children: Vec<Value> = task.children.iter().map(|child| node(child, Some(&id), depth + 1)).collect();
    let source = spec.contexts.first().map_or("none".to_owned(), |pin| match &*pin.path {
        "parent" => "parent_result".to_owned(),
        path => format!("file:{path}"),
    });
    let kind = if spec.contexts.is_empty() { "none" } else { "full" };
    let context = object(vec![("type", kind.into()), ("source", source.into())]);
    let mut members = vec![
        ("node_id", Value::from(id.clone())),
        ("parent_id", parent.map_or(Value::Null, Value::from)),
        ("depth", depth.into()),
        ("prompt", spec.question.clone().into()),
        ("status", task.status().into()),
        ("context", context),
        ("cost", cost(&task.own_usage(), &task.subtree_usage(), task.cached())),
        (
            "execution_config",
            object(vec![
                ("model", spec.model.name.clone().into()),
                ("max_tokens", spec.model.max_tokens.into()),
            ]),
        ),
        ("run", task.run.clone().into()),
        ("children", children.into()),
    ];
    members.extend(result(task).map(|result| ("result", result)));
    object(members)
}

fn result(task: &Task) -> Option<Value> {
    let model = ("metadata", object(vec![("model_used", task.progress.spec().model.name.clone().into())]));
    if let Some(answer) = task.progress.variables().answer() {
        let kind = if matches!(answer, Value::String(_)) { "text" } else { "json" };
        return Some(object(vec![
            ("status", "success".into()),
            ("output", answer),
            ("output_type", kind.into()),
            model,
        ]));
    }
    let end = task.progress.end()?;
    let (status, output) = match &end.partial {
        Some(partial) => ("partial", partial.clone().into()),
        None => ("failed", Value::Null),
    };
    let error = format!("limit {}: {}", end.exhausted.limit, end.exhausted.message);
    Some(object(vec![
        ("status", status.into()),
        ("output", output),
        ("output_type", "text".into()),
        ("errors", vec![Value::from(error)].into()),
        model,
    ]))
}

/// Returns the trajectory of one run: an iteration for each block, or for a turn without one.
pub fn trajectory(task: &Task) -> Value {
    let spec = task.progress.spec();
    let mut iterations: Vec<Value> = Vec::new();
    let mut prose = String::new();
    let mut ran = true;
    let time = |index: &RecordIndex| task.times.get(index).cloned().map_or(Value::Null, Value::from);
    let mut last = RecordIndex::HEADER;
    for (index, entry) in task.progress.path() {
        match &**entry {
            Entry::Turn(turn) => {
                if !ran {
                    iterations.push(silent(iterations.len(), &prose, time(&last)));
                }
                (prose, ran, last) =
                    (fences::parts(&turn.reply.text, fences::ReplyEnd::Whole).prose, false, *index);
            }
            Entry::Block(block) => {
                iterations.push(iteration(iterations.len(), &prose, block, time(index)));
                ran = true;
            }
            _ => {}
        }
    }
    if !ran {
        iterations.push(silent(iterations.len(), &prose, time(&last)));
    }
    let (status, reason) = match (task.progress.variables().answer(), task.progress.end()) {
        (Some(_), _) => ("success", "Final_set"),
        (None, Some(end)) => match &*end.exhausted.limit {
            "turns" | "tree_turns" => ("partial_success", "max_iterations"),
            "seconds" | "interpreter_seconds" => ("timeout", "timeout"),
            _ => ("failure", "error"),
        },
        (None, None) => ("cancelled", "user_cancel"),
    };
    let written = written_names(task);
    let outcome = object(vec![
        ("status", status.into()),
        ("completion_reason", reason.into()),
        ("iterations_to_completion", iterations.len().into()),
        ("variables_set", written.into_iter().map(Value::from).collect::<Vec<_>>().into()),
        ("subtasks_spawned", task.children.len().into()),
    ]);
    let variables = task.progress.variables();
    let mut about = vec![
        ("task_id", Value::from(task.node_id())),
        ("task_type", "solve".into()),
        ("task_prompt", spec.question.clone().into()),
        ("state_id", variables.state().to_string().into()),
        ("depth", spec.depth().into()),
    ];
    let tree = variables.workspace().state(variables.state()).and_then(|state| state.tree());
    about.extend(tree.map(|tree| ("tree_id", tree.to_string().into())));
    about.extend(spec.parent.as_ref().map(|parent| ("parent_task_id", id_of("task", &parent.run).into())));
    let mut members = vec![
        ("version", VERSION.into()),
        ("trajectory_id", task.id("traj").into()),
        ("task_context", object(about)),
        ("iterations", iterations.into()),
        ("metadata", object(vec![("run", task.run.clone().into()), ("clock", "logical".into())])),
    ];
    // A run that has not ended has no outcome, and none of the words of the format says so.
    members.extend((task.status() != "running").then_some(("outcome", outcome)));
    object(members)
}

/// Returns the names of the variables that the blocks of a run wrote.
fn written_names(task: &Task) -> BTreeSet<Arc<str>> {
    let written = task.progress.path().iter().filter_map(|(_, entry)| match &**entry {
        Entry::Block(block) => Some(&block.operations),
        _ => None,
    });
    let names = written.flatten().filter_map(|operation| match operation {
        Operation::Set { name, .. } => Some(name.clone()),
        _ => None,
    });
    // A form of another runtime sets the answer without a block.
    let answer = task.progress.variables().answer().map(|_| "Final".into());
    names.chain(answer).collect()
}

fn thought(prose: &str) -> Value {
    object(vec![("type", "reasoning".into()), ("content", prose.into())])
}

fn silent(count: usize, prose: &str, time: Value) -> Value {
    let action = object(vec![("tool", "none".into()), ("parameters", Object::new().into())]);
    let observation = object(vec![
        ("status", "failure".into()),
        ("result", "nothing ran".into()),
        ("result_type", "text".into()),
        ("error_details", "the reply has no code".into()),
    ]);
    numbered(count, time, prose, action, observation)
}

fn numbered(count: usize, time: Value, prose: &str, action: Value, observation: Value) -> Value {
    object(vec![
        ("number", (count + 1).into()),
        ("timestamp", time),
        ("thought", thought(prose)),
        ("action", action),
        ("observation", observation),
    ])
}

fn iteration(count: usize, prose: &str, block: &Block, time: Value) -> Value {
    let parameters = object(vec![("code", block.code.clone().into())]);
    let action = object(vec![("tool", "repl".into()), ("parameters", parameters)]);
    let (status, detail) = match &block.end {
        BlockEnd::Completed => ("success", None),
        BlockEnd::Raised(error) => ("error", Some(format!("{}: {}", error.kind, error.message))),
        BlockEnd::Stopped { limit } if &**limit == "time" => ("timeout", Some("limit of time".to_owned())),
        BlockEnd::Stopped { limit } => ("failure", Some(format!("limit of {limit}"))),
    };
    let mut members = vec![
        ("status", status.into()),
        ("result", block.printed.clone().into()),
        ("result_type", "text".into()),
    ];
    members.extend(detail.map(|detail| ("error_details", detail.into())));
    numbered(count, time, prose, action, object(members))
}

/// Returns the number of calls whose usage was not reported, if there are any: tokens and cost are upper bounds then.
fn unreported(used: &Usage) -> Option<(&'static str, Value)> {
    (used.unreported > 0).then(|| (UNREPORTED_KEY, used.unreported.into()))
}

/// Returns the record of what one run used of one model.
fn cost_record(task: &Task, model: &Arc<str>, used: &Usage) -> Value {
    let spec = task.progress.spec();
    let cached = task.progress.path().iter().filter(|(_, entry)| {
        matches!(&**entry, Entry::Call(call) if call.cached_from.is_some() && call.model == *model)
    });
    let mut members = vec![
        ("node_id", Value::from(task.node_id())),
        ("model", model.clone().into()),
        ("input_tokens", used.tokens_in.into()),
        ("output_tokens", used.tokens_out.into()),
        ("total_tokens", used.tokens().into()),
        ("total_cost_usd", number(&used.cost, "USD")),
        ("exact", costs_value(&used.cost)),
        ("cache_hits", cached.count().into()),
    ];
    let pins = [Some(&spec.model), spec.sub_model.as_ref()];
    let pin = pins.into_iter().flatten().find(|pin| pin.name == *model);
    let price = pin.and_then(|pin| pin.price.clone());
    members.extend(price.map(|price| ("pricing_per_million", price.into())));
    members.extend(unreported(used));
    object(members)
}

/// Returns the cost of a run and its children.
pub fn cost_report(root: &Task) -> Value {
    let mut records: Vec<Value> = Vec::new();
    let mut by_model: BTreeMap<Arc<str>, Usage> = BTreeMap::new();
    let mut by_depth: BTreeMap<u64, Usage> = BTreeMap::new();
    let (mut deepest, mut nodes) = (0, 0_u64);
    root.walk(0, &mut |task, depth| {
        for (model, used) in task.usage_by_model() {
            records.push(cost_record(task, &model, &used));
            by_model.entry(model).or_default().add(&used);
            by_depth.entry(depth).or_default().add(&used);
        }
        (deepest, nodes) = (deepest.max(depth), nodes + 1);
    });
    let all = root.subtree_usage();
    let usage = |used: &Usage| Value::from(used.value());
    let spec = root.progress.spec();
    let mut aggregates = vec![
        ("total_tokens", all.tokens().into()),
        ("total_cost_usd", number(&all.cost, "USD")),
        ("total_exact", costs_value(&all.cost)),
        ("node_count", nodes.into()),
        ("sub_call_count", nodes.saturating_sub(1).into()),
        ("depth_max", deepest.into()),
        ("root_model", spec.model.name.clone().into()),
        ("sub_model", spec.sub_model.as_ref().unwrap_or(&spec.model).name.clone().into()),
        (
            "by_model",
            by_model.iter().map(|(model, used)| (model.clone(), usage(used))).collect::<Object>().into(),
        ),
        (
            "by_depth",
            by_depth.iter().map(|(depth, used)| (depth.to_string(), usage(used))).collect::<Object>().into(),
        ),
    ];
    aggregates.extend(unreported(&all));
    let mut members = vec![
        ("version", VERSION.into()),
        ("tree_id", tree_id(root).into()),
        ("records", records.into()),
        ("aggregates", object(aggregates)),
    ];
    members.extend(budget(&spec.limits.calls, &all).map(|budget| ("budget", budget)));
    object(members)
}

/// Returns how much of the limits of tokens and dollars is used; `None` when there is neither. With both, the larger part counts.
fn budget(limits: &Limits, used: &Usage) -> Option<Value> {
    let (mut members, mut percent, mut is_over) = (Vec::new(), 0, false);
    if let Some(limit) = limits.tokens {
        let tokens = used.tokens();
        percent = tokens.saturating_mul(100).checked_div(limit).unwrap_or(100);
        is_over = tokens > limit;
        members.extend([
            ("budget_tokens", limit.into()),
            ("usage", tokens.into()),
            ("remaining", limit.saturating_sub(tokens).into()),
        ]);
    }
    if let Some(limit) = limits.cost.get("USD").copied() {
        let spent = used.cost.get("USD").copied().unwrap_or_default();
        let part = |percent: u64| limit.divided_by(100).times(percent).is_none_or(|part| spent >= part);
        percent = percent.max((0..=100).rev().find(|percent| part(*percent)).unwrap_or(0));
        is_over |= spent > limit;
        members.extend([
            ("budget_usd", number(&limits.cost, "USD")),
            ("budget_usd_exact", limit.to_string().into()),
            ("usage_usd_exact", spent.to_string().into()),
            ("remaining_usd_exact", limit.minus(spent).to_string().into()),
        ]);
    }
    if members.is_empty() {
        return None;
    }
    let status = match percent {
        _ if is_over => "exceeded",
        95.. => "critical",
        WARN_PERCENT.. => "warning",
        _ => "ok",
    };
    members.extend([
        ("warn_threshold_pct", WARN_PERCENT.into()),
        ("enforcement", "abort".into()),
        // The format has no number above 100; the raw numbers are next to it.
        ("usage_pct", percent.min(100).into()),
        ("status", status.into()),
    ]);
    Some(object(members))
}
