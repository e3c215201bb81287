//! `control_config`: one control block to its structure.

use hence_canon::{Object, Value};
use hence_cognition::skill::{Foreach, Retry, Router, Scatter, While};

pub(super) fn run(case: &Value) -> Value {
    let config = case.get("config").unwrap_or(&Value::Null);
    let parsed = match case.get("primitive").and_then(Value::as_str).unwrap_or_default() {
        "retry" => Retry::parse(config).0.map(|retry| retry_object(&retry)),
        "foreach" => Foreach::parse(config).0.map(|foreach| foreach_object(&foreach)),
        "while" => While::parse(config).0.map(|whiles| while_object(&whiles)),
        "router" => Router::parse(config).0.map(|router| router_object(&router)),
        "scatter" => Scatter::parse(config).0.map(|scatter| scatter_object(&scatter)),
        _ => None,
    };
    Object::from_iter([("parsed", Value::from(parsed))]).into()
}

fn retry_object(retry: &Retry) -> Object {
    Object::from_iter([
        ("max_attempts", Value::from(retry.max_attempts)),
        ("backoff_seconds", retry.backoff_seconds.into()),
        ("backoff_multiplier", retry.backoff_multiplier.into()),
    ])
}

fn foreach_object(foreach: &Foreach) -> Object {
    Object::from_iter([
        ("items_expr", Value::from(foreach.items().text().clone())),
        ("as_var", foreach.item_name.clone().into()),
        ("index_var", foreach.index_name.clone().into()),
    ])
}

fn while_object(whiles: &While) -> Object {
    Object::from_iter([
        ("condition_expr", Value::from(whiles.condition().text().clone())),
        ("max_iterations", whiles.max_iterations.into()),
    ])
}

fn router_object(router: &Router) -> Object {
    let cases: Object = router.cases.iter().map(|(key, uses)| (key.clone(), uses.to_string())).collect();
    Object::from_iter([
        ("on_expr", Value::from(router.on().text().clone())),
        ("cases", cases.into()),
        ("default", router.default.as_ref().map(ToString::to_string).into()),
    ])
}

fn scatter_object(scatter: &Scatter) -> Object {
    Object::from_iter([
        ("capabilities", scatter.branches.iter().map(ToString::to_string).collect::<Value>()),
        ("merge", scatter.merge.name().into()),
    ])
}
