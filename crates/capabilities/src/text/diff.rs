//! Differences between two texts, by lines.

use hence_canon::{Object, Value};

use crate::arguments::Arguments;
use crate::builtin::{BuiltIn, required};
use crate::refusal::Refusal;

/// The maximum number of pairs of lines to compare, without common beginnings and ends. 16 million take less than a
/// second.
const PAIRS_MAX: usize = 16 * 1024 * 1024;

pub(crate) const DIFF: BuiltIn = BuiltIn {
    id: "text.diff",
    does: "Compare two texts line by line",
    takes: &[required("before", "string", "One text"), required("after", "string", "The other")],
    gives: &[
        required("changes", "array", "Objects with `kind` (removed, added), `line` from 1, and `text`"),
        required("removed", "integer", "How many lines are gone"),
        required("added", "integer", "How many are new"),
        required("equal", "boolean", "Whether all lines are equal"),
    ],
    call: diff,
};

fn diff(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let before: Vec<&str> = arguments.text("before")?.lines().collect();
    let after: Vec<&str> = arguments.text("after")?.lines().collect();
    let start = before.iter().zip(&after).take_while(|(left, right)| left == right).count();
    let (old, new) = (before.get(start..).unwrap_or_default(), after.get(start..).unwrap_or_default());
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(left, right)| left == right).count();
    let old = old.get(..old.len() - end).unwrap_or_default();
    let new = new.get(..new.len() - end).unwrap_or_default();
    if old.len().saturating_mul(new.len()) > PAIRS_MAX {
        let message =
            format_args!("{} against {} lines that differ, limit is {PAIRS_MAX} pairs", old.len(), new.len());
        return Err(Refusal::too_large(message));
    }
    let (kept_old, kept_new) = common(old, new);
    let gone = lines("removed", old, &kept_old, start);
    let come = lines("added", new, &kept_new, start);
    let (removed, added) = (gone.len(), come.len());
    let changes: Vec<Object> = gone.into_iter().chain(come).collect();
    Ok(Object::from_iter([
        ("equal", Value::from(changes.is_empty())),
        ("changes", changes.into()),
        ("removed", removed.into()),
        ("added", added.into()),
    ]))
}

fn lines(kind: &str, lines: &[&str], kept: &[bool], start: usize) -> Vec<Object> {
    let left = lines.iter().zip(kept).enumerate().filter(|(_, (_, kept))| !**kept);
    let line = |(at, (text, _)): (usize, (&&str, &bool))| {
        Object::from_iter([
            ("kind", Value::from(kind)),
            ("line", (start + at + 1).into()),
            ("text", (*text).into()),
        ])
    };
    left.map(line).collect()
}

/// Returns which lines of each side belong to a longest common sequence.
///
/// This is not the algorithm of the `similar` crate, which chooses another of several longest sequences: results are
/// recorded and must not change.
fn common(old: &[&str], new: &[&str]) -> (Vec<bool>, Vec<bool>) {
    let width = new.len() + 1;
    // `length[i * width + j]` is the number of lines that `old[i..]` and `new[j..]` share in order.
    let mut length = vec![0_u32; (old.len() + 1) * width];
    let at = |length: &[u32], i: usize, j: usize| length.get(i * width + j).copied().unwrap_or(0);
    for (i, left) in old.iter().enumerate().rev() {
        for (j, right) in new.iter().enumerate().rev() {
            let here = if left == right {
                at(&length, i + 1, j + 1) + 1
            } else {
                at(&length, i + 1, j).max(at(&length, i, j + 1))
            };
            if let Some(slot) = length.get_mut(i * width + j) {
                *slot = here;
            }
        }
    }
    let (mut kept_old, mut kept_new) = (vec![false; old.len()], vec![false; new.len()]);
    let (mut i, mut j) = (0, 0);
    while let (Some(left), Some(right)) = (old.get(i), new.get(j)) {
        if left == right {
            if let (Some(one), Some(other)) = (kept_old.get_mut(i), kept_new.get_mut(j)) {
                (*one, *other) = (true, true);
            }
            (i, j) = (i + 1, j + 1);
        } else if at(&length, i + 1, j) >= at(&length, i, j + 1) {
            i += 1;
        } else {
            j += 1;
        }
    }
    (kept_old, kept_new)
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, table};

    #[test]
    fn the_fewest_lines_are_named() {
        table(
            "text.diff",
            &[
                (
                    r#"{"before": "a\nb", "after": "a\nb"}"#,
                    r#"{"equal": true, "changes": [], "removed": 0, "added": 0}"#,
                ),
                (
                    r#"{"before": "a\nb\nc", "after": "a\nx\nc\nd"}"#,
                    r#"{"equal": false, "removed": 1, "added": 2, "changes": [
                    {"kind": "removed", "line": 2, "text": "b"},
                    {"kind": "added", "line": 2, "text": "x"},
                    {"kind": "added", "line": 4, "text": "d"}]}"#,
                ),
                (
                    r#"{"before": "", "after": "a"}"#,
                    r#"{"equal": false, "removed": 0, "added": 1, "changes": [{"kind": "added", "line": 1, "text": "a"}]}"#,
                ),
            ],
        );
    }

    #[test]
    fn too_many_pairs_are_refused_rather_than_compared() {
        let many = |line: &str| format!("{line}\\n").repeat(super::PAIRS_MAX / 2048 + 1);
        let input = format!(r#"{{"before": "{}", "after": "{}"}}"#, many("a"), "b\\n".repeat(2048));
        assert_eq!(&*call("text.diff", &input).unwrap_err().class, "InputTooLarge");
    }
}
