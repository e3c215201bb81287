//! The report of a verification, for people and programs.

use std::collections::{BTreeMap, BTreeSet};

use crate::commands::replay::called_text;
use crate::prelude::*;
use crate::skills::LinkRow;

/// The result of verifying a journal.
#[derive(Serialize, JsonSchema)]
pub(crate) struct VerifyReport {
    /// The run or file.
    pub(crate) target: String,
    /// Whether no checked level and no link is broken.
    pub(crate) holds: bool,
    /// The number of lines of the journal.
    pub(crate) records: u64,
    /// The number of records that hold, counted from the first, as far as was checked.
    pub(crate) intact: u64,
    /// The head of the journal, when the chain holds.
    pub(crate) head: Option<String>,
    /// Whether the journal is that of a complete run, when that could be judged.
    pub(crate) complete: Option<bool>,
    /// The result of each level, cheapest first.
    pub(crate) levels: Vec<LevelRow>,
    /// The runs it is linked to, and whether they match the links in its records.
    pub(crate) links: Vec<LinkRow>,
    /// The large values that its records refer to and that are missing or altered, from level spec on.
    pub(crate) blobs: Vec<BlobRow>,
    /// The defects of files next to the journal that records do not cover: the call log, the claim of a retry.
    pub(crate) beside: Vec<String>,
    /// The difference between the snapshot from which commands read the run and its journal, from level spec on.
    pub(crate) snapshot: Option<String>,
    /// The declared capabilities that were called to compute steps again, each with the number of calls; none without
    /// `--execute`.
    pub(crate) called: BTreeMap<String, u64>,
    /// The properties that the performed checks cannot show.
    pub(crate) not_shown: Vec<&'static str>,
}

/// The result of verifying every run of a store.
#[derive(Serialize, JsonSchema)]
pub(crate) struct VerifyAllReport {
    /// Whether every run holds.
    pub(crate) holds: bool,
    /// The number of runs.
    pub(crate) runs: u64,
    /// The number of their records.
    pub(crate) records: u64,
    /// The runs that do not hold.
    pub(crate) broken: Vec<BrokenRun>,
}

/// A run that does not hold.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BrokenRun {
    /// The run.
    pub(crate) run: String,
    /// The verdict in one line.
    pub(crate) verdict: String,
    /// The broken level or file, and the reason.
    pub(crate) findings: Vec<String>,
    /// Whether it is a run, and not the store itself.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) is_run: bool,
}

impl Text for VerifyAllReport {
    fn text(&self) -> String {
        // A run may have several findings, and some are not about a run.
        let broken = self.broken.iter().filter(|broken| broken.is_run).map(|broken| &broken.run);
        let held = self.runs.saturating_sub(broken.collect::<BTreeSet<_>>().len() as u64);
        let holding =
            if self.runs == 1 { "1 run holds".to_owned() } else { format!("{} runs hold", self.runs) };
        let mut text = format!("{held} of {holding}, {}\n", counted(self.records, "record"));
        let mut rows = Vec::new();
        for broken in &self.broken {
            rows.push([format!("  {}", escape(&broken.run)), escape(&broken.verdict)]);
            rows.extend(
                broken.findings.iter().map(|finding| [String::new(), format!("  {}", escape(finding))]),
            );
        }
        text.push_str(&columns(&rows));
        text
    }
}

/// A large value that is not what a record refers to.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BlobRow {
    /// The digest by which a record refers to it.
    pub(crate) sha256: String,
    /// `missing`, `altered` or `unreadable`.
    pub(crate) verdict: &'static str,
}

/// The result of one level.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LevelRow {
    /// `bytes`, `chain`, `linked`, `spec`, `replay` or `anchored`.
    pub(crate) level: &'static str,
    /// `holds`, `broken` or `not_checked`.
    pub(crate) verdict: &'static str,
    /// The first bad line, from 0.
    pub(crate) line: Option<u64>,
    /// All defects of that line.
    pub(crate) reasons: Vec<ReasonRow>,
    /// The reasons why the level, or part of it, was not checked.
    pub(crate) unchecked: Vec<String>,
}

