//! Events: their written form, and what does not apply.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod world;

use hence_canon::{canonical_bytes, parse};
use hence_variables::Event;
use world::World;

#[test]
fn the_written_form_of_events_is_pinned() {
    let mut world = World::with_state();
    world.set("error_count", 3).unwrap();
    world.get("error_count").unwrap();
    world.rename("error_count", "errors").unwrap();
    world.checkpoint("here").unwrap();
    world.delete("errors").unwrap();
    world.rollback("here").unwrap();
    world.set("Final", "done").unwrap();
    let lines: Vec<String> = world.events.iter().map(|event| event.to_value().to_string()).collect();
    let at = r#""at":"2026-02-09T10:00:00Z""#;
    let time = r#""timestamp":"2026-02-09T10:00:00Z""#;
    let dates = r#""created_at":"2026-02-09T10:00:00Z""#;
    let updated = r#""updated_at":"2026-02-09T10:00:00Z""#;
    let state = r#""state":"state-00000001""#;
    let seen = r#""seen":{"global":0,"session":2,"temporary":0}"#;
    let expected = [
        format!(
            r#"{{"action":"init",{at},"changes":[{{"change":"born","depth":0}},{{"change":"write","mutation_id":"mut-00000001","source":"user_input",{time},"variable":{{"access_count":0,{dates},"metadata":{{"read_only":true}},"name":"prompt","source":"user_input","type":"text",{updated},"value":"task"}}}},{{"change":"checkpoint","checkpoint_id":"ckpt-00000001","name":"initial_state","seen":{{"global":0,"session":0,"temporary":0}}}}],{state}}}"#
        ),
        format!(
            r#"{{"action":"set",{at},"changes":[{{"change":"write","mutation_id":"mut-00000002","revision":1,"scope":"session",{time},"variable":{{"access_count":0,{dates},"name":"error_count","type":"number",{updated},"value":3}}}}],{state}}}"#
        ),
        format!(
            r#"{{"action":"get",{at},"changes":[{{"change":"read","name":"error_count","revision":1,"scope":"session"}}],{state}}}"#
        ),
        format!(
            r#"{{"action":"rename",{at},"changes":[{{"change":"rename","mutation_id":"mut-00000003","name":"error_count","revision":2,"scope":"session",{time},"to":"errors"}}],{state}}}"#
        ),
        format!(
            r#"{{"action":"checkpoint",{at},"changes":[{{"change":"checkpoint","checkpoint_id":"ckpt-00000002","name":"here",{seen}}}],{state}}}"#
        ),
        format!(
            r#"{{"action":"delete",{at},"changes":[{{"change":"delete","mutation_id":"mut-00000004","name":"errors","old_value":3,"revision":3,"scope":"session",{time}}}],{state}}}"#
        ),
        format!(
            r#"{{"action":"rollback",{at},"changes":[{{"change":"rolled_back","checkpoint_id":"ckpt-00000002"}},{{"change":"write","mutation_id":"mut-00000005","revision":4,"scope":"session","source":"rollback",{time},"variable":{{"access_count":1,{dates},"name":"errors","type":"number",{updated},"value":3}}}}],{state}}}"#
        ),
        format!(
            r#"{{"action":"set",{at},"changes":[{{"change":"write","mutation_id":"mut-00000006","old_value":null,{time},"variable":{{"access_count":0,{dates},"name":"Final","type":"text",{updated},"value":"done"}}}},{{"change":"status","status":"complete"}}],{state}}}"#
        ),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn an_event_that_is_not_one_is_refused_with_its_place() {
    let place = |text: &str| Event::from_value(&parse(text.as_bytes()).unwrap()).unwrap_err().to_string();
    assert_eq!(place("[]"), "expected an object, found list");
    let head = r#""state":"state-00000001","at":"2026-02-09T10:00:00Z""#;
    assert_eq!(
        place(&format!(r#"{{{head},"action":"jump","changes":[]}}"#)),
        r#"at `/action`: expected one of init, import, set, get, delete, rename, checkpoint, rollback, fail, cancel, expire, share, return, found "jump""#
    );
    let change = |change: &str| place(&format!(r#"{{{head},"action":"set","changes":[{change}]}}"#));
    assert_eq!(change(r#"{"change":"fly"}"#), r#"at `/changes/0/change`: unknown change "fly""#);
    assert_eq!(change(r#"{"change":"read","name":"a b"}"#).split(':').next(), Some("at `/changes/0/name`"));
    assert_eq!(
        change(r#"{"change":"read","name":"a_b","scope":"tree"}"#),
        "at `/changes/0/revision`: expected a value, found nothing"
    );
}

#[test]
fn an_event_that_replaces_another_value_than_the_one_there_does_not_apply() {
    let mut world = World::with_state();
    world.set("counter", 1).unwrap();
    let before = world.workspace.clone();
    world.set("counter", 2).unwrap();
    let text = canonical_bytes(&world.events.last().unwrap().to_value());
    let text = String::from_utf8(text).unwrap().replace(r#""old_value":1"#, r#""old_value":7"#);
    let forged = Event::from_value(&parse(text.as_bytes()).unwrap()).unwrap();
    let mut workspace = before.clone();
    let error = hence_variables::apply(&mut workspace, &forged).unwrap_err();
    assert_eq!(error.reason, "`counter` does not hold the value this replaces");
    assert_eq!(workspace, before);
}
