//! Finding what an id means in a review.

use crate::model::SubjectType;

use super::review::Review;

impl Review {
    /// Returns what an id means: an item, else a gap, else a comment.
    pub fn subject(&self, id: &str) -> Option<SubjectType> {
        if self.item(id).is_some() {
            Some(SubjectType::Item)
        } else if self.gap(id).is_some() {
            Some(SubjectType::Residual)
        } else if self.comments.contains(id) {
            Some(SubjectType::Comment)
        } else {
            None
        }
    }
}
