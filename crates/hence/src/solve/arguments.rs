//! The specification of a new run, from the command line.

use std::sync::Arc;

use hence_canon::{Digest, Float, Object, Value};
use hence_sandbox::Limits as BlockLimits;
use hence_solve::{DEPTH_MAX, InterpreterPin, Rules, SYSTEM_PROMPT, SolveLimits, Spec};
use hence_store::StoreHandle;

use super::tools::Interpreters;
use super::{contexts, models};
use crate::args::solve::{BudgetArgs, ModelArgs, SolveArgs};
use crate::input;
use crate::prelude::{CliError, Code};

/// The most bytes of a system prompt.
const SYSTEM_BYTES_MAX: usize = 1024 * 1024;

/// A new run: what its problem pins, and its system prompt.
pub(crate) struct NewSolve {
    pub(crate) spec: Spec,
    pub(crate) system: Arc<str>,
}

/// Reads everything that the arguments name.
pub(crate) fn new_spec(
    args: &SolveArgs,
    store: &StoreHandle,
    interpreters: &Interpreters,
) -> Result<NewSolve, CliError> {
    let system: Arc<str> = match &args.system {
        None => SYSTEM_PROMPT.into(),
        Some(path) => {
            let bytes = input::read_file(path)?;
            let text = String::from_utf8(bytes).ok().filter(|text| text.len() <= SYSTEM_BYTES_MAX);
            let place = path.display();
            text.map(Arc::from).ok_or_else(|| {
                CliError::new(
                    Code::Argument,
                    format!("{place}: expected a text of at most {SYSTEM_BYTES_MAX} bytes"),
                )
            })?
        }
    };
    let (parameters, price) = (parameters(&args.models)?, price(&args.models)?);
    let pin = |name: &str| models::pin(name, &parameters, price.as_ref());
    let model = pin(&args.model)?;
    let sub_model = args.sub_model.as_deref().map(pin).transpose()?;
    let limits = limits(args)?;
    let worker = interpreters.program().map_err(|reason| CliError::new(Code::Worker, reason))?;
    let identity = hence_sandbox::Identity {
        name: hence_sandbox::Monty::NAME,
        version: worker.version,
        protocol: hence_sandbox::Monty::PROTOCOL,
    };
    let interpreter = InterpreterPin::of(&identity, block_limits(&args.budget));
    let contexts = args.context.iter().map(|named| contexts::pin(named, store)).collect::<Result<_, _>>()?;
    let spec = Spec {
        question: args.question.as_str().into(),
        model,
        sub_model,
        system: Digest::of(system.as_bytes()),
        interpreter,
        contexts,
        limits,
        window_tokens: args.models.window,
        forms: args.answer_forms,
        recovery: args.recovery,
        parent: None,
        rules: Rules::Second,
    };
    models::require_keys(&spec)?;
    Ok(NewSolve { spec, system })
}

fn parameters(args: &ModelArgs) -> Result<Object, CliError> {
    let mut members = vec![("max_tokens", Value::from(args.reply_tokens))];
    if let Some(temperature) = args.temperature {
        let number = Float::new(temperature)
            .map_err(|_| CliError::new(Code::Argument, "--temperature: expected a finite number"))?;
        members.push(("temperature", number.into()));
    }
    members.extend(args.seed.map(|seed| ("seed", seed.into())));
    Ok(members.into_iter().collect())
}

fn price(args: &ModelArgs) -> Result<Option<Object>, CliError> {
    let Some(text) = &args.price else { return Ok(None) };
    let parts: Vec<&str> = text.split(':').collect();
    match parts.as_slice() {
        [currency, input, output] if !currency.is_empty() => {
            Ok(Some([("currency", *currency), ("input", *input), ("output", *output)].into_iter().collect()))
        }
        _ => Err(CliError::new(Code::Argument, "--price: expected CURRENCY:IN:OUT, as USD:2.50:10")),
    }
}

fn limits(args: &SolveArgs) -> Result<SolveLimits, CliError> {
    let (budget, default) = (&args.budget, SolveLimits::default());
    let depth = budget.max_depth.unwrap_or(default.depth);
    if depth > DEPTH_MAX {
        let message = format!("--max-depth: expected at most {DEPTH_MAX} levels, found {depth}");
        return Err(CliError::new(Code::Argument, message));
    }
    Ok(SolveLimits {
        turns: budget.max_turns.unwrap_or(default.turns),
        tree_turns: budget.max_tree_turns.unwrap_or(default.tree_turns),
        depth,
        sub_calls: budget.max_sub_calls.unwrap_or(default.sub_calls),
        bytes: budget.max_bytes.unwrap_or(default.bytes),
        interpreter_seconds: budget.max_interpreter_seconds.unwrap_or(default.interpreter_seconds),
        calls: args.limits.limits(),
    })
}

fn block_limits(args: &BudgetArgs) -> BlockLimits {
    let default = BlockLimits::default();
    BlockLimits {
        block_milliseconds: args.block_milliseconds.unwrap_or(default.block_milliseconds),
        memory_bytes: args.block_memory.unwrap_or(default.memory_bytes),
        output_bytes: args.block_output.unwrap_or(default.output_bytes),
        ..default
    }
}
