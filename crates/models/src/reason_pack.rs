//! The pack that lets a model work a problem out: for each step of `reason` a prompt, a schema and a declaration.

use hence_canon::{Object, Value, did_you_mean, parse};

use crate::model_ref::ModelRef;

/// The longest that one step may take, in seconds, with all retries and repairs.
const TIMEOUT_SECONDS: u64 = 300;

/// The most tokens of one reply.
const MAX_TOKENS: u64 = 8192;

/// The file of the system prompt.
const SYSTEM: &str = "system.md";

/// A step that a model can carry out.
struct PackStep {
    /// The step's name.
    step: &'static str,
    /// The id of its capability.
    capability: &'static str,
    /// The file of its prompt, and the shipped text.
    prompt: (&'static str, &'static str),
    /// The members of the capability's input, and where a bound step sees them.
    input: &'static [(&'static str, &'static str)],
    /// The schema of the reply.
    output: &'static str,
}

const INPUTS: (&str, &str) = ("inputs", "/problem/inputs");
const QUESTION: (&str, &str) = ("prompt", "/artifacts/normalized/normalized_prompt");
const TASKS: (&str, &str) = ("tasks", "/artifacts/decomposition/tasks");
const EVIDENCE: (&str, &str) = ("evidence", "/artifacts/evidence");
const CONCLUSIONS: (&str, &str) = ("conclusions", "/artifacts/computation/conclusions");

const STEPS: [PackStep; 6] = [
    PackStep {
        step: "Normalize",
        capability: "reason.normalize",
        prompt: ("normalize.md", include_str!("../prompts/reason/normalize.md")),
        input: &[INPUTS],
        output: r#"{"type": "object", "required": ["normalized_prompt"], "additionalProperties": false,
            "properties": {"normalized_prompt": {"type": "string", "minLength": 1}}}"#,
    },
    PackStep {
        step: "Decompose",
        capability: "reason.decompose",
        prompt: ("decompose.md", include_str!("../prompts/reason/decompose.md")),
        input: &[QUESTION, INPUTS],
        output: r#"{"type": "object", "required": ["tasks"], "additionalProperties": false,
            "properties": {"tasks": {"type": "array", "maxItems": 50, "items":
                {"type": "object", "required": ["id", "goal"], "additionalProperties": false, "properties":
                    {"id": {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_]*$"},
                     "goal": {"type": "string", "minLength": 1}}}}}}"#,
    },
    PackStep {
        step: "AcquireEvidence",
        capability: "reason.acquire_evidence",
        prompt: ("acquire_evidence.md", include_str!("../prompts/reason/acquire_evidence.md")),
        input: &[TASKS, INPUTS],
        output: r#"{"type": "object", "required": ["links"], "additionalProperties": false,
            "properties": {"links": {"type": "array", "items":
                {"type": "object", "required": ["evidence", "tasks"], "additionalProperties": false, "properties":
                    {"evidence": {"type": "string"}, "tasks": {"type": "array", "items": {"type": "string"}}}}}}}"#,
    },
    PackStep {
        step: "Compute",
        capability: "reason.compute",
        prompt: ("compute.md", include_str!("../prompts/reason/compute.md")),
        input: &[QUESTION, TASKS, EVIDENCE, INPUTS],
        output: r#"{"type": "object", "required": ["conclusions"], "additionalProperties": false,
            "properties": {"conclusions": {"type": "array", "items":
                {"type": "object", "required": ["task", "status", "value", "evidence", "reason"],
                 "additionalProperties": false, "properties":
                    {"task": {"type": "string"}, "status": {"enum": ["decided", "undecided"]},
                     "value": {"type": ["string", "number", "boolean", "null"]},
                     "evidence": {"type": "array", "items": {"type": "string"}},
                     "reason": {"type": "string"}}}}}}"#,
    },
    PackStep {
        step: "Verify",
        capability: "reason.verify",
        prompt: ("verify.md", include_str!("../prompts/reason/verify.md")),
        input: &[CONCLUSIONS, EVIDENCE, INPUTS],
        output: r#"{"type": "object", "required": ["judgements"], "additionalProperties": false,
            "properties": {"judgements": {"type": "array", "items":
                {"type": "object", "required": ["about", "status", "reason"], "additionalProperties": false, "properties":
                    {"about": {"type": "string"}, "status": {"enum": ["holds", "fails", "unclear"]},
                     "reason": {"type": "string"}}}}}}"#,
    },
    PackStep {
        step: "Synthesize",
        capability: "reason.synthesize",
        prompt: ("synthesize.md", include_str!("../prompts/reason/synthesize.md")),
        input: &[QUESTION, CONCLUSIONS, ("verification", "/artifacts/verification")],
        output: r#"{"type": "object", "required": ["sentences"], "additionalProperties": false,
            "properties": {"sentences": {"type": "array", "items":
                {"type": "object", "required": ["text", "evidence"], "additionalProperties": false, "properties":
                    {"text": {"type": "string", "minLength": 1},
                     "evidence": {"type": "array", "items": {"type": "string"}}}}}}}"#,
    },
];

/// The prompts that let a model carry out the steps of `reason`. The declarations hold their whole texts, so the digest of
/// the declarations, which a run pins, covers them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReasonPack(Vec<(&'static str, String)>);

