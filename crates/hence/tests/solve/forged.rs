//! Forged records of a recursive loop: a chain that was computed anew passes only where the report says that something was
//! read from it.

use crate::forge::{ReadPlaces, forge_run};
use crate::scripted::{arguments, model, server, world};

/// Places that came from outside, with the words of the report that say so.
const READ_FROM_RECORD: &ReadPlaces = &[
    ("/result/output/finish_reason", ANSWERED),
    // The tokens and calls that providers report, and their sums.
    ("/result/output/usage", ANSWERED),
    ("/result/output/used/calls", ANSWERED),
];

const ANSWERED: &str = "what models and child runs answered";

#[test]
fn members_of_turns_blocks_and_children_cannot_be_forged() {
    let Some(world) = world() else { return };
    world.write("text.txt", "The code of the vault is 4711. The hay is dry.");
    let server = server(
        &[
            "```repl\nsaid = llm_query('Extract the code: ' + slice(0, 30))\nprint(said)\n```",
            "```repl\nFinal = {'code': said}\n```",
        ],
        |_| "4711".to_owned(),
    );
    let model = model(&server);
    let made = world.ask(&arguments("What is the code of the vault?", &["text.txt"], &model));
    assert_eq!(made.code, 0, "{}", made.stderr);
    let (found, passed) = forge_run(&world, "r", READ_FROM_RECORD);
    println!("{found} forgeries of a recursive loop found, {passed} read from the record");
    assert!(found > passed && found > 100, "{found} found, {passed} passed");
}
