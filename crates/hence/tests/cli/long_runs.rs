//! Long runs of problems and skills: a cached view makes looking at them cost nothing of their history. It changes no answer.

use hence_testkit::cli::World;

const VIEW: &str = ".hence/runs/long/view";

/// Makes a run of a skill with so many steps that its view is cached.
fn long_run(more: &str) -> World {
    let world = World::new();
    let steps: String = (0..300)
        .map(|number| {
            format!("{{id: s{number}, uses: text.join, input: {{parts: [inputs.q]}}, output: {{text: vars.v{number}}}}},")
        })
        .collect();
    world.write(
        "long.yaml",
        format!(
            "{{id: long, version: 1.0.0, name: Long, description: d, inputs: {{q: {{type: string}}}}, outputs: {{}}, steps: [{steps} {more}]}}"
        ),
    );
    world.ask(&["run", "long.yaml", "--input", "q=x", "--run-id", "long", "--on-failure", "continue"]);
    world
}

const FAILING: &str = "{id: bad, uses: number.calculate, input: {left: 1, right: 0, operator: divide}, output: {value: vars.w}}";
const ASKING: &str = "{id: ask, uses: human.ask, input: {question: 'Go on?', options: ['yes', 'no'], approves: ['yes']},
 output: {value: vars.answer}}, {id: later, uses: text.join, input: {parts: [vars.answer]}, output: {text: vars.z}}";

fn views(world: &World) -> String {
    world.all(&[
        "why long",
        "why long --json",
        "state long /status",
        "state long /step_index",
        "state long /nope",
        "runs",
    ])
}

#[test]
fn a_cached_view_says_what_the_journal_says() {
    for more in ["", FAILING, ASKING] {
        let world = long_run(more);
        assert!(world.path(VIEW).is_file(), "the run writes it when it ends or waits");
        let cached = views(&world);
        std::fs::remove_file(world.path(VIEW)).unwrap();
        assert_eq!(views(&world), cached, "{more}");
        assert!(world.path(VIEW).is_file(), "the next command writes it again");
        std::fs::remove_file(world.path(VIEW)).unwrap();
        world.out("verify long");
        world.out("doctor");
        assert!(!world.path(VIEW).is_file(), "commands that judge write nothing");
    }
}

#[test]
fn a_view_is_not_used_after_any_change_of_the_files_it_was_made_of() {
    let world = long_run(ASKING);
    assert!(world.out("why long").contains("waits"));
    world.out("answer long ask --value yes --by ada --resume");
    assert!(world.out("why long").contains("completed"));
    assert!(world.out("why long").contains("approved"), "{}", world.out("why long"));
    // An altered record changes the time of the file, so the journal is read.
    let world = long_run(ASKING);
    let mut journal = world.journal("long");
    let fifth = journal.split_inclusive(|byte| *byte == b'\n').take(5).map(<[u8]>::len).sum::<usize>();
    journal[fifth + 40] ^= 1;
    world.set_journal("long", &journal);
    assert!(world.out("why long").contains("damaged"), "{}", world.out("why long"));
}

#[test]
fn a_torn_or_foreign_view_is_not_used_and_a_forged_one_is_named() {
    let world = long_run("");
    let right = views(&world);
    let bytes = world.read(VIEW);
    let cut = &bytes[..bytes.len() / 2];
    for view in [b"".as_slice(), b"hence-view 1 ", cut, b"\xff\xfe"] {
        world.write(VIEW, view);
        assert_eq!(views(&world), right);
    }
    // Every member may be forged by whoever can write the store; the commands that judge compare it.
    let text = String::from_utf8(world.read(VIEW)).unwrap();
    let body = text.split_once('\n').unwrap().1.replace("\"status\":\"completed\"", "\"status\":\"failed\"");
    let forged = format!("hence-view 1 {}\n{body}", hence_canon::Digest::of(body.as_bytes()));
    world.write(VIEW, &forged);
    let verified = world.ask(&["verify", "long"]);
    assert_eq!(verified.code, 1);
    let text = String::from_utf8_lossy(&verified.stdout).into_owned();
    assert!(text.contains("cached view"), "{text}");
    assert_eq!(world.ask(&["doctor"]).code, 1);
    world.ask(&["doctor", "--rebuild"]);
    world.out("verify long");
    assert_eq!(views(&world), right);
}

#[test]
fn a_bundle_and_an_import_have_no_view() {
    let world = long_run("");
    world.out("export long bundle");
    assert!(!world.path("bundle/view").exists());
    world.out("--store other import bundle");
    assert!(!world.path("other/runs/long/view").exists());
}
