//! Every file of a store altered in every way: `verify` and `doctor` name it, or a table says that nothing depends on it.
//! Nothing hangs, nothing is followed, nothing is changed by looking.
//!
//! One of three rounds runs by default; `HENCE_ALTER_ALL=1` runs them all.

mod stores;

use std::collections::BTreeMap;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use hence_testkit::cli::World;
use serde_json::Value;

use stores::{GROUPS, world};

/// The time after which a command counts as hanging.
const HANGS: Duration = Duration::from_secs(120);

/// The size of a file that is a hole, which costs whoever sends it nothing.
const HOLE_BYTES: u64 = 8 << 30;

/// The ways to alter a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Alteration {
    Delete,
    Empty,
    CutThird,
    CutHalf,
    CutLast,
    FlipFirst,
    FlipThird,
    FlipMiddle,
    FlipLast,
    AppendNul,
    AppendBlank,
    AppendLine,
    Swap,
    Link,
    DanglingLink,
    Pipe,
    Folder,
    Hole,
}

use Alteration::*;

const ALL: [Alteration; 18] = [
    Delete,
    Empty,
    CutThird,
    CutHalf,
    CutLast,
    FlipFirst,
    FlipThird,
    FlipMiddle,
    FlipLast,
    AppendNul,
    AppendBlank,
    AppendLine,
    Swap,
    Link,
    DanglingLink,
    Pipe,
    Folder,
    Hole,
];

impl Alteration {
    /// Alters a file; returns whether it now is another one.
    fn apply(self, path: &Path, world: &World) -> bool {
        let bytes = std::fs::read(path).unwrap();
        let flip = |at: usize| {
            let mut flipped = bytes.clone();
            flipped.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1);
            flipped
        };
        let with = |more: &[u8]| [&bytes, more].concat();
        let new = match self {
            Empty => Vec::new(),
            CutThird => bytes[..bytes.len() / 3].to_vec(),
            CutHalf => bytes[..bytes.len() / 2].to_vec(),
            CutLast => bytes[..bytes.len().saturating_sub(1)].to_vec(),
            FlipFirst => flip(0),
            FlipThird => flip(bytes.len() / 3),
            FlipMiddle => flip(bytes.len() / 2),
            FlipLast => flip(bytes.len().saturating_sub(1)),
            AppendNul => with(b"\0"),
            AppendBlank => with(b" "),
            AppendLine => with(b"{}\n"),
            Swap => neighbour(path).unwrap_or_else(|| bytes.clone()),
            Hole => {
                std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(HOLE_BYTES).unwrap();
                return true;
            }
            Delete | Link | DanglingLink | Pipe | Folder => {
                std::fs::remove_file(path).unwrap();
                match self {
                    Link => {
                        world.write("elsewhere", &bytes);
                        symlink(world.path("elsewhere"), path).unwrap();
                    }
                    DanglingLink => symlink("/nowhere/at/all", path).unwrap(),
                    Pipe => {
                        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success())
                    }
                    Folder => std::fs::create_dir(path).unwrap(),
                    _ => {}
                }
                return true;
            }
        };
        std::fs::write(path, &new).unwrap();
        new != bytes
    }

    /// Returns whether something else than a file with other bytes is there.
    fn is_strange(self) -> bool {
        matches!(self, Link | DanglingLink | Pipe | Hole)
    }
}

/// Returns the bytes of another run's file of the same name.
fn neighbour(path: &Path) -> Option<Vec<u8>> {
    let (run, name) = (path.parent()?, path.file_name()?);
    let own = std::fs::read(path).ok()?;
    let mut runs: Vec<PathBuf> =
        std::fs::read_dir(run.parent()?).ok()?.map(|entry| entry.unwrap().path()).collect();
    runs.sort();
    runs.into_iter().filter_map(|other| std::fs::read(other.join(name)).ok()).find(|bytes| *bytes != own)
}

