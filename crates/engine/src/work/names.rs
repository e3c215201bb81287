//! The names that methods and checks use, and the evidence that each of them stands on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hence_canon::{JsonPointer, Object, Value};
use hence_cognition::expression::{Demand, Expression};
use hence_cognition::reference::{MissingName, Namespace, Reference};
use hence_cognition::state::Memory;
use hence_state::{BindingMember, MethodSpec};

use super::{list_of, text_of};
use crate::Callees;

/// The first words of all names.
pub(super) const ROOTS: [&str; 4] = ["context", "evidence", "items", "tasks"];

/// A value that a method gave, and the evidence it stands on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Worked {
    pub(super) value: Value,
    pub(super) evidence: Vec<Arc<str>>,
}

/// The values that methods and checks can name.
///
/// - `context.…` is the context of the problem.
/// - `evidence.ID.…` is an item of evidence.
/// - `items` are the items that support the task which is worked out.
/// - `tasks.ID` is the value of a decided task.
pub(super) struct Names {
    context: Value,
    items: Vec<Value>,
    evidence: Object,
    decided: BTreeMap<Arc<str>, Worked>,
    undecided: BTreeSet<Arc<str>>,
}

/// One name in a method or check.
pub(super) struct Name {
    pub(super) root: Arc<str>,
    /// The id of the item or task, or the member of the context.
    pub(super) id: Option<Arc<str>>,
    /// The members below it, from the outermost.
    pub(super) below: Vec<Arc<str>>,
    /// Whether a default follows.
    pub(super) is_optional: bool,
}

impl Names {
    pub(super) fn new(context: Value, items: &[Value]) -> Self {
        let evidence = items.iter().map(|item| (Arc::from(text_of(item, "id")), item.clone())).collect();
        Self {
            context,
            items: items.to_vec(),
            evidence,
            decided: BTreeMap::new(),
            undecided: BTreeSet::new(),
        }
    }

    pub(super) fn decide(&mut self, task: &str, worked: Worked) {
        self.decided.insert(task.into(), worked);
    }

    pub(super) fn leave_undecided(&mut self, task: &str) {
        self.undecided.insert(task.into());
    }

    pub(super) fn is_settled(&self, task: &str) -> bool {
        self.decided.contains_key(task) || self.undecided.contains(task)
    }

    pub(super) fn has_evidence(&self, id: &str) -> bool {
        self.evidence.contains_key(id)
    }

    /// Returns the items that support a task; all items without a task.
    fn supporting(&self, task: Option<&str>) -> Vec<Value> {
        let supports = |item: &&Value| task.is_none_or(|task| supports(item, task));
        self.items.iter().filter(supports).cloned().collect()
    }

    /// Returns the ids of the items that support a task.
    pub(super) fn supporting_ids(&self, task: &str) -> Vec<Arc<str>> {
        self.supporting(Some(task)).iter().map(|item| text_of(item, "id").into()).collect()
    }

    /// Returns everything that has a name, as an object.
    fn document(&self, task: Option<&str>) -> Object {
        let tasks: Object =
            self.decided.iter().map(|(id, worked)| (id.clone(), worked.value.clone())).collect();
        let members: [(&str, Value); 4] = [
            ("context", self.context.clone()),
            ("evidence", self.evidence.clone().into()),
            ("items", self.supporting(task).into()),
            ("tasks", tasks.into()),
        ];
        members.into_iter().collect()
    }

