//! What stands against an approval.

use crate::vocabulary::{ResidualSeverity, ResidualStatus, ReviewItemStatus};

use super::entry::RecheckOutcome;
use super::state::Review;

/// Something that stands against an approval.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// A blocking item is neither resolved nor waived.
    #[error("the blocking item {0} is open")]
    BlockingItem(String),
    /// A gap of high or critical severity is open.
    #[error("the gap {0} is open")]
    OpenResidual(String),
    /// A claim that can be checked has not been.
    #[error("the claim {0} has not been checked again")]
    Unchecked(String),
    /// A claim was checked and does not hold.
    #[error("the claim {0} did not hold when checked again")]
    Diverged(String),
    /// A change on a high-stakes path is neither verified nor declared as a gap.
    #[error("{0} was changed and neither verified nor declared")]
    UndeclaredGap(String),
}

/// Lists what stands against an approval; nothing means it can be given.
pub fn obstacles(review: &Review) -> Vec<Obstacle> {
    let is_open = |status| matches!(status, ReviewItemStatus::Open | ReviewItemStatus::Acknowledged);
    let items = review.items.iter().filter(|item| item.item.blocking && is_open(item.status));
    let mut found: Vec<Obstacle> =
        items.map(|item| Obstacle::BlockingItem(item.item.review_item_id.to_string())).collect();
    let blocks = |severity: &Option<ResidualSeverity>, status: &ResidualStatus| {
        *status == ResidualStatus::Open && severity.is_some_and(|severity| severity >= ResidualSeverity::High)
    };
    let gaps = review.residuals.iter().filter(|(_, (severity, status))| blocks(severity, status));
    found.extend(gaps.map(|(id, _)| Obstacle::OpenResidual(id.clone())));
    for claim in &review.claims {
        match review.rechecks.get(claim) {
            None => found.push(Obstacle::Unchecked(claim.clone())),
            Some(RecheckOutcome::Diverged) => found.push(Obstacle::Diverged(claim.clone())),
            Some(RecheckOutcome::Confirmed | RecheckOutcome::Accepted) => {}
        }
    }
    found.extend(review.undeclared_high.iter().cloned().map(Obstacle::UndeclaredGap));
    found
}
