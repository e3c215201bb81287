//! The way to where a run stands, through checkpoints and rollbacks.

use crate::RecordIndex;

/// What led to where a run stands, in order.
///
/// A rollback takes things off the way and erases nothing: a later one may return to what an earlier one left. What was
/// taken up therefore stays known, each with what came before it.
#[derive(Clone, Debug)]
pub struct Way<T> {
    taken: Vec<(Option<usize>, T)>,
    /// The last thing on the way behind each record at which that changed, in order.
    ends: Vec<(RecordIndex, Option<usize>)>,
}

impl<T> Default for Way<T> {
    fn default() -> Self {
        Self { taken: Vec::new(), ends: Vec::new() }
    }
}

impl<T> Way<T> {
    /// Goes on by something that record `index` says.
    pub fn go_on(&mut self, index: RecordIndex, what: T) {
        let before = self.end();
        self.taken.push((before, what));
        self.ends.push((index, Some(self.taken.len() - 1)));
    }

    /// Returns to where the way led behind record `to`, as record `index` says.
    pub fn return_to(&mut self, index: RecordIndex, to: RecordIndex) {
        let known = self.ends.partition_point(|(behind, _)| *behind <= to);
        let end = known.checked_sub(1).and_then(|last| self.ends.get(last)).and_then(|(_, end)| *end);
        self.ends.push((index, end));
    }

    /// Returns the last thing on the way.
    pub fn last(&self) -> Option<&T> {
        self.end().and_then(|at| self.taken.get(at)).map(|(_, what)| what)
    }

    /// Returns everything on the way, the first first.
    pub fn whole(&self) -> Vec<&T> {
        let mut way = Vec::new();
        let mut at = self.end();
        while let Some((before, what)) = at.and_then(|at| self.taken.get(at)) {
            way.push(what);
            at = *before;
        }
        way.reverse();
        way
    }

    fn end(&self) -> Option<usize> {
        self.ends.last().and_then(|(_, end)| *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(index: u64) -> RecordIndex {
        RecordIndex::new(index)
    }

    #[test]
    fn a_rollback_returns_also_to_what_an_earlier_one_left() {
        let mut way = Way::default();
        assert_eq!(way.last(), None::<&char>);
        way.go_on(at(1), 'a');
        way.go_on(at(2), 'b');
        way.return_to(at(4), at(1));
        assert_eq!(way.whole(), [&'a']);
        way.go_on(at(5), 'c');
        assert_eq!((way.whole(), way.last()), (vec![&'a', &'c'], Some(&'c')));
        way.return_to(at(7), at(2));
        assert_eq!(way.whole(), [&'a', &'b']);
        way.return_to(at(8), at(4));
        assert_eq!(way.whole(), [&'a']);
        way.return_to(at(9), RecordIndex::HEADER);
        assert!(way.whole().is_empty());
    }
}
