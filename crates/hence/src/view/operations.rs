//! The table of operations: paths, parameters, schemas, and the views that answer.

use std::sync::Arc;

use hence_server::limits::{ITEMS_MAX, RAW_BYTES_MAX};
use hence_server::{BodyOf, Call, Method, Operation, Parameter, ParameterKind, Reply, ReplyKind, Role};
use schemars::{Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

use super::Views;
use super::cards::{ORDERS, RunFilter};
use super::error::{api_error, refusal};
use super::gaps::GapFilter;
use super::lineage::{DIRECTIONS, NODES_DEFAULT, NODES_MAX, around, lineage};
use super::opened::Opened;
use super::projected::{Subject, actions, artifacts, story};
use super::raw::Range;
use super::review::{NewEntry, NewReview};
use super::spans::{BUCKETS_DEFAULT, BUCKETS_MAX, spans_of_trace};
use super::waiting::NewAnswer;
use crate::prelude::*;

const fn text(name: &'static str, about: &'static str) -> Parameter {
    Parameter::new(name, ParameterKind::Text, about)
}

const fn count(name: &'static str, about: &'static str) -> Parameter {
    Parameter::new(name, ParameterKind::Count(u64::MAX >> 11), about)
}

const fn flag(name: &'static str, about: &'static str) -> Parameter {
    Parameter::new(name, ParameterKind::Flag, about)
}

const fn texts(name: &'static str, about: &'static str) -> Parameter {
    Parameter::new(name, ParameterKind::Texts, about)
}

const FROM: Parameter = count("from", "The place of the first item.");
const LIMIT: Parameter =
    Parameter::new("limit", ParameterKind::Size(ITEMS_MAX), "The most items; 100 without it.");
const OFFSET: Parameter = count("offset", "The first byte.");
const BYTES: Parameter =
    Parameter::new("bytes", ParameterKind::Size(RAW_BYTES_MAX), "The most bytes; 262144 without it.");
const REVIEW: Parameter = text("review", "The review's id; without it the one that has the run's id.");

pub(super) fn schema<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Schema {
    schemas.subschema_for::<T>()
}

/// An answer, with the head of the run that it is about.
type Answered<T> = Result<(T, Option<String>), CliError>;

fn json<T: Serialize>(answered: Answered<T>) -> Result<Reply, hence_server::ApiError> {
    let (report, head) = answered.map_err(|error| api_error(&error))?;
    let text = serde_json::to_vec(&report).map_err(|error| {
        api_error(&CliError::new(Code::Stopped, format!("the response cannot be written: {error}")))
    })?;
    Ok(Reply::Json { text, head })
}

struct Table {
    views: Arc<Views>,
    operations: Vec<Operation>,
}

impl Table {
    fn get<T: Serialize + JsonSchema + 'static>(
        &mut self,
        path: &'static str,
        summary: &'static str,
        parameters: &[Parameter],
        answer: impl Fn(&Arc<Views>, &Call) -> Answered<T> + Send + Sync + 'static,
    ) {
        let views = self.views.clone();
        self.operations.push(Operation {
            method: Method::Get,
            path,
            summary,
            role: Role::Read,
            parameters: parameters.to_vec(),
            body: BodyOf::Nothing,
            reply: ReplyKind::Json(schema::<T>),
            answer: Arc::new(move |call| json(answer(&views, call))),
        });
    }

    /// Adds an operation about a run of the store.
    fn run<T: Serialize + JsonSchema + 'static>(
        &mut self,
        path: &'static str,
        summary: &'static str,
        parameters: &[Parameter],
        answer: impl Fn(&Arc<Views>, &Opened, &Call) -> Result<T, CliError> + Send + Sync + 'static,
    ) {
        self.get(path, summary, parameters, move |views, call| {
            let run = views.run(call.segment("run"))?;
            Ok((answer(views, &run, call)?, run.head()))
        });
    }

    /// Adds an operation about a run or a trace.
    fn subject<T: Serialize + JsonSchema + 'static>(
        &mut self,
        path: &'static str,
        summary: &'static str,
        parameters: &[Parameter],
        answer: impl Fn(&Arc<Views>, &Subject, &Call) -> Result<T, CliError> + Send + Sync + 'static,
    ) {
        self.get(path, summary, parameters, move |views, call| {
            let subject = views.subject(call.segment("run"))?;
            Ok((answer(views, &subject, call)?, subject.head()))
        });
    }

    fn raw(
        &mut self,
        path: &'static str,
        summary: &'static str,
        parameters: &[Parameter],
        answer: impl Fn(&Arc<Views>, &Call) -> Result<Reply, CliError> + Send + Sync + 'static,
    ) {
        let views = self.views.clone();
        self.operations.push(Operation {
            method: Method::Get,
            path,
            summary,
            role: Role::Read,
            parameters: parameters.to_vec(),
            body: BodyOf::Nothing,
            reply: ReplyKind::Bytes,
            answer: Arc::new(move |call| answer(&views, call).map_err(|error| api_error(&error))),
        });
    }

    fn events(
        &mut self,
        path: &'static str,
        summary: &'static str,
        parameters: &[Parameter],
        answer: impl Fn(&Arc<Views>, &Call) -> Result<Reply, CliError> + Send + Sync + 'static,
    ) {
        self.raw(path, summary, parameters, answer);
        if let Some(added) = self.operations.last_mut() {
            added.reply = ReplyKind::Events;
        }
    }

    /// Adds an operation that changes something, under the name of whoever asks.
    fn post<B: DeserializeOwned + JsonSchema + 'static, T: Serialize + JsonSchema + 'static>(
        &mut self,
        path: &'static str,
        summary: &'static str,
        role: Role,
        answer: impl Fn(&Arc<Views>, &Opened, &B, &str, &Call) -> Result<T, CliError> + Send + Sync + 'static,
    ) {
        let views = self.views.clone();
        let parameters = if role == Role::Review { vec![REVIEW] } else { Vec::new() };
        self.operations.push(Operation {
            method: Method::Post,
            path,
            summary,
            role,
            parameters,
            body: BodyOf::Json(schema::<B>),
            reply: ReplyKind::Json(schema::<T>),
            answer: Arc::new(move |call| {
                let body: B = call.read_body().map_err(|wrong| refusal(&wrong))?;
                let who = call.who().map_or("", |who| who.name());
                let answered = views
                    .run(call.segment("run"))
                    .and_then(|run| Ok((answer(&views, &run, &body, who, call)?, None)));
                json(answered)
            }),
        });
    }
}

