//! Interactive runs in the store: reading them, and changing them while holding their lease.

mod caller_time;
mod ground;
pub(crate) mod linked;
mod linked_check;
mod loaded;
mod moments;
mod position;
mod session;
mod shared_scopes;
mod skill_scopes;
mod spills;
pub(crate) mod stored_run;

pub(crate) use caller_time::CallerTime;
pub(crate) use ground::{StoreVariableFiles, read_below};
pub(crate) use linked_check::linked_tasks;
pub(crate) use loaded::Loaded;
pub(crate) use moments::{ChangeClock, MomentRow, Moments};
pub(crate) use position::Position;
use session::whole_lines;
pub(crate) use session::{Session, create, lease_of};
pub(crate) use shared_scopes::{SCOPES, SharedScopes, scope_identity};
pub(crate) use skill_scopes::{publish_skill, read_shared};
pub(crate) use spills::spills_of;
