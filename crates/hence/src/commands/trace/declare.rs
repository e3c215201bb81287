//! `hence trace residuals add` and `derive`: gaps that are declared afterwards, in a successor.

use hence_canon::Object;
use hence_review::model::{Residual, ResidualId};
use hence_review::residuals::{DeclareError, declare_derived, declare_residual};
use hence_review::wire::Trace;

use super::document::Document;
use super::edit;
use crate::args::{ResidualsAddArgs, ResidualsDeriveArgs};
use crate::prelude::*;

pub(super) fn add(context: &Context, args: &ResidualsAddArgs) -> Result<Exit, CliError> {
    let document = Document::of_file_or_run(context, &args.file)?;
    let id = args.residual_id.clone().unwrap_or_else(|| free_id(&document.trace()));
    let text = |words: &Option<String>| words.as_deref().map(Into::into);
    let residual = Residual {
        residual_id: ResidualId::new(id.as_str()),
        kind: args.kind,
        statement: args.statement.as_str().into(),
        severity: Some(args.severity),
        target: args.on.as_ref().map(|part| part.0.clone()),
        related_artifact_ids: Vec::new(),
        rationale: text(&args.rationale),
        suggested_check: text(&args.check),
        source: None,
        status: None,
        introduced_by_action_id: None,
        tags: Vec::new(),
        extra: Object::new(),
    };
    let changed = declare_residual(&document.value, &residual).map_err(refused)?;
    edit::write(context, &args.edit, &document.value, &changed, vec![id])
}

pub(super) fn derive(context: &Context, args: &ResidualsDeriveArgs) -> Result<Exit, CliError> {
    let document = Document::of_file_or_run(context, &args.file)?;
    let (changed, ids) = declare_derived(&document.value).map_err(refused)?;
    if ids.is_empty() {
        let message = format!("{}: every gap that follows from the trace is declared", &*args.file);
        return Err(CliError::new(Code::TraceUnchanged, message).with_hint(hint::LIST_GAPS));
    }
    edit::write(context, &args.edit, &document.value, &changed, ids)
}

fn free_id(trace: &Trace) -> String {
    let taken: Vec<String> =
        trace.residuals().filter_map(|residual| residual.id().map(str::to_owned)).collect();
    let mut number = 1_usize;
    while taken.contains(&format!("r{number}")) {
        number += 1;
    }
    format!("r{number}")
}

fn refused(error: DeclareError) -> CliError {
    let hint = match &error {
        DeclareError::NoPart { .. } => Some(hint::LIST_PARTS),
        DeclareError::Taken(_) => Some(hint::OTHER_RESIDUAL_ID),
        _ => None,
    };
    CliError::from_error(Code::TraceUnchanged, error).with_hint(hint)
}
