//! Acting over the API: answers and reviews, by the rules of the commands.

use serde_json::{Value, json};

use super::{Served, world};

#[test]
fn an_answer_is_checked_recorded_with_the_name_of_the_token_and_given_once() {
    let world = world();
    let served = Served::start(&world);
    let waiting = served.json("/waiting");
    assert_eq!(waiting["total"], 1);
    let question = &waiting["items"][0];
    assert_eq!(
        (&question["run"], &question["step"], &question["who"]),
        (&json!("refund"), &json!("approve"), &json!("ada"))
    );
    assert_eq!((&question["options"], &question["may_answer"]), (&json!(["yes", "no"]), &json!(true)));
    assert_eq!(question["input"]["value"]["context"], 6, "whoever decides sees what about");
    let refused = |body: Value| served.post("/runs/refund/answers", &body).error();
    let before = world.stored();
    assert_eq!(refused(json!({"step": "approve", "value": "perhaps"})), (422, "E0307".into()));
    assert_eq!(refused(json!({"step": "nothing", "value": "yes"})), (409, "E0305".into()));
    assert_eq!(refused(json!({"step": "approve"})), (400, "E0801".into()));
    assert_eq!(refused(json!({"step": "approve", "value": "yes", "retry": true})), (400, "E0801".into()));
    assert_eq!(refused(json!({"step": "approve", "value": "yes", "by": "eve"})), (400, "E0801".into()));
    hence_testkit::cli::assert_unchanged(&before, &world.stored());
    let answered = served.post("/runs/refund/answers", &json!({"step": "approve", "value": "yes"}));
    assert_eq!(answered.status, 200, "{}", String::from_utf8_lossy(&answered.body));
    assert_eq!(
        (&answered.json()["by"], &answered.json()["next"]),
        (&json!("ada"), &json!("hence resume refund"))
    );
    assert_eq!(refused(json!({"step": "approve", "value": "no"})), (409, "E0306".into()));
    assert_eq!(served.json("/waiting")["total"], 0);
    assert_eq!(world.ask(&["resume", "refund"]).code, 0);
    let record = served.json("/runs/refund/records/approve");
    assert_eq!(record["output"]["value"]["produced"]["by"], "ada", "{record}");
}

#[test]
fn a_review_is_opened_discussed_and_approved_by_the_rules_of_the_command() {
    let world = world();
    let served = Served::start(&world);
    assert_eq!(served.json("/runs/first/review")["exists"], false);
    let add = |entry: Value| served.post("/runs/first/review/entries", &entry);
    assert_eq!(add(json!({"event": "comment", "body": "Why?"})).error(), (404, "E0202".into()));
    assert_eq!(served.post("/runs/first/review", &json!({})).status, 200);
    assert_eq!(served.post("/runs/first/review", &json!({})).error(), (409, "E0701".into()));
    let comment = add(json!({"event": "comment", "on": "action:1", "body": "Why?"}));
    assert_eq!((comment.status, &comment.json()["event"]), (200, &json!("comment")));
    let id = comment.json()["id"].clone();
    assert_eq!(
        add(json!({"event": "comment", "on": "action:1", "body": "Because.", "reply_to": id})).status,
        200
    );
    assert_eq!(add(json!({"event": "item", "title": "Show the source", "blocking": true})).status, 200);
    let before = world.stored();
    assert_eq!(add(json!({"event": "approve"})).error(), (409, "E0701".into()), "an item blocks");
    assert_eq!(add(json!({"event": "waive", "id": "nothing", "note": "x"})).error(), (404, "E0403".into()));
    assert_eq!(add(json!({"event": "comment", "on": "moon:1", "body": "x"})).error(), (400, "E0801".into()));
    assert_eq!(add(json!({"event": "praise"})).error(), (400, "E0801".into()));
    assert_eq!(add(json!({"event": "comment"})).error(), (400, "E0801".into()));
    hence_testkit::cli::assert_unchanged(&before, &world.stored());
    let review = served.json("/runs/first/review");
    assert_eq!(
        (&review["exists"], &review["bound"], &review["holds"]),
        (&json!(true), &json!(true), &json!(true))
    );
    assert_eq!(review["threads"][0]["replies"][0]["body"], "Because.");
    assert_eq!(review["threads"][0]["author"], "ada");
    assert_eq!(review["entries"].as_array().unwrap().len(), 3);
    let item = review["items"][0]["id"].clone();
    assert_eq!(add(json!({"event": "resolve", "id": item, "note": "done"})).status, 200);
    assert_eq!(
        add(json!({"event": "check", "id": "verification#2", "outcome": "luck"})).error(),
        (400, "E0801".into())
    );
    assert_eq!(add(json!({"event": "check", "id": "verification#2", "outcome": "confirmed"})).status, 200);
    let waived = add(json!({"event": "waive", "id": "evidence-as-given", "note": "known sources"}));
    assert_eq!(waived.status, 200, "{}", String::from_utf8_lossy(&waived.body));
    let gaps = served.json("/runs/first/gaps?status=waived");
    assert_eq!(gaps["items"][0]["id"], "evidence-as-given", "gaps are shown as the review leaves them");
    let approved = add(json!({"event": "approve", "note": "fine"}));
    assert_eq!(approved.status, 200, "{}", String::from_utf8_lossy(&approved.body));
    assert_eq!(served.json("/runs/first/verdict")["review"]["status"], "approved");
    let said = world.ask(&["review", "status", "first", "--json"]).json();
    assert_eq!(
        (&said["standing"]["decision"], &said["standing"]["decided_by"]),
        (&json!("approved"), &json!("ada"))
    );
    assert!(served.json("/runs/first/review/handoff")["markdown"].as_str().unwrap().contains("first"));
}
