//! Planning: checks a request and decides everything before anything runs.

use std::sync::Arc;

use hence_canon::Int;
use hence_journal::Sealed;
use hence_state::{
    Clock, ClockRule, Finding, Findings, LoopSettings, MaxSteps, ProblemSpec, Profile, Stage, StepsRule,
    Timestamp, Typing,
};

use crate::book::{Book, BookError, BookStart};
use crate::bound::{Purpose, bind};
use crate::policies::{DEFAULT_POLICY, Policies};
use crate::request::{Request, args_finding};
use crate::{Callees, Engine, Model, RunKind, Step, variables, work};

/// A checked request: the problem, its steps and its clock.
#[derive(Clone)]
pub struct Plan {
    pub(crate) problem: Arc<ProblemSpec>,
    pub(crate) profile: Profile,
    pub(crate) trace_id: Arc<str>,
    pub(crate) engine_version: Arc<str>,
    pub(crate) clock: Clock,
    pub(crate) steps: Vec<Arc<dyn Step>>,
    pub(crate) model: Option<Arc<dyn Model>>,
    pub(crate) callees: Option<Arc<dyn Callees>>,
}

impl Plan {
    /// Returns the problem.
    pub fn problem(&self) -> &Arc<ProblemSpec> {
        &self.problem
    }

    /// Returns the run's id.
    pub fn trace_id(&self) -> &Arc<str> {
        &self.trace_id
    }

    /// Returns the profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    pub(crate) fn loop_settings(&self) -> Option<&LoopSettings> {
        self.problem.settings().loop_settings.as_ref()
    }

    /// Creates the book of a run of this plan, and its header.
    pub(crate) fn book<'g>(&self) -> Result<(Book<'g>, Sealed), BookError> {
        Book::open(BookStart {
            problem: self.problem.clone(),
            trace_id: self.trace_id.clone(),
            engine_version: self.engine_version.clone(),
            profile: self.profile,
            clock: self.clock.clone(),
        })
    }

    pub(crate) fn find_step(&self, name: &str) -> Option<&Arc<dyn Step>> {
        self.steps.iter().find(|step| step.name() == name)
    }
}

/// Plans a request: every rule is checked, every finding is reported, in the order of the stages.
pub(crate) fn plan(engine: &Engine, request: &Request, purpose: Purpose) -> Result<Plan, Findings> {
    let plan = check(request, engine.model.as_ref(), |problem| {
        let steps = route(&engine.policies, problem).map_err(|finding| vec![finding])?;
        let bound = bind(&steps, problem.settings(), engine.callees.as_ref(), purpose);
        // A recorded problem was accepted when its run began; what it needs may be missing where it is read.
        if request.profile.steps == StepsRule::Counted || purpose != Purpose::Running {
            return bound;
        }
        let found = work::findings(problem, engine.callees.as_deref());
        match (bound, found.is_empty()) {
            (bound, true) => bound,
            (Ok(_), false) => Err(found),
            (Err(refused), false) => Err(refused.into_iter().chain(found).collect()),
        }
    })?;
    Ok(Plan { callees: engine.callees.clone(), ..plan })
}

/// Plans a run of variables: the same checks, but no steps.
pub(crate) fn plan_variables(request: &Request) -> Result<Plan, Findings> {
    if !request.profile.name.is_strict() {
        return Err(Findings::one(args_finding("profile", "an interactive run follows the strict profile")));
    }
    check(request, None, |problem| {
        variables::check_pin(problem).map(|()| Vec::new()).map_err(|finding| vec![finding])
    })
}

fn check(
    request: &Request,
    model: Option<&Arc<dyn Model>>,
    route: impl FnOnce(&ProblemSpec) -> Result<Vec<Arc<dyn Step>>, Vec<Finding>>,
) -> Result<Plan, Findings> {
    let profile = request.profile;
    let mut findings = Vec::new();
    let problem = match ProblemSpec::decode_lenient(&request.problem, &profile) {
        Ok(problem) => Some(problem),
        Err(found) => {
            findings.extend(found.iter().cloned());
            None
        }
    };
    let engine_version = keep(request.checked_engine_version(), &mut findings);
    let now = keep(request.checked_now(), &mut findings);
    let steps =
        problem.as_ref().and_then(|problem| route(problem).map_err(|found| findings.extend(found)).ok());
    if let (Some(problem), Some(steps)) = (&problem, &steps) {
        findings.extend(budget(problem, steps));
        // Steps that work a problem out write the answer from the conclusions; a model carries out steps as a capability.
        let is_usable = model.is_some() && profile.steps == StepsRule::Counted;
        if profile.typing == Typing::Strict && problem.settings().model.is_some() && !is_usable {
            findings.push(no_model(profile.steps));
        }
    }
    let clock = match (&problem, now) {
        (Some(problem), Some(now)) => keep(clock(request, problem, now), &mut findings),
        _ => None,
    };
    if let (Some(clock), Some(steps)) = (&clock, &steps) {
        findings.extend(time_left(clock, steps.len() as u64));
    }
    // Findings are sorted by stage; within a stage they keep the order in which they were found.
    findings.sort_by_key(|finding| finding.rule.stage);
    match (Findings::some(findings), problem, steps, clock, engine_version) {
        (None, Some(problem), Some(steps), Some(clock), Some(engine_version)) => Ok(Plan {
            trace_id: trace_id(request, &problem),
            problem: Arc::new(problem),
            profile,
            engine_version: engine_version.into(),
            clock,
            steps,
            model: model.cloned(),
            callees: None,
        }),
        (Some(findings), ..) => Err(findings),
        (None, ..) => Err(Findings::one(args_finding("request", "a part of the request could not be read"))),
    }
}