    /// Checks that a name means something.
    fn require(&self, name: &Name, task: Option<&str>) -> Result<(), String> {
        if &*name.root == "items" && !name.is_optional && self.supporting(task).is_empty() {
            return Err("no evidence supports it".to_owned());
        }
        let Some(id) = name.id.as_deref().filter(|_| !name.is_optional) else { return Ok(()) };
        match &*name.root {
            "tasks" if self.decided.contains_key(id) => Ok(()),
            "tasks" if self.undecided.contains(id) => {
                Err(format!("it needs the task `{id}`, which is undecided"))
            }
            "tasks" => Err(format!("there is no task `{id}`")),
            "evidence" if !self.evidence.contains_key(id) => {
                Err(format!("it needs the evidence `{id}`, which is not there"))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the tasks and items which a task declares as needed are there.
    pub(super) fn require_needed(&self, needs: &[Arc<str>]) -> Result<(), String> {
        for id in needs {
            if self.undecided.contains(id) {
                return Err(format!("it needs the task `{id}`, which is undecided"));
            }
            if !self.decided.contains_key(id) && !self.evidence.contains_key(id) {
                return Err(format!("it needs `{id}`, which is not there"));
            }
        }
        Ok(())
    }

    /// Returns the ids of the evidence behind names, each once, in order.
    fn behind<'n>(&self, names: impl IntoIterator<Item = &'n Name>, task: Option<&str>) -> Vec<Arc<str>> {
        let mut found: Vec<Arc<str>> = Vec::new();
        let mut add = |id: &Arc<str>| {
            if !found.contains(id) {
                found.push(id.clone());
            }
        };
        for name in names {
            match (&*name.root, name.id.as_ref()) {
                ("evidence", Some(id)) if self.evidence.contains_key(id) => add(id),
                ("evidence", None) => self.evidence.keys().for_each(&mut add),
                ("items", _) => {
                    let ids = self.supporting(task).into_iter().map(|item| text_of(&item, "id").into());
                    ids.collect::<Vec<Arc<str>>>().iter().for_each(&mut add);
                }
                ("tasks", Some(id)) => {
                    self.decided.get(id).into_iter().flat_map(|worked| &worked.evidence).for_each(&mut add);
                }
                ("tasks", None) => {
                    self.decided.values().flat_map(|worked| &worked.evidence).for_each(&mut add);
                }
                _ => {}
            }
        }
        found
    }

    /// Evaluates an expression.
    ///
    /// # Errors
    /// The reason why it has no value, in words.
    pub(super) fn evaluate(&self, text: &str, task: Option<&str>) -> Result<Worked, String> {
        self.evaluate_reading(text, task).map(|(worked, _)| worked)
    }

    /// Evaluates an expression. Returns also whether anything that is there was read for it.
    ///
    /// # Errors
    /// As for [`evaluate`](Self::evaluate).
    pub(super) fn evaluate_reading(&self, text: &str, task: Option<&str>) -> Result<(Worked, bool), String> {
        let expression = parse(text)?;
        let names = names_in(&expression);
        for name in &names {
            self.require(name, task)?;
        }
        let blocks = Object::from_iter([("vars", self.document(task))]);
        let memory = Memory::from_blocks(&blocks.into()).map_err(|error| error.to_string())?;
        let value = expression.evaluate_reading(&memory, MissingName::Error);
        // Names without a namespace are those of `vars`, which nobody wrote.
        let (value, has_read) = value.map_err(|error| error.to_string().replace("`vars.", "`"))?;
        Ok((Worked { evidence: self.behind(&names, task), value }, has_read))
    }

    /// Works a task out by its method.
    ///
    /// # Errors
    /// The reason why the task stays undecided, in words.
    pub(super) fn work_out(
        &self,
        method: &MethodSpec,
        task: &str,
        callees: Option<&dyn Callees>,
    ) -> Result<Worked, String> {
        let worked = match method {
            MethodSpec::Expression(text) => self.evaluate(text, Some(task))?,
            MethodSpec::Capability { id, input, output } => {
                let names = names_of_input(input);
                for name in &names {
                    self.require(name, Some(task))?;
                }
                let document = Value::from(self.document(Some(task)));
                let member = |(name, member): &(Arc<str>, BindingMember)| {
                    let value = match member {
                        BindingMember::Value(value) => value.clone(),
                        BindingMember::At(place) => document
                            .pointer(place)
                            .cloned()
                            .ok_or_else(|| format!("nothing is at `{place}`"))?,
                    };
                    Ok((name.clone(), value))
                };
                let input = input.iter().map(member).collect::<Result<Object, String>>()?;
                let callees = callees.ok_or_else(|| format!("there is no capability `{id}` here"))?;
                let reply = callees.compute(id, &input.into()).map_err(|error| format!("`{id}`: {error}"))?;
                let place = output.clone().unwrap_or_else(JsonPointer::root);
                let value = reply.pointer(&place).cloned();
                let value = value.ok_or_else(|| format!("the output of `{id}` has nothing at `{place}`"))?;
                Worked { value, evidence: self.behind(&names, Some(task)) }
            }
        };
        if worked.value.is_null() {
            return Err("its method gives null".to_owned());
        }
        let evidence = self.items_in(&worked.value).unwrap_or(worked.evidence);
        Ok(Worked { value: worked.value, evidence })
    }

    /// Returns the ids of the items that a result consists of: a result of items stands on these, not on all that were
    /// read to find them.
    fn items_in(&self, value: &Value) -> Option<Vec<Arc<str>>> {
        let id = |value: &Value| {
            let id: Arc<str> = value.as_object()?.get("id")?.as_str()?.into();
            self.evidence.contains_key(&id).then_some(id)
        };
        match value {
            Value::Object(_) => id(value).map(|id| vec![id]),
            Value::Array(items) if !items.is_empty() => items.iter().map(id).collect(),
            _ => None,
        }
    }
}

/// Returns whether an item of evidence supports a task.
pub(super) fn supports(item: &Value, task: &str) -> bool {
    list_of(item, "supports").iter().any(|supported| supported.as_str() == Some(task))
}

/// Reads an expression.
///
/// # Errors
/// The defect, in words.
pub(super) fn parse(text: &str) -> Result<Expression, String> {
    text.parse().map_err(|error| format!("`{text}` is no expression: {error}"))
}

/// Returns the names in an expression, from left to right.
pub(super) fn names_in(expression: &Expression) -> Vec<Name> {
    let name = |(reference, demand): (Reference, Demand)| {
        let text = match reference.namespace() {
            Namespace::Vars => reference.path().to_owned(),
            _ => reference.to_string(),
        };
        let mut words = text.split('.');
        Name {
            root: words.next().unwrap_or_default().into(),
            id: words.next().map(Arc::from),
            below: words.map(Arc::from).collect(),
            is_optional: demand == Demand::HasDefault,
        }
    };
    expression.named().into_iter().map(name).collect()
}

/// Returns the names in the input of a capability.
pub(super) fn names_of_input(input: &[(Arc<str>, BindingMember)]) -> Vec<Name> {
    let name = |place: &JsonPointer| {
        let mut tokens = place.tokens();
        let root = tokens.next().unwrap_or_default().into();
        let id = tokens.next().map(Arc::from);
        Name { root, id, below: tokens.map(Arc::from).collect(), is_optional: false }
    };
    let places = input.iter().filter_map(|(_, member)| match member {
        BindingMember::At(place) => Some(place),
        BindingMember::Value(_) => None,
    });
    places.map(name).collect()
}

/// Returns the names in a method. A method that cannot be read has none.
pub(super) fn names_of_method(method: &MethodSpec) -> Vec<Name> {
    match method {
        MethodSpec::Expression(text) => parse(text).map(|read| names_in(&read)).unwrap_or_default(),
        MethodSpec::Capability { input, .. } => names_of_input(input),
    }
}
