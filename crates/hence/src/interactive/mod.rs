//! An interactive run on the store: taken up, changed under its lease, looked at.

mod ground;
mod position;
mod session;
mod spills;

pub(crate) use ground::{StoreGround, read_below};
pub(crate) use position::Position;
pub(crate) use session::{Session, create};
pub(crate) use spills::spills_of;
