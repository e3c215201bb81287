//! Several processes on one state, and killed processes: no reported write is lost.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};

use hence_testkit::cli::{World, piped};

const PROCESSES: usize = 8;
/// The number of writes each process makes; `HENCE_STRESS_WRITES` asks for more.
const WRITES: usize = 125;

fn names_in_history(world: &World) -> BTreeSet<String> {
    let history: serde_json::Value =
        serde_json::from_str(&world.out("vars history s --limit 0 --json")).unwrap();
    let mutations = history["mutations"].as_array().unwrap();
    mutations.iter().map(|entry| entry["new_value"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn writes_of_many_processes_are_all_recorded_and_the_chain_holds() {
    let writes =
        std::env::var("HENCE_STRESS_WRITES").ok().and_then(|text| text.parse().ok()).unwrap_or(WRITES);
    let world = World::new();
    world.out("vars init s 'many writers'");
    let mut children = Vec::new();
    for process in 0..PROCESSES {
        let mut child = piped(&mut world.command(&["repl", "s"]));
        let mut stdin = child.stdin.take().unwrap();
        // Every process writes the same few variables, so that every write meets those of the others.
        let lines: String = (0..writes).map(|n| format!("set shared_{} {process}-{n}\n", n % 10)).collect();
        let feeder = std::thread::spawn(move || stdin.write_all(lines.as_bytes()).unwrap());
        children.push((child, feeder));
    }
    for (child, feeder) in children {
        let drained = std::thread::spawn(move || child.wait_with_output().unwrap());
        feeder.join().unwrap();
        let output = drained.join().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let found = names_in_history(&world);
    for process in 0..PROCESSES {
        let lost: Vec<usize> = (0..writes).filter(|n| !found.contains(&format!("{process}-{n}"))).collect();
        assert!(lost.is_empty(), "process {process} lost {lost:?}");
    }
    let status: serde_json::Value = serde_json::from_str(&world.out("vars status s --json")).unwrap();
    assert_eq!(status["mutation_count"].as_u64(), Some((PROCESSES * writes) as u64 + 1));
    assert!(world.hence("verify s").ends_with("[exit 0]\n"));
}

#[test]
fn compare_and_set_lets_one_of_several_through() {
    let world = World::new();
    world.out("vars init s 'one wins'");
    let spawn = |n: usize| {
        let value = n.to_string();
        let words = ["vars", "set", "s", "winner", &value, "--if-mutation-count", "1"];
        piped(&mut world.command(&words))
    };
    let children: Vec<_> = (0..PROCESSES).map(spawn).collect();
    let codes = children.into_iter().map(|child| child.wait_with_output().unwrap().status.code().unwrap());
    let mut codes: Vec<i32> = codes.collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 1, 1, 1, 1, 1, 1, 1]);
    assert!(world.out("vars status s").contains("mutations    2"));
}

#[test]
fn every_value_reported_as_written_survives_a_kill() {
    let world = World::new();
    world.out("vars init s 'killed writers'");
    let mut reported = Vec::new();
    for round in 0..12 {
        let mut child = piped(&mut world.command(&["repl", "s", "--json"]));
        let mut stdin = child.stdin.take().unwrap();
        let lines: String = (0..200).map(|n| format!("set v_{round}_{n} r{round}n{n}\n")).collect();
        let feeder = std::thread::spawn(move || drop(stdin.write_all(lines.as_bytes())));
        let mut seen = 0;
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            if line.unwrap().contains("\"done\": \"create\"") {
                reported.push(format!("r{round}n{seen}"));
                seen += 1;
            }
            // Killed after another number of answers each time, wherever the writer is by then.
            if seen == round + 1 {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        feeder.join().unwrap();
    }
    let found = names_in_history(&world);
    assert!(reported.len() >= 12 && reported.iter().all(|value| found.contains(value)));
    world.out("vars set s after 1");
    let verified = world.hence("verify s");
    assert!(verified.ends_with("[exit 0]\n"), "{verified}");
}
