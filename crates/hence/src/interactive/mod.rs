//! An interactive run on the store: taken up, changed under its lease, looked at.

mod ground;
mod position;
mod session;

pub(crate) use ground::StoreGround;
pub(crate) use position::Position;
pub(crate) use session::{Session, create};
