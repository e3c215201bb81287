//! The path of a run through its checkpoints and rollbacks.

use crate::RecordIndex;

/// The items that led to the present position of a run, in order.
///
/// A rollback takes items off the path and erases nothing: a later rollback may return to items that an earlier one
/// took off. So every item stays, with a link to the item before it.
#[derive(Clone, Debug)]
pub struct ActivePath<T> {
    items: Vec<(Option<usize>, T)>,
    /// The last item of the path after each record that changed it, in order.
    ends: Vec<(RecordIndex, Option<usize>)>,
}

impl<T> Default for ActivePath<T> {
    fn default() -> Self {
        Self { items: Vec::new(), ends: Vec::new() }
    }
}

impl<T> ActivePath<T> {
    /// Appends an item that record `index` adds.
    pub fn push(&mut self, index: RecordIndex, item: T) {
        self.items.push((self.end(), item));
        self.ends.push((index, Some(self.items.len() - 1)));
    }

    /// Returns to the path as it was after record `to`; record `index` is the rollback.
    pub fn rollback_to(&mut self, index: RecordIndex, to: RecordIndex) {
        let known = self.ends.partition_point(|(after, _)| *after <= to);
        let end = known.checked_sub(1).and_then(|last| self.ends.get(last)).and_then(|(_, end)| *end);
        self.ends.push((index, end));
    }

    /// Returns the last item of the path.
    pub fn last(&self) -> Option<&T> {
        self.end().and_then(|at| self.items.get(at)).map(|(_, item)| item)
    }

    /// Returns the items of the path, first to last.
    pub fn to_vec(&self) -> Vec<&T> {
        let mut path = Vec::new();
        let mut at = self.end();
        while let Some((before, item)) = at.and_then(|at| self.items.get(at)) {
            path.push(item);
            at = *before;
        }
        path.reverse();
        path
    }

    fn end(&self) -> Option<usize> {
        self.ends.last().and_then(|(_, end)| *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollback_can_return_to_items_that_an_earlier_one_took_off() {
        let at = RecordIndex::new;
        let mut path = ActivePath::default();
        assert_eq!(path.last(), None::<&char>);
        path.push(at(1), 'a');
        path.push(at(2), 'b');
        path.rollback_to(at(4), at(1));
        assert_eq!(path.to_vec(), [&'a']);
        path.push(at(5), 'c');
        assert_eq!((path.to_vec(), path.last()), (vec![&'a', &'c'], Some(&'c')));
        path.rollback_to(at(7), at(2));
        assert_eq!(path.to_vec(), [&'a', &'b']);
        path.rollback_to(at(8), at(4));
        assert_eq!(path.to_vec(), [&'a']);
        path.rollback_to(at(9), RecordIndex::HEADER);
        assert!(path.to_vec().is_empty());
    }
}