fn keep<T>(read: Result<T, Finding>, findings: &mut Vec<Finding>) -> Option<T> {
    match read {
        Ok(value) => Some(value),
        Err(finding) => {
            findings.push(finding);
            None
        }
    }
}

fn trace_id(request: &Request, problem: &ProblemSpec) -> Arc<str> {
    match request.trace_id.as_deref().filter(|id| !id.is_empty()) {
        Some(id) => id.into(),
        None => problem.id().clone(),
    }
}

fn clock(request: &Request, problem: &ProblemSpec, now: Option<Timestamp>) -> Result<Clock, Finding> {
    let start = now.unwrap_or_else(|| problem.created_at().clone());
    match (request.profile.clock, &request.times) {
        (ClockRule::Frozen, None) => Ok(Clock::frozen(start)),
        (ClockRule::Frozen, Some(_)) => {
            Err(args_finding("times", "the compat profile knows one time, a list was given"))
        }
        (ClockRule::Moving, None) => Ok(Clock::ticking(start)),
        (ClockRule::Moving, Some(times)) => {
            Clock::given(times.clone()).map_err(|error| args_finding("times", error.to_string()))
        }
    }
}

fn finding(stage: Stage, path: &[&str], message: String) -> Finding {
    hence_state::finding(stage, path.iter().collect(), message)
}

/// Makes a finding about the program that a problem asks for.
pub(crate) fn policy_finding(path: &[&str], message: String) -> Finding {
    finding(Stage::Policy, path, message)
}

fn no_model(steps: StepsRule) -> Finding {
    let message = match steps {
        StepsRule::Counted => "the problem asks for a language model and none is configured",
        StepsRule::Worked => "name the model under `settings.model` instead, as `openai:NAME`",
    };
    finding(Stage::Args, &["settings", "structured_generation"], message.to_owned())
}

/// Checks that the clock reaches the end of the shortest path through the plan.
fn time_left(clock: &Clock, steps: u64) -> Option<Finding> {
    clock.at(steps + 1).err().map(|error| args_finding("now", error.to_string()))
}

/// Finds the policy's steps and checks the loop against them.
fn route(policies: &Policies, problem: &ProblemSpec) -> Result<Vec<Arc<dyn Step>>, Finding> {
    let expected = match RunKind::of(problem.canonical().value()) {
        RunKind::Reason => None,
        RunKind::Variables | RunKind::Trace => {
            Some("expected a program with steps of its own, found one that is driven from outside")
        }
        RunKind::Skill => {
            Some("expected a policy of this engine, found a skill that is pinned by its digest")
        }
        RunKind::Solve => Some("expected a policy of this engine, found a run of `hence solve`"),
    };
    if let Some(message) = expected {
        return Err(policy_finding(&["settings", "skill"], message.to_owned()));
    }
    let name = problem.settings().policy_profile.as_deref().unwrap_or(DEFAULT_POLICY);
    let steps = policies.policy(name).ok_or_else(|| {
        let known: Vec<&str> = policies.policy_names().collect();
        let message = format!("expected one of the policies {}, found {name:?}", known.join(", "));
        finding(Stage::Policy, &["settings", "policy_profile"], message)
    })?;
    if let Some(settings) = &problem.settings().loop_settings {
        segment(settings, steps)?;
    }
    Ok(steps.to_vec())
}

/// Returns the number of steps that a loop repeats.
fn segment(settings: &LoopSettings, steps: &[Arc<dyn Step>]) -> Result<u64, Finding> {
    let position = |key: &str, name: &str| {
        steps.iter().position(|step| step.name() == name).ok_or_else(|| {
            let known: Vec<&str> = steps.iter().map(|step| step.name()).collect();
            let message = format!("expected one of the steps {}, found {name:?}", known.join(", "));
            finding(Stage::LoopBounds, &["settings", "loop", key], message)
        })
    };
    let start = position("start_step", &settings.start_step)?;
    let end = position("end_step", &settings.end_step)?;
    match end.checked_sub(start) {
        Some(distance) => Ok(distance as u64 + 1),
        None => {
            let message = format!(
                "step {:?} comes after step {:?}, where the loop ends",
                settings.start_step, settings.end_step
            );
            Err(finding(Stage::LoopBounds, &["settings", "loop", "start_step"], message))
        }
    }
}

/// Checks the budget of steps against the longest path through the plan.
fn budget(problem: &ProblemSpec, steps: &[Arc<dyn Step>]) -> Option<Finding> {
    let max_steps = problem.settings().max_steps.as_ref()?;
    let repeated = problem.settings().loop_settings.as_ref().and_then(|settings| {
        Some((settings.max_iterations - 1).saturating_mul(segment(settings, steps).ok()?))
    });
    let required = (steps.len() as u64).saturating_add(repeated.unwrap_or(0));
    let message = match max_steps {
        MaxSteps::Number(given) if *given >= Int::from(required) => return None,
        MaxSteps::Number(given) => format!("the plan can take {required} steps, the budget is {given}"),
        MaxSteps::Text => format!("expected a number of steps, at least {required}, found a string"),
    };
    Some(finding(Stage::MaxSteps, &["settings", "max_steps"], message))
}