/// The expected result of an alteration.
#[derive(Debug)]
enum Expected {
    /// It is named, with this word in the finding.
    Named(&'static str),
    /// Nothing depends on it, or nothing can show it.
    Nothing,
}

/// The table: what depends on each file of a run, and what nothing can show.
fn expected(name: &str, alteration: Alteration) -> Expected {
    use Expected::{Named, Nothing};
    match (name, alteration) {
        // Whatever it was: a store holds plain files of a reasonable size.
        (name, strange) if strange.is_strange() => match name {
            "trace.ndjson" => Named(""),
            _ => Named("limit|link|pipe|cannot"),
        },
        ("trace.ndjson", _) => Named(""),
        // Documents are compared as values: white space around one changes nothing.
        (
            "problem.json" | "skill.json" | "skills.json" | "capabilities.json" | "trace.json" | "retry.json",
            AppendBlank,
        ) => Nothing,
        // The line feed at the end of a trace.
        ("trace.json", CutLast) => Nothing,
        ("trace.json", _) => Named("trace|JSON"),
        ("problem.json", _) => Named("problem"),
        ("skill.json", _) => Named("skill"),
        ("skills.json", _) => Named("skill"),
        ("capabilities.json", _) => Named("capabilities"),
        // The retry names the run that it retries, so the claim may be missing.
        ("retry.json", Delete) => Nothing,
        ("retry.json", _) => Named("retry.json"),
        // No record covers what happened after the last one: a cut call log cannot be told from a shorter one.
        ("calls.ndjson", Delete | Empty | CutThird | CutHalf | CutLast | AppendNul | AppendBlank) => Nothing,
        ("calls.ndjson", FlipLast) => Nothing,
        ("calls.ndjson", _) => Named("calls.ndjson"),
        // Measurements, hashed by nothing.
        ("times.ndjson" | "times-elsewhere.ndjson", _) => Nothing,
        // A cache with a digest: an altered one is not used.
        ("snapshot", _) => Nothing,
        // The name of the last writer.
        ("lock", Folder) => Named("folder"),
        ("lock", _) => Nothing,
        // Takes away the right to act, and gives none.
        ("made", Folder) => Named("folder"),
        ("made", _) => Nothing,
        other => panic!("the table lacks {other:?}"),
    }
}

/// The content of a store: everything, with kinds and bytes.
fn content(folder: &Path, found: &mut BTreeMap<PathBuf, (String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let meta = path.symlink_metadata().unwrap();
        let kind = meta.file_type();
        let shown = format!("{kind:?} {}", meta.len());
        if kind.is_dir() {
            found.insert(path.clone(), (shown, Vec::new()));
            content(&path, found);
        } else {
            let is_read = kind.is_file() && !kind.is_fifo() && meta.len() < HOLE_BYTES;
            let bytes = if is_read { std::fs::read(&path).unwrap() } else { Vec::new() };
            found.insert(path, (shown, bytes));
        }
    }
}

fn whole(world: &World) -> BTreeMap<PathBuf, (String, Vec<u8>)> {
    let mut found = BTreeMap::new();
    content(&world.path(".hence"), &mut found);
    found
}

/// Runs a command that must end, must not crash and must change nothing, and returns its code and everything it said.
fn look(world: &World, arguments: &[&str], about: &str) -> (i32, String) {
    let before = whole(world);
    let out = world.path("said");
    let mut command = world.command(arguments);
    command.stdout(std::fs::File::create(&out).unwrap());
    command.stderr(std::fs::File::create(world.path("said-aside")).unwrap());
    let mut child = command.spawn().unwrap();
    let code = wait(&mut child).unwrap_or_else(|| panic!("{arguments:?} hangs: {about}"));
    let said = String::from_utf8_lossy(&std::fs::read(out).unwrap()).into_owned();
    let aside = String::from_utf8_lossy(&world.read("said-aside")).into_owned();
    assert!(!aside.contains("panicked") && (0..=4).contains(&code), "{arguments:?}: {code} {aside}: {about}");
    let after = whole(world);
    for path in before.keys().chain(after.keys()) {
        assert!(before.get(path) == after.get(path), "{arguments:?} changes {}: {about}", path.display());
    }
    (code, said + &aside)
}

fn wait(child: &mut Child) -> Option<i32> {
    let end = Instant::now() + HANGS;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status.code().unwrap_or(-1));
        }
        if Instant::now() > end {
            child.kill().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Puts a file back.
fn restore(path: &Path, bytes: &[u8]) {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => std::fs::remove_dir(path).unwrap(),
        Ok(_) => std::fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
    std::fs::write(path, bytes).unwrap();
}

fn is_whole_test() -> bool {
    std::env::var_os("HENCE_ALTER_ALL").is_some()
}

/// Returns the findings about each run, by the name that reports give it.
fn findings(said: &str) -> Option<Vec<(String, String)>> {
    let report: Value =
        serde_json::from_str(said.split("\n}\n").next().map(|head| format!("{head}\n}}"))?.as_str()).ok()?;
    let rows = report["broken"].as_array()?.iter();
    let text = |row: &Value| format!("{} {}", row["verdict"], row["findings"]);
    Some(rows.map(|row| (row["run"].as_str().unwrap().to_owned(), text(row))).collect())
}

fn has_word(text: &str, words: &str) -> bool {
    words.split('|').any(|word| text.contains(word))
}

/// Alters one file of every run in the same way, looks, and puts them back. Returns what is wrong.
fn round(world: &World, files: &[(String, String)], alteration: Alteration) -> Vec<String> {
    let mut altered: Vec<(String, &str, Vec<u8>, bool)> = Vec::new();
    // A hole costs nothing to make and, in a journal, 64 MiB to look at.
    let most = if alteration == Hole { 3 } else { files.len() };
    for (run, name) in files.iter().take(most) {
        let path = world.path(format!(".hence/{run}/{name}"));
        let bytes = std::fs::read(&path).unwrap();
        altered.push((run.clone(), name, bytes, false));
    }
    for (run, name, _, is_other) in &mut altered {
        *is_other = alteration.apply(&world.path(format!(".hence/{run}/{name}")), world);
    }
    let about = format!("{alteration:?} {files:?}");
    let (all_code, all) = look(world, &["verify", "--all", "--json"], &about);
    let (doctor_code, doctor) = look(world, &["doctor", "--json"], &about);
    let rows = findings(&all).unwrap_or_else(|| panic!("no report: {about}: {all}"));
    let mut wrong = Vec::new();
    let mut any_named = false;
    for (run, name, _, is_other) in &altered {
        let Expected::Named(words) = expected(name, alteration) else { continue };
        if !is_other {
            continue;
        }
        any_named = true;
        let (store, folder) = run.rsplit_once("runs/").unwrap();
        let id = format!("{store}{}", folder.replace("%2f", "/"));
        let in_verify = rows.iter().any(|(named, text)| *named == id && has_word(text, words));
        let place = format!("{run}/{name}");
        let bare = folder.replace("%2f", "/");
        let in_doctor = doctor.lines().any(|line| {
            let is_about = line.contains(&place)
                || line.contains(&format!("run {bare}: "))
                || line.contains(&format!("review {bare} "));
            is_about && has_word(line, words)
        });
        if !in_verify {
            wrong.push(format!("{alteration:?} {place}: verify --all is silent: {rows:?}"));
        }
        if !in_doctor {
            wrong.push(format!("{alteration:?} {place}: doctor is silent: {doctor}"));
        }
    }
    if any_named && (all_code == 0 || doctor_code == 0) {
        wrong.push(format!("{about}: exit codes {all_code} and {doctor_code}"));
    }
    // One of the runs by itself, another one each time.
    let own: Vec<_> = altered.iter().filter(|(run, ..)| run.starts_with("runs/")).collect();
    let (run, name, _, is_other) = own[(alteration as usize + name_number(files)) % own.len()];
    let id = run.strip_prefix("runs/").unwrap().replace("%2f", "/");
    let (code, said) = look(world, &["verify", &id], &about);
    match expected(name, alteration) {
        Expected::Named(words) if *is_other && (code == 0 || !has_word(&said, words)) => {
            wrong.push(format!("{alteration:?} {run}/{name}: verify {id} ends with {code}: {said}"));
        }
        _ => {}
    }
    for (run, name, bytes, _) in &altered {
        restore(&world.path(format!(".hence/{run}/{name}")), bytes);
    }
    wrong
}

fn name_number(files: &[(String, String)]) -> usize {
    files.iter().map(|(_, name)| name.len()).sum()
}

#[test]
fn every_altered_file_of_every_run_is_named() {
    let world = world();
    let runs: Vec<(String, Vec<String>)> = GROUPS
        .iter()
        .flat_map(|group| group.iter())
        .map(|run| {
            let folder = world.path(format!(".hence/{run}"));
            let mut names: Vec<String> = std::fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            ((*run).to_owned(), names)
        })
        .collect();
    let deepest = runs.iter().map(|(_, names)| names.len()).max().unwrap();
    let (mut wrong, mut rounds) = (Vec::new(), 0);
    for at in 0..deepest {
        let files: Vec<(String, String)> =
            runs.iter().filter_map(|(run, names)| Some((run.clone(), names.get(at)?.clone()))).collect();
        for alteration in ALL {
            rounds += 1;
            // Those that can hang or lead elsewhere always run.
            let is_chosen = matches!(alteration, Delete | FlipMiddle | Pipe) || rounds % 4 == at % 4;
            if is_chosen || is_whole_test() {
                wrong.extend(round(&world, &files, alteration));
            }
        }
    }
    assert!(wrong.is_empty(), "{} alterations:\n{}", wrong.len(), wrong.join("\n"));
    let (code, said) = look(&world, &["verify", "--all"], "everything was put back");
    assert_eq!(code, 0, "{said}");
}

#[test]
fn every_altered_file_of_the_store_itself_is_named() {
    let world = world();
    let mut blobs = Vec::new();
    for shelf in std::fs::read_dir(world.path(".hence/blobs")).unwrap() {
        let shelf = shelf.unwrap().path();
        blobs.extend(std::fs::read_dir(&shelf).unwrap().map(|entry| entry.unwrap().path()));
    }
    blobs.sort();
    assert!(blobs.len() >= 3, "{blobs:?}");
    let mut files: Vec<(PathBuf, bool)> = blobs.into_iter().map(|path| (path, true)).collect();
    files.push((world.path(".hence/format"), true));
    files.push((world.path(".hence/scopes/format"), true));
    files.push((world.path(".hence/reviews/format"), true));
    // A cache: nothing depends on it, whatever it says.
    files.push((world.path(".hence/index"), false));
    let mut wrong = Vec::new();
    for (number, (path, matters)) in files.iter().enumerate() {
        for (kind, alteration) in ALL.into_iter().enumerate() {
            let is_chosen = matches!(alteration, Delete | Pipe | Hole) || (number + kind) % 5 == 0;
            if !is_chosen && !is_whole_test() {
                continue;
            }
            let bytes = std::fs::read(path).unwrap();
            let is_other = alteration.apply(path, &world);
            let about = format!("{alteration:?} {}", path.display());
            for command in [&["verify", "--all"][..], &["doctor"]] {
                let (code, said) = look(&world, command, &about);
                let name = path.file_name().unwrap().to_str().unwrap();
                let is_named = code != 0 && said.contains(name);
                if is_other && *matters && !is_named {
                    wrong.push(format!("{command:?} {about}: {code} {said}"));
                }
                let is_strange_index = alteration.is_strange() && alteration != Hole;
                if !*matters && (code != 0) != is_strange_index {
                    wrong.push(format!("{command:?} {about}: a cache matters: {code} {said}"));
                }
            }
            restore(path, &bytes);
        }
    }
    assert!(wrong.is_empty(), "{} alterations:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn renamed_swapped_and_replaced_folders_are_named() {
    let world = world();
    let at = |name: &str| world.path(format!(".hence/{name}"));
    let both: [&[&str]; 2] = [&["verify", "--all"], &["doctor"]];
    let named = |words: &str, about: &str| {
        for command in both {
            let (code, said) = look(&world, command, about);
            assert!(code != 0 && has_word(&said, words), "{command:?} {about}: {code} {said}");
        }
    };
    for (from, to) in [
        ("runs/plain", "runs/other"),
        ("runs/plain", "runs/Not a name"),
        ("runs/plain", "runs/%%0000"),
        ("runs/v", "runs/waiting%2fv"),
        ("scopes/runs/global", "scopes/runs/session"),
    ] {
        std::fs::rename(at(from), at(to)).unwrap();
        let last = to.rsplit('/').next().unwrap();
        named(&format!("{last}|{}", last.replace("%2f", "/")), &format!("{from} is now {to}"));
        std::fs::rename(at(to), at(from)).unwrap();
    }
    for folder in ["runs/plain", "runs", "blobs", "tmp", "scopes", "reviews", "scopes/runs", "reviews/runs"] {
        let aside = world.path("aside");
        std::fs::rename(at(folder), &aside).unwrap();
        symlink(&aside, at(folder)).unwrap();
        named("link", &format!("{folder} is a link"));
        std::fs::remove_file(at(folder)).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at(folder)).status().unwrap().success());
        named("pipe", &format!("{folder} is a pipe"));
        std::fs::remove_file(at(folder)).unwrap();
        std::fs::rename(&aside, at(folder)).unwrap();
    }
    // Two runs that change places are both named.
    std::fs::rename(at("runs/plain"), at("runs/q")).unwrap();
    std::fs::rename(at("runs/bound"), at("runs/plain")).unwrap();
    std::fs::rename(at("runs/q"), at("runs/bound")).unwrap();
    named("those of another run|its journal is that of run", "swapped");
}