/// Returns all operations.
pub(super) fn operations(views: Arc<Views>) -> Vec<Operation> {
    let mut table = Table { views, operations: Vec::new() };
    add_runs(&mut table);
    add_records(&mut table);
    add_state(&mut table);
    add_trace(&mut table);
    add_people(&mut table);
    add_bytes(&mut table);
    table.operations
}

fn add_runs(table: &mut Table) {
    let filters = [
        text("search", "Words in the id, the question or the skill."),
        texts("status", "A status; may be repeated."),
        texts("kind", "A kind; may be repeated."),
        texts("skill", "A skill; may be repeated."),
        flag("waiting", "Only runs that wait for somebody."),
        flag("failed_policy", "Only runs with a policy that failed."),
        flag("gaps", "Only runs with open gaps."),
        text("parent", "Only children, forks and retries of this run."),
        Parameter::new("sort", ParameterKind::Word(ORDERS), "The order."),
        FROM,
        LIMIT,
    ];
    table.get("/runs", "List the runs of the store.", &filters, |views, call| {
        let all = |name: &'static str| call.texts(name).map(str::to_owned).collect();
        let filter = RunFilter {
            search: call.text("search").unwrap_or_default().to_owned(),
            status: all("status"),
            kind: all("kind"),
            skill: all("skill"),
            waiting: call.is_set("waiting"),
            failed_policy: call.is_set("failed_policy"),
            gaps: call.is_set("gaps"),
            parent: call.text("parent").map(str::to_owned),
            order: call.text("sort").unwrap_or("created").to_owned(),
        };
        Ok((views.runs(&filter, call.window())?, None))
    });
    let brief = flag("brief", "Leave out answer, times, usage, standing, checkpoints and linked runs.");
    table.subject("/runs/{run}", "Show a run at a glance.", &[brief], |views, subject, call| {
        views.run_report(subject, call.is_set("brief"))
    });
    let replay = flag("replay", "Execute the run again, without its commands and services.");
    table.subject(
        "/runs/{run}/verdict",
        "Judge a run: integrity, replay, policies, gaps, review.",
        &[replay],
        |views, subject, call| views.remembered_verdict(subject, call.is_set("replay")),
    );
    let sides = [text("left", "The first run."), text("right", "The second run."), FROM, LIMIT];
    table.get("/compare", "Compare two runs.", &sides, |views, call| {
        let side = |name: &str| {
            call.text(name)
                .ok_or_else(|| super::error::bad_request(format!("`{name}` names a run, and is missing")))
        };
        Ok((views.compare(side("left")?, side("right")?, call.window())?, None))
    });
    table.events("/events", "Watch the store.", &[], |views, _| views.store_events());
    let after = count("after", "The last record that is known.");
    table.events("/runs/{run}/events", "Watch a run.", &[after], |views, call| views.run_events(call));
}

