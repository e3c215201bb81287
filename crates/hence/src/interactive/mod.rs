//! An interactive run on the store: taken up, changed under its lease, looked at.

mod commons;
mod ground;
pub(crate) mod linked;
mod loaded;
mod position;
mod session;
mod spills;

pub(crate) use commons::Commons;
pub(crate) use ground::{StoreGround, read_below};
pub(crate) use loaded::Loaded;
pub(crate) use position::Position;
use session::whole_lines;
pub(crate) use session::{Session, create};
pub(crate) use spills::spills_of;
