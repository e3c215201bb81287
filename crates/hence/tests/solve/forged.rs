//! Forged records of the loop: a chain that was computed anew passes only where the report says that something was read from it.

#[path = "../cli/forged/forging.rs"]
mod forging;
#[path = "../cli/forged/seal.rs"]
mod seal;

use hence_testkit::cli::World;
use hence_testkit::model_server::{ModelServer, Said};

use crate::scripted::{arguments, model, server, world};
use forging::{ReadPlaces, forge_run};

/// The words of a report about what came from models and child runs.
const ANSWERS: &str = "what models and child runs answered";

/// Places that hold what came from outside. A request and a prompt are computed again, so they are none of these.
const READ: &ReadPlaces = &[
    ("/result/output/reply", ANSWERS),
    ("/result/output/finish_reason", ANSWERS),
    ("/result/output/answered_by", ANSWERS),
    ("/result/output/usage", ANSWERS),
    ("/result/output/answer", ANSWERS),
    ("/result/output/error", ANSWERS),
    ("/result/output/used", ANSWERS),
];

/// The same for a block that a limit stopped: it is not run again.
const READ_STOPPED: &ReadPlaces = &[
    ("/result/output/reply", ANSWERS),
    ("/result/output/finish_reason", ANSWERS),
    ("/result/output/answered_by", ANSWERS),
    ("/result/output/usage", ANSWERS),
    ("/result/output/answer", ANSWERS),
    ("/result/output/used", ANSWERS),
    ("/result/output/printed", STOPPED),
    ("/result/output/limit", STOPPED),
    ("/result/output/operations", STOPPED),
    ("/result/output/reads", STOPPED),
    ("/result/output/uses", STOPPED),
];

/// The words of a report about a stopped block.
const STOPPED: &str = "that a limit of the interpreter stopped the block there";

fn run(world: &World, turns: &'static [&'static str], more: &[&str]) {
    world.write("c.txt", "Ada pays 7. Bob pays 9.");
    let server = server(turns, |prompt| format!("heard {}", prompt.len()));
    let model = model(&server);
    let made = world.ask(&[&arguments("How much?", &["c.txt"], &model)[..], more].concat());
    assert!([0, 5].contains(&made.code), "{}", made.stderr);
}

#[test]
fn members_of_turns_calls_and_blocks_cannot_be_forged() {
    let Some(world) = world() else { return };
    run(
        &world,
        &[
            "I look.\n```repl\npart = context[0:3]\nsaid = llm_query('q ' + part)\nagain = llm_query('q ' + part)\nprint(said)\ndef f(): pass\n```",
            "```repl\ncheckpoint('here')\nset('n', 1)\nx = 1 / 0\n```",
            "```repl\nFinal = [said, n]\n```",
        ],
        &[],
    );
    let (found, passed) = forge_run(&world, "r", READ);
    assert!(found > passed && found > 100, "{found} found, {passed} passed");
}

#[test]
fn members_of_a_call_that_a_child_answered_cannot_be_forged_where_the_child_is_stored() {
    let Some(world) = world() else { return };
    world.write("c.txt", "Ada pays 7. Bob pays 9.");
    let server = ModelServer::answering(|asked| {
        let is_child = asked.first().starts_with("Question: sum");
        match crate::scripted::turn(asked) {
            Some(_) if is_child => Said::Text("```repl\nFinal = {'length': len(context)}\n```".to_owned()),
            Some(_) => Said::Text("```repl\nFinal = rlm_query('sum', context=context[0:11])\n```".to_owned()),
            None => Said::Text("none".to_owned()),
        }
    });
    let model = model(&server);
    let made = world.ask(&arguments("How much?", &["c.txt"], &model));
    assert_eq!(made.code, 0, "{}", made.stderr);
    // The usage, the answer and the link are compared with the child that the store has.
    let read: &ReadPlaces = &READ[..4];
    let (found, passed) = forge_run(&world, "r", read);
    assert!(found > 3 * passed && found > 60, "{found} found, {passed} passed");
}

#[test]
fn members_of_a_stopped_block_and_of_an_end_without_an_answer_cannot_be_forged_unsaid() {
    let Some(world) = world() else { return };
    run(
        &world,
        &["So far nothing.\n```repl\nprint('begun')\nwhile True:\n    pass\n```"],
        &["--block-milliseconds", "200", "--max-turns", "1"],
    );
    let (found, passed) = forge_run(&world, "r", READ_STOPPED);
    assert!(found > passed && found > 40, "{found} found, {passed} passed");
}
