//! The guarantee of a write.

/// The guarantee that a write gives when it returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// Survives a crash of this process, not of the machine.
    Buffered,
    /// Survives power loss, as far as the disk tells the truth.
    Synced,
}