/// One defect.
#[derive(PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ReasonRow {
    /// The code of the defect; it is stable.
    pub(crate) code: &'static str,
    /// The member with the defect.
    pub(crate) member: Option<&'static str>,
    /// The expected value.
    pub(crate) expected: Option<String>,
    /// The found value.
    pub(crate) found: Option<String>,
}

/// The digits of a digest that are shown to people.
const DIGEST_CHARACTERS: usize = 12;
/// The characters of a reason's text that are shown to people.
const DETAIL_CHARACTERS: usize = 120;

impl Text for VerifyReport {
    fn text(&self) -> String {
        let mut text = format!("{}: {}\n", escape(&self.target), self.verdict());
        if let Some(extent) = self.extent() {
            text.push_str(&format!("  {extent}\n"));
        }
        let mut rows = Vec::new();
        for (position, row) in self.levels.iter().enumerate() {
            let mut details = row.details(self.levels.iter().take(position)).into_iter();
            let verdict = row.verdict.replace('_', " ");
            rows.push([format!("  {}", row.level), verdict, details.next().unwrap_or_default()]);
            rows.extend(details.map(|detail| [String::new(), String::new(), detail]));
        }
        text.push_str(&columns(&rows));
        // The unchecked parts of the highest level that holds: a higher level may have checked what a lower one could not.
        let highest = self.levels.iter().rev().find(|row| row.verdict == "holds" && row.level != "anchored");
        if let Some(row) = highest {
            for unchecked in &row.unchecked {
                text.push_str(&format!("  {}: not checked: {}\n", row.level, escape(unchecked)));
            }
        }
        for blob in &self.blobs {
            text.push_str(&format!("blob {}: {}, and a record refers to it\n", blob.sha256, blob.verdict));
        }
        for defect in &self.beside {
            text.push_str(&format!("{}\n", escape(defect)));
        }
        if let Some(snapshot) = &self.snapshot {
            text.push_str(&format!("{snapshot}\n"));
        }
        text.push_str(&self.linked());
        if let Some(called) = called_text(&self.called) {
            text.push_str(&format!("{called}\n"));
        }
        if let Some(head) = &self.head {
            text.push_str(&format!("head {head}\n"));
        }
        if self.complete == Some(false) {
            text.push_str("the run is unfinished: more records should follow\n");
        }
        text.push_str("not shown by these checks:\n");
        for sentence in &self.not_shown {
            text.push_str(&format!("  {sentence}\n"));
        }
        text
    }
}

impl VerifyReport {
    fn broken(&self, level: &str) -> bool {
        self.levels.iter().any(|row| row.level == level && row.verdict == "broken")
    }

    /// Returns the verdict in one line.
    pub(crate) fn verdict(&self) -> String {
        let records = self.records;
        let hold = if records == 1 { "1 record holds".to_owned() } else { format!("{records} records hold") };
        let but = match (self.holds, self.intact) {
            (true, _) => return hold,
            (false, _) if records == 0 => return "it holds no record".to_owned(),
            (false, intact) if intact < records => return format!("broken at record {intact} of {records}"),
            (false, intact) if self.broken("replay") => {
                return format!("it ends before record {intact}, which a replay writes");
            }
            (false, _) if self.broken("anchored") => "they are not the ones the head names",
            (false, _) if !self.blobs.is_empty() => "values they refer to are missing or altered",
            (false, _) if !self.beside.is_empty() => "a file next to them is not what it should be",
            (false, _) if self.snapshot.is_some() => "the snapshot that commands read is not theirs",
            (false, _) if self.links.iter().any(|link| link.relation == "name") => {
                "they are those of another run"
            }
            (false, _) => "a run they are linked to is not the one they name",
        };
        format!("{hold}, and {but}")
    }