fn add_records(table: &mut Table) {
    let lines = flag("lines", "Give the lines as text.");
    table.run("/runs/{run}/records", "List records.", &[FROM, LIMIT, lines], |views, run, call| {
        views.records(run, call.window(), call.is_set("lines"))
    });
    table.run("/runs/{run}/records/{index}", "Show one record.", &[], |views, run, call| {
        views.record(run, views.place_of(run, call.segment("index"))?)
    });
    let wanted = text("text", "The text.");
    table.run(
        "/runs/{run}/search",
        "Find a text in the records.",
        &[wanted, FROM, LIMIT],
        |views, run, call| views.search(run, call.text("text").unwrap_or_default(), call.window()),
    );
    table.subject(
        "/runs/{run}/spans",
        "Show the timeline of some records.",
        &[FROM, LIMIT],
        |views, subject, call| match subject {
            Subject::Run(run) => views.spans(run, call.window()),
            Subject::Trace(trace) => Ok(spans_of_trace(trace, call.window())),
        },
    );
    let buckets =
        Parameter::new("buckets", ParameterKind::Size(BUCKETS_MAX), "The most buckets; 500 without it.");
    table.run(
        "/runs/{run}/spans/overview",
        "Show the whole timeline in buckets.",
        &[buckets],
        |views, run, call| views.overview(run, call.count("buckets").unwrap_or(BUCKETS_DEFAULT)),
    );
    let capability = text("capability", "Only calls of this capability.");
    table.run("/runs/{run}/calls", "List calls.", &[capability, FROM, LIMIT], |views, run, call| {
        views.calls(run, call.text("capability"), call.window())
    });
    table.run("/runs/{run}/calls/{index}", "Show the calls of one record.", &[], |views, run, call| {
        views.call(run, views.place_of(run, call.segment("index"))?)
    });
}

fn add_state(table: &mut Table) {
    let at = count("at", "The record after which the state is; the last one without it.");
    let pointer = text("pointer", "A JSON pointer into the state.");
    table.run(
        "/runs/{run}/state",
        "Show a part of a state.",
        &[at, pointer, FROM, LIMIT],
        |views, run, call| {
            views.state(run, call.count("at"), call.text("pointer").unwrap_or_default(), call.window())
        },
    );
    let after = count("after", "The record after which the first state is; the one before `at` without it.");
    table.run(
        "/runs/{run}/state/changes",
        "Compare two states.",
        &[after, at, FROM, LIMIT],
        |views, run, call| views.state_changes(run, call.count("after"), call.count("at"), call.window()),
    );
    table.run(
        "/runs/{run}/state/values",
        "Show the values of a place over time.",
        &[pointer, FROM, LIMIT],
        |views, run, call| views.state_values(run, call.text("pointer").unwrap_or_default(), call.window()),
    );
    table.run(
        "/runs/{run}/state/patches",
        "Show what each record changed.",
        &[FROM, LIMIT],
        |views, run, call| views.state_patches(run, call.window()),
    );
}

