//! Helpers: a world with the worker, and policies that answer like a model that was taught the loop.

use hence_testkit::cli::World;
use hence_testkit::model_server::{Asked, ModelServer, Said};
use hence_testkit::providers::Voice;
use serde_json::Value;

/// Returns the worker program; `None`, and says so, when it is not installed.
pub(crate) fn worker() -> Option<String> {
    let found = std::env::var("HENCE_MONTY").ok().filter(|path| std::path::Path::new(path).is_file());
    if found.is_none() {
        println!("skipped: HENCE_MONTY does not name the worker");
    }
    found
}

/// A world in which `hence solve` can run.
pub(crate) fn world() -> Option<World> {
    Some(World::new().env("HENCE_MONTY", &worker()?))
}

/// Returns the turn that is asked for, from 1; `None` for a sub-call.
pub(crate) fn turn(asked: &Asked) -> Option<usize> {
    let is_turn = !asked.system.is_empty();
    is_turn.then(|| asked.messages.iter().filter(|(role, _)| role == "assistant").count() + 1)
}

/// Starts a server that answers turn n with text n and sub-calls by a function.
pub(crate) fn server(
    turns: &'static [&'static str],
    sub: impl Fn(&str) -> String + Send + Sync + 'static,
) -> ModelServer {
    ModelServer::answering(move |asked| match turn(asked) {
        Some(turn) => Said::Text((*turns.get(turn - 1).unwrap_or(&"I do not know.")).to_owned()),
        None => Said::Text(sub(asked.last())),
    })
}

/// Returns the arguments of a run with a fixed id and time.
pub(crate) fn arguments<'a>(question: &'a str, context: &'a [&'a str], model: &'a str) -> Vec<&'a str> {
    let mut arguments =
        vec!["solve", question, "--model", model, "--run-id", "r", "--now", "2026-02-02T00:00:00Z"];
    for context in context {
        arguments.extend(["--context", context]);
    }
    arguments
}

pub(crate) fn json(world: &World, arguments: &[&str]) -> Value {
    let answer = world.ask(&[arguments, &["--json"]].concat());
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{} {}", answer.code, answer.stderr))
}

pub(crate) fn model(server: &ModelServer) -> String {
    server.model(Voice::OpenAi, "m")
}
