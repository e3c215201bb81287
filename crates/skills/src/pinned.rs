//! The problem of a skill run: the skill and its inputs. The header binds both by the hash of the problem.

use std::sync::Arc;

use hence_canon::{Canonical, Digest, Object, Value};
use hence_cognition::budget::Limits;
use hence_cognition::capability::TrustLevel;
use hence_cognition::run::{RunOptions, RunRequest, SKILL_DEPTH_DEFAULT};
use hence_cognition::schedule::FailureMode;
use hence_cognition::skill::Skill;
use hence_cognition::state::Frame;
use hence_state::{ProblemSpec, Timestamp};

use crate::links::{Links, Origin};

/// The skill a problem pins, and the inputs and settings of the run.
#[derive(Clone, Debug)]
pub struct Pinned {
    /// The skill's id.
    pub id: Arc<str>,
    /// The skill's version.
    pub version: Arc<str>,
    /// The digest of the skill document's canonical form.
    pub digest: Digest,
    /// The digest of the capability declarations, if there are any.
    pub capabilities: Option<Digest>,
    /// The skill's inputs.
    pub inputs: Object,
    /// The frame: the purpose of the run.
    pub frame: Value,
    /// Whether other steps run after one failed.
    pub on_failure: FailureMode,
    /// The trust level of the caller.
    pub trust: TrustLevel,
    /// The limits that whoever started the run set.
    pub limits: Limits,
    /// The links of the run.
    pub links: Links,
}

/// A skill run that is about to be created.
#[derive(Clone, Debug)]
pub struct NewSkillRun {
    /// The run's id.
    pub id: String,
    /// The time at which the run is created.
    pub created_at: Timestamp,
    /// The digest of the capability declarations, if there are any.
    pub capabilities: Option<Digest>,
    /// The digest of the policies that judge every step, if there are any.
    pub policies: Option<Digest>,
    /// The skill's inputs.
    pub inputs: Object,
    /// The frame, the purpose of the run: an object of the frame's fields, or nothing.
    pub frame: Option<Object>,
    /// Whether other steps run after one failed.
    pub on_failure: FailureMode,
    /// The trust level of the caller.
    pub trust: TrustLevel,
    /// The limits of the run, next to those that the skill states.
    pub limits: Limits,
    /// The links of the run.
    pub links: Links,
}

/// A frame that is not an object of the frame's fields.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the frame is not one: {0}")]
pub struct InvalidFrame(String);

/// The member of a problem's settings that states the limits of its run.
pub const LIMITS_KEY: &str = "limits";

const FAIL_FAST: &str = "fail_fast";
const CONTINUE: &str = "continue";

impl NewSkillRun {
    /// Makes the problem document that pins `skill`, whose document is `source`.
    pub fn problem(&self, skill: &Skill, source: &Canonical) -> Value {
        let object =
            |members: Vec<(&str, Value)>| -> Value { members.into_iter().collect::<Object>().into() };
        let on_failure = match self.on_failure {
            FailureMode::FailFast => FAIL_FAST,
            FailureMode::Continue => CONTINUE,
        };
        let mut context = vec![("inputs", self.inputs.clone().into()), ("on_failure", on_failure.into())];
        context.extend(self.frame.clone().map(|frame| ("frame", frame.into())));
        // The default trust level is left out, so that problems from before there were levels have the same digest.
        if self.trust != TrustLevel::default() {
            context.push(("trust", self.trust.name().into()));
        }
        let mut pin = vec![
            ("id", skill.id.clone().into()),
            ("version", skill.version.clone().into()),
            ("sha256", source.digest().into()),
        ];
        pin.extend(self.links.nested_value().map(|nested| ("nested", nested)));
        pin.extend(self.links.max_depth.map(|depth| ("max_depth", u64::from(depth).into())));
        let pin = object(pin);
        let mut settings = vec![("skill", pin)];
        let pinned = |digest: Digest| object(vec![("sha256", digest.into())]);
        settings.extend(self.capabilities.map(|digest| ("capabilities", pinned(digest))));
        settings.extend(self.links.settings());
        if !self.limits.is_empty() {
            settings.push((LIMITS_KEY, self.limits.value().into()));
        }
        settings.extend(self.policies.map(|digest| ("policies", pinned(digest))));
        object(vec![
            ("version", "1.0.0".into()),
            ("id", self.id.as_str().into()),
            ("created_at", self.created_at.as_str().into()),
            (
                "inputs",
                object(vec![("prompt", skill.description.clone().into()), ("context", object(context))]),
            ),
            ("settings", object(settings)),
        ])
    }
}

impl Pinned {
    /// Reads the skill that a problem pins; `None` when it pins no skill.
    pub fn of(problem: &ProblemSpec) -> Option<Self> {
        Self::of_value(problem.canonical().value())
    }

    /// Reads the skill that a problem document pins; `None` when it pins no skill.
    pub fn of_value(problem: &Value) -> Option<Self> {
        let settings = problem.get("settings")?;
        let pin = settings.get("skill")?;
        let capabilities = match settings.get("capabilities") {
            None => None,
            // A malformed value must not be read as an absent one.
            Some(declared) => Some(declared.get("sha256")?.as_str()?.parse().ok()?),
        };
        let text = |key: &str| pin.get(key)?.as_str().map(Arc::from);
        let context = problem.get("inputs")?.get("context")?;
        let on_failure = match context.get("on_failure").and_then(Value::as_str) {
            Some(CONTINUE) => FailureMode::Continue,
            _ => FailureMode::FailFast,
        };
        let trust = match context.get("trust") {
            None => TrustLevel::default(),
            // A malformed value must not be read as trust.
            Some(level) => TrustLevel::find(level.as_str()?)?,
        };
        let limits = match settings.get(LIMITS_KEY) {
            None => Limits::default(),
            // A malformed value must not be read as an absent one.
            Some(limits) => Limits::read(limits).ok()?,
        };
        Some(Self {
            id: text("id")?,
            version: text("version")?,
            digest: pin.get("sha256")?.as_str()?.parse().ok()?,
            capabilities,
            inputs: context.get("inputs")?.as_object()?.clone(),
            frame: context.get("frame").cloned().unwrap_or_default(),
            on_failure,
            trust,
            limits,
            links: Links::read(settings)?,
        })
    }

    /// Makes the request for the interpreter.
    ///
    /// # Errors
    /// [`InvalidFrame`] when the frame is not an object of the frame's fields.
    pub fn request(&self, trace_id: &Arc<str>) -> Result<RunRequest, InvalidFrame> {
        let frame = match &self.frame {
            Value::Null => Frame::default(),
            value => Frame::from_value(value).map_err(|error| InvalidFrame(error.to_string()))?,
        };
        Ok(RunRequest {
            inputs: self.inputs.clone(),
            frame,
            options: RunOptions {
                on_failure: self.on_failure,
                trust_level: self.trust,
                seed: trace_id.clone(),
                max_skill_depth: self.links.max_depth.unwrap_or(SKILL_DEPTH_DEFAULT),
                ..RunOptions::default()
            },
            trace_id: Some(trace_id.clone()),
            idempotency_root: self.links.idempotency_root().cloned(),
            run_id: Some(trace_id.clone()),
            parent_run_id: self.links.parent.as_ref().map(|parent| parent.run.clone()),
            intervention: self.links.origin.as_ref().and_then(Origin::intervention),
            shared: self.links.shared.values(),
        })
    }
}