fn add_trace(table: &mut Table) {
    table.subject("/runs/{run}/story", "Show the story.", &[FROM, LIMIT], |views, subject, call| {
        Ok(story(&*views.trace_of(subject)?, call.window()))
    });
    let (unit, kind) =
        (text("unit", "Only actions of this unit."), text("type", "Only actions of this type."));
    table.subject(
        "/runs/{run}/actions",
        "List actions.",
        &[unit, kind, FROM, LIMIT],
        |views, subject, call| {
            let trace = views.trace_of(subject)?;
            Ok(actions(&trace, call.window(), call.text("unit"), call.text("type")))
        },
    );
    table.subject("/runs/{run}/artifacts", "List artifacts.", &[FROM, LIMIT], |views, subject, call| {
        Ok(artifacts(&*views.trace_of(subject)?, call.window()))
    });
    let parameters = [
        text("node", "`action:ID` or `artifact:ID`."),
        Parameter::new("direction", ParameterKind::Word(DIRECTIONS), "Where to look from the node."),
        count("depth", "The most edges away from the node."),
        FROM,
        Parameter::new("limit", ParameterKind::Size(NODES_MAX), "The most nodes; 300 without it."),
    ];
    table.subject("/runs/{run}/lineage", "Show the lineage.", &parameters, |views, subject, call| {
        let around = around(call.text("node"), call.text("direction"), call.count("depth"))?;
        let window = call.window_of(NODES_DEFAULT, NODES_MAX);
        lineage(&*views.trace_of(subject)?, window, around.as_ref())
    });
    let filters = [
        text("kind", "Only gaps of this kind."),
        text("severity", "Only gaps of this severity."),
        text("status", "Only gaps of this status."),
        FROM,
        LIMIT,
    ];
    table.subject("/runs/{run}/gaps", "List gaps.", &filters, |views, subject, call| {
        let filter = GapFilter {
            kind: call.text("kind"),
            severity: call.text("severity"),
            status: call.text("status"),
        };
        views.gaps(subject, &filter, call.window())
    });
    table.subject(
        "/runs/{run}/policies",
        "List policies with their verdicts.",
        &[FROM, LIMIT],
        |views, subject, call| views.policies(call.segment("run"), subject, call.window()),
    );
    table.raw("/runs/{run}/trace", "Get the review trace as a file.", &[], |views, call| {
        views.trace(call.segment("run"), &views.subject(call.segment("run"))?)
    });
}

fn add_people(table: &mut Table) {
    table.run("/runs/{run}/review", "Show the review of a run.", &[REVIEW], |views, run, call| {
        views.review(run, call.text("review"))
    });
    table.run("/runs/{run}/review/handoff", "Show the reviewer's packet.", &[REVIEW], |views, run, call| {
        views.handoff(run, call.text("review"))
    });
    table.post("/runs/{run}/review", "Open a review.", Role::Review, |views, run, _: &NewReview, who, _| {
        views.open_review(run, who)
    });
    table.post(
        "/runs/{run}/review/entries",
        "Add an entry to a review.",
        Role::Review,
        |views, run, entry: &NewEntry, who, call| views.add_entry(run, call.text("review"), entry, who),
    );
    table.get(
        "/waiting",
        "List what waits for a person.",
        &[text("run", "Only this run."), FROM, LIMIT],
        |views, call| Ok((views.waiting(call.who(), call.text("run"), call.window())?, None)),
    );
    table.post(
        "/runs/{run}/answers",
        "Answer a question.",
        Role::Answer,
        |views, run, answer: &NewAnswer, who, _| views.answer(run, answer, who),
    );
}

fn add_bytes(table: &mut Table) {
    let range = |call: &Call| Range::new(call.count("offset"), call.count("bytes"));
    table.raw("/runs/{run}/records/{index}/raw", "Get the bytes of a record.", &[], |views, call| {
        let run = views.run(call.segment("run"))?;
        views.raw_record(&run, views.place_of(&run, call.segment("index"))?)
    });
    table.raw("/runs/{run}/journal", "Get bytes of the journal.", &[OFFSET, BYTES], move |views, call| {
        views.journal(&views.run(call.segment("run"))?, range(call))
    });
    table.run("/runs/{run}/documents", "List the documents next to the journal.", &[], |views, run, _| {
        views.documents(run)
    });
    table.raw(
        "/runs/{run}/documents/{name}",
        "Get bytes of a document.",
        &[OFFSET, BYTES],
        move |views, call| {
            views.document(&views.run(call.segment("run"))?, call.segment("name"), range(call))
        },
    );
    table.raw("/blobs/{sha256}", "Get bytes of a large value.", &[OFFSET, BYTES], move |views, call| {
        views.blob(call.segment("sha256"), range(call))
    });
}
