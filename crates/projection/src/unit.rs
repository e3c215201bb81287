//! Units of intent: what the plan declares, laid over the actions.

use hence_canon::Object;
use hence_review::model::{Action, ActionStep, ArtifactId, MetaAction, MetaActionId, Residual};
use hence_review::vocabulary::{MetaSource, MetaStatus, ResidualKind, ResidualSeverity};

use crate::source::Source;

/// Groups the actions into the segments of the plan and tells each action its unit.
///
/// Without a loop the whole plan is one unit. With one, each iteration is a unit, and so is what comes before and after.
pub(crate) fn units(source: &Source<'_>, actions: &mut [Action], gaps: &[Residual]) -> Vec<MetaAction> {
    let segment = source.loop_settings().map(|settings| settings.start_step.clone());
    let mut units: Vec<MetaAction> = Vec::new();
    let mut phase = Phase::Before;
    for action in actions.iter_mut() {
        if let (Some(start), Phase::Before) = (&segment, phase)
            && method(action) == Some(&**start)
        {
            phase = Phase::Iteration(1);
        }
        let id = phase.id(segment.is_some());
        action.common.meta_action_id = Some(MetaActionId::new(id.as_str()));
        let is_new = units.last().is_none_or(|unit| unit.id.as_str() != id);
        if is_new {
            units.push(unit(source, &id, phase));
        }
        if let Some(unit) = units.last_mut() {
            unit.action_ids.push(action.common.id);
            unit.produced_artifact_ids.extend(action.common.outputs.iter().cloned());
        }
        phase = phase.after(action);
    }
    for unit in &mut units {
        conclude(unit, gaps);
    }
    units
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Before,
    Iteration(u64),
    After,
}

impl Phase {
    fn id(self, has_loop: bool) -> String {
        match self {
            Self::Before if !has_loop => "plan".to_owned(),
            Self::Before => "before-loop".to_owned(),
            Self::Iteration(number) => format!("iteration-{number}"),
            Self::After => "after-loop".to_owned(),
        }
    }

    /// A decision ends an iteration: another follows, or what comes behind the loop.
    fn after(self, action: &Action) -> Self {
        match (self, &action.step) {
            (Self::Iteration(number), ActionStep::Gateway(_, gateway)) => {
                let repeats = gateway.options.first().is_some_and(|option| option.chosen);
                if repeats { Self::Iteration(number + 1) } else { Self::After }
            }
            (phase, _) => phase,
        }
    }
}

fn method(action: &Action) -> Option<&str> {
    action.common.execution.as_ref()?.method.as_deref()
}

fn unit(source: &Source<'_>, id: &str, phase: Phase) -> MetaAction {
    let (title, intent) = match (phase, source.loop_settings()) {
        (Phase::Iteration(number), Some(settings)) => (
            format!("Iteration {number} of {} … {}", settings.start_step, settings.end_step),
            "Repeat the segment until its condition is met".to_owned(),
        ),
        (Phase::After, _) => ("Conclude".to_owned(), "Turn what the loop gathered into an answer".to_owned()),
        (_, Some(_)) => {
            ("Prepare".to_owned(), "Bring the problem into the form the loop works on".to_owned())
        }
        (_, None) => (
            format!("Run the plan of policy {}", source.policy()),
            "Answer the problem by the steps of its policy".to_owned(),
        ),
    };
    MetaAction {
        id: MetaActionId::new(id),
        title: title.into(),
        intent: Some(intent.into()),
        action_ids: Vec::new(),
        outcome: None,
        status: None,
        source: Some(MetaSource::PlanDeclared),
        parent_id: None,
        produced_artifact_ids: Vec::<ArtifactId>::new(),
        residual_ids: Vec::new(),
        tags: Vec::new(),
        extra: Object::new(),
    }
}

/// Attaches the gaps its actions introduced, and says how the unit ended.
fn conclude(unit: &mut MetaAction, gaps: &[Residual]) {
    let introduced: Vec<&Residual> = gaps
        .iter()
        .filter(|gap| gap.introduced_by_action_id.is_some_and(|id| unit.action_ids.contains(&id)))
        .collect();
    let broke = introduced
        .iter()
        .any(|gap| gap.kind == ResidualKind::Limitation && gap.severity >= Some(ResidualSeverity::High));
    unit.residual_ids = introduced.iter().map(|gap| gap.residual_id.clone()).collect();
    unit.status = Some(if broke { MetaStatus::Partial } else { MetaStatus::Completed });
    let made = unit.produced_artifact_ids.len();
    unit.outcome = Some(format!("{} actions, {made} artifacts", unit.action_ids.len()).into());
}