    /// Returns everything that is broken, one line each: levels, large values, linked runs, files next to the journal.
    pub(crate) fn findings(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        let mut reasons: Option<&Vec<ReasonRow>> = None;
        // A level that includes a broken one is broken for the same reasons.
        for row in self.levels.iter().filter(|row| row.verdict == "broken") {
            if reasons.replace(&row.reasons) == Some(&row.reasons) {
                continue;
            }
            let texts: Vec<String> = row.reasons.iter().map(ReasonRow::text).collect();
            let record = row.line.unwrap_or_default();
            found.push(format!("{} broken at record {record}: {}", row.level, texts.join("; ")));
        }
        found.extend(self.blobs.iter().map(|blob| format!("blob {} is {}", blob.sha256, blob.verdict)));
        let links = self.links.iter().filter(|link| link.verdict == "broken");
        found.extend(links.map(|link| match link.relation {
            "name" => format!("its journal is that of run {}", link.run),
            relation => format!("{relation}: {}", link.detail),
        }));
        found.extend(self.beside.iter().cloned());
        found
    }

    /// Describes the comparison with linked runs.
    fn linked(&self) -> String {
        let rows = self.links.iter().map(|link| {
            let run = match link.runs {
                1 => escape(&link.run),
                runs => format!("{} and {} more", escape(&link.run), runs - 1),
            };
            let verdict = link.verdict.replace('_', " ");
            [format!("  {}", link.relation), run, verdict, escape(&link.detail)]
        });
        let rows: Vec<_> = rows.collect();
        if rows.is_empty() { String::new() } else { format!("linked runs:\n{}", columns(&rows)) }
    }

    /// Returns the sentence about which records hold and which cannot be judged.
    fn extent(&self) -> Option<String> {
        let is_broken_inside = self.intact < self.records || self.broken("replay");
        // The chain of another problem's journal holds as a chain, so this sentence would be wrong.
        let is_of_another = self.intact == 0 && !self.broken("chain") && !self.broken("bytes");
        if self.holds || self.records == 0 || !is_broken_inside || is_of_another {
            return None;
        }
        let span = |first: u64, last: u64| {
            if first == last { first.to_string() } else { format!("{first}–{last}") }
        };
        let hold = match self.intact {
            0 => "no record holds".to_owned(),
            1 => "record 0 holds".to_owned(),
            intact => format!("records {} hold", span(0, intact - 1)),
        };
        let after = self.intact + 1;
        if after >= self.records || !self.broken("chain") {
            return Some(hold);
        }
        Some(format!("{hold}; {} cannot be judged from here", span(after, self.records - 1)))
    }
}

impl LevelRow {
    /// Returns the reasons in lines, or a reference to a lower level with the same reasons.
    fn details<'a>(&self, mut before: impl Iterator<Item = &'a Self>) -> Vec<String> {
        let Some(line) = self.line.filter(|_| self.verdict == "broken") else {
            let is_shown = self.verdict == "not_checked" || self.level == "anchored";
            let why = if is_shown { self.unchecked.join("; ") } else { String::new() };
            return vec![escape(&why)];
        };
        let is_same = |row: &&Self| row.line == self.line && row.reasons == self.reasons;
        if let Some(before) = before.find(is_same) {
            return vec![format!("as {}", before.level)];
        }
        if self.level == "anchored" {
            return self.reasons.iter().map(ReasonRow::text).collect();
        }
        self.reasons.iter().map(|reason| format!("record {line}: {}", reason.text())).collect()
    }
}

impl ReasonRow {
    fn text(&self) -> String {
        // The stored hash of a record is not an expected value, and a found value alone needs no word before it.
        let (expected, found) = match (self.code, &self.expected) {
            ("record_hash_mismatch", _) => ("stored ", "computed "),
            ("bytes_differ", _) => ("", "differs in "),
            (_, None) => ("", ""),
            (_, Some(_)) => ("expected ", "found "),
        };
        let mut text = self.code.to_owned();
        if let Some(member) = self.member {
            text.push_str(&format!(" at {member}"));
        }
        for (word, value) in [(expected, &self.expected), (found, &self.found)] {
            if let Some(value) = value {
                text.push_str(&format!(", {word}{}", short(value)));
            }
        }
        text
    }
}

/// Shortens digests and long texts; `--json` has them whole.
fn short(value: &str) -> String {
    let is_digest = value.len() == 64 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    one_line(value, if is_digest { DIGEST_CHARACTERS } else { DETAIL_CHARACTERS })
}