/// A file that is no prompt of the pack.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no step has a prompt `{file}`; there are {}{}", ReasonPack::files().join(", "), did_you_mean(.file, ReasonPack::files()))]
pub struct NotAPrompt {
    /// The name of the file.
    pub file: String,
}

impl ReasonPack {
    /// Returns the names of the files with prompts.
    pub fn files() -> Vec<&'static str> {
        [SYSTEM].into_iter().chain(STEPS.iter().map(|step| step.prompt.0)).collect()
    }

    /// Returns the pack with the shipped prompts.
    pub fn shipped() -> Self {
        let system = (SYSTEM, include_str!("../prompts/reason/system.md"));
        let prompts = [system].into_iter().chain(STEPS.iter().map(|step| step.prompt));
        Self(prompts.map(|(file, text)| (file, text.to_owned())).collect())
    }

    /// Replaces a prompt.
    ///
    /// # Errors
    /// [`NotAPrompt`] when no prompt has that file.
    pub fn replace(&mut self, file: &str, text: String) -> Result<(), NotAPrompt> {
        match self.0.iter_mut().find(|(known, _)| *known == file) {
            Some((_, prompt)) => {
                *prompt = text;
                Ok(())
            }
            None => Err(NotAPrompt { file: file.to_owned() }),
        }
    }

    /// Returns the text of a prompt by its file.
    pub fn prompt(&self, file: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == file).map(|(_, text)| text.as_str())
    }

    /// Returns the declarations of the capabilities that ask a model, as a capabilities file holds them.
    pub fn declarations(&self, model: &ModelRef) -> Value {
        let capability = |step: &PackStep| {
            let text = |file: &str| self.prompt(file).unwrap_or_default().trim_end().to_owned();
            let provider = model
                .settings()
                .with("kind", "llm")
                .with("system", text(SYSTEM))
                .with("prompt", text(step.prompt.0))
                .with("max_tokens", MAX_TOKENS)
                .with("temperature", 0u64);
            let declaration: [(&str, Value); 5] = [
                ("description", format!("Carry out the step {} with {model}", step.step).into()),
                ("effects", "reads".into()),
                ("timeout_seconds", TIMEOUT_SECONDS.into()),
                ("output", parse(step.output.as_bytes()).expect("the schemas above are JSON")),
                ("provider", provider.into()),
            ];
            (step.capability, Value::from(declaration.into_iter().collect::<Object>()))
        };
        let capabilities: Object = STEPS.iter().map(capability).collect();
        let document = Object::from_iter([("capabilities", capabilities)]);
        match model.secrets() {
            secrets if secrets.is_empty() => document.into(),
            secrets => document.with("secrets", secrets).into(),
        }
    }

    /// Returns the bindings of the steps to these capabilities, by step, as the settings of a problem hold them.
    pub fn bindings() -> Object {
        let binding = |step: &PackStep| {
            let at =
                |(name, place): &(&'static str, &'static str)| (*name, Object::from_iter([("at", *place)]));
            let members: [(&str, Value); 4] = [
                ("capability", step.capability.into()),
                ("input", step.input.iter().map(at).collect::<Object>().into()),
                ("output", "".into()),
                ("timeout_seconds", TIMEOUT_SECONDS.into()),
            ];
            (step.step, members.into_iter().collect::<Object>())
        };
        STEPS.iter().map(binding).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use hence_capabilities::{Declarations, Kinds, Source};

    use super::*;
    use crate::LlmKind;

    #[test]
    fn the_shipped_declarations_are_accepted_for_every_kind_of_model() {
        for model in ["openai:m", "anthropic:m", "http://127.0.0.1:1/v1#m", "anthropic+https://h/v1#m&key=K"]
        {
            let document = ReasonPack::shipped().declarations(&model.parse().unwrap());
            let source = Source { document, folder: PathBuf::from("/") };
            let read = Declarations::read(vec![source], &Kinds::standard().with(LlmKind));
            let read =
                read.map_err(|found| found.iter().map(|found| found.problem.to_string()).collect::<Vec<_>>());
            let ids: Vec<String> = read.unwrap().iter().map(|(id, _)| id.to_string()).collect();
            assert_eq!(ids.len(), STEPS.len(), "{ids:?}");
            for (_, binding) in ReasonPack::bindings().iter() {
                let id = binding.get("capability").and_then(Value::as_str).unwrap();
                assert!(ids.iter().any(|known| known == id), "{id}");
            }
        }
    }

    #[test]
    fn every_placeholder_of_a_prompt_is_an_input_of_its_step() {
        for step in &STEPS {
            let names: Vec<&str> =
                step.prompt.1.split("{{").skip(1).map(|rest| rest.split("}}").next().unwrap()).collect();
            let inputs: Vec<&str> = step.input.iter().map(|(name, _)| *name).collect();
            assert!(
                !names.is_empty() && names.iter().all(|name| inputs.contains(name)),
                "{}: {names:?}",
                step.step
            );
        }
    }

    #[test]
    fn a_prompt_can_be_replaced_and_a_misspelt_file_is_named() {
        let mut pack = ReasonPack::shipped();
        pack.replace("compute.md", "Decide.".to_owned()).unwrap();
        assert_eq!(pack.prompt("compute.md"), Some("Decide."));
        assert_ne!(pack, ReasonPack::shipped());
        let refused = pack.replace("comptue.md", String::new()).unwrap_err();
        assert!(refused.to_string().ends_with("did you mean `compute.md`?"), "{refused}");
    }
}
