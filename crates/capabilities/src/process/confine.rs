//! Confines the programs of a job: no network, no other processes, and nothing of the disk to write to but one folder.
//!
//! A process moves into namespaces of its own and then starts the supervisor, which is the first process of the new
//! namespace of processes: whatever descends from it is inside, and the kernel ends all of it with the supervisor.
//! Programs are started as an ordinary user of the namespace, who cannot undo it.

use std::path::Path;

#[cfg(target_os = "linux")]
pub(super) fn confine(writable: &Path) -> Result<(), String> {
    linux::confine(writable)
}

/// Shows the processes of the namespace in `/proc` and gives up the right to do so. The first process of the namespace calls
/// this before it starts anything.
pub(super) fn settle_inside() {
    #[cfg(target_os = "linux")]
    linux::settle_inside();
}

#[cfg(not(target_os = "linux"))]
pub(super) fn confine(_: &Path) -> Result<(), String> {
    Err("this system has no namespaces".to_owned())
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;
    use std::path::{Path, PathBuf};

    use nix::mount::{MsFlags, mount};
    use nix::sched::{CloneFlags, unshare};
    use rustix::net::netlink::SocketAddrNetlink;
    use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, sendto, socket_with};
    use rustix::thread::{
        CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
        configure_capability_in_ambient_set, set_capabilities,
    };

    /// The user of the namespace that stands for an administrator outside: one without rights inside.
    const NOBODY: u32 = 65534;

    pub(super) fn confine(writable: &Path) -> Result<(), String> {
        let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        let spaces = CloneFlags::CLONE_NEWUSER
            | CloneFlags::CLONE_NEWNS
            | CloneFlags::CLONE_NEWNET
            | CloneFlags::CLONE_NEWPID
            | CloneFlags::CLONE_NEWIPC;
        unshare(spaces).map_err(|error| format!("the kernel gives no namespaces ({error})"))?;
        identify("setgroups", "deny".to_owned())?;
        identify("uid_map", mapped(user))?;
        identify("gid_map", mapped(group))?;
        // This machine alone can be reached; tests talk to themselves. Without it they may fail, and nothing else.
        let _ = raise_loopback();
        close_disk(writable)?;
        // Without it `/proc` shows the processes outside, by numbers that mean others inside; none can be reached.
        let _ = keep_mounting();
        Ok(())
    }

    /// Lets the next program that this process starts mount file systems of the namespace.
    fn keep_mounting() -> rustix::io::Result<()> {
        let own = capabilities(None)?;
        set_capabilities(None, CapabilitySets { inheritable: CapabilitySet::SYS_ADMIN, ..own })?;
        configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true)
    }

    pub(super) fn settle_inside() {
        let none: Option<&str> = None;
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_RDONLY;
        // Refused where parts of `/proc` are hidden, as in some containers; the old one stays then.
        let _ = mount(Some("proc"), "/proc", Some("proc"), flags, none);
        let empty = CapabilitySet::empty();
        let given_up = clear_ambient_capability_set().and_then(|()| {
            set_capabilities(None, CapabilitySets { effective: empty, permitted: empty, inheritable: empty })
        });
        if given_up.is_err() {
            // A program must not get the right to mount.
            std::process::exit(1);
        }
    }

    /// Says which user of the namespace stands for this one.
    fn mapped(id: u32) -> String {
        let inside = if id == 0 { NOBODY } else { id };
        format!("{inside} {id} 1\n")
    }

    fn identify(file: &str, text: String) -> Result<(), String> {
        std::fs::write(format!("/proc/self/{file}"), text)
            .map_err(|error| format!("{file} is refused ({error})"))
    }

    /// Makes everything read-only except one folder.
    fn close_disk(writable: &Path) -> Result<(), String> {
        let none: Option<&str> = None;
        let failed = |what: &str, error: nix::Error| format!("{what} ({error})");
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)
            .map_err(|error| failed("mounts are refused", error))?;
        mount(Some(writable), writable, none, MsFlags::MS_BIND, none)
            .map_err(|error| failed("the folder cannot be kept writable", error))?;
        let here = std::env::current_dir().map_err(|error| format!("no working directory ({error})"))?;
        let table =
            std::fs::read("/proc/self/mountinfo").map_err(|error| format!("no list of mounts ({error})"))?;
        for (point, options) in table.split(|byte| *byte == b'\n').filter_map(entry) {
            if point == writable {
                continue;
            }
            let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | kept(&options);
            match mount(none, &point, none, flags, none) {
                // What lies under another mount cannot be reached either.
                Ok(()) | Err(nix::Error::EINVAL | nix::Error::ENOENT | nix::Error::EACCES)
                    if point != Path::new("/") => {}
                Ok(()) => {}
                Err(error) => return Err(failed(&format!("{} stays writable", point.display()), error)),
            }
        }
        // The folder is now another mount than the one this process stands in.
        std::env::set_current_dir(here).map_err(|error| format!("the working directory is gone ({error})"))
    }

    /// Reads the place and the options of a mount.
    fn entry(line: &[u8]) -> Option<(PathBuf, String)> {
        let mut fields = line.split(|byte| *byte == b' ').skip(4);
        let (point, options) = (fields.next()?, fields.next()?);
        Some((OsString::from_vec(unescaped(point)).into(), String::from_utf8_lossy(options).into_owned()))
    }

    /// Undoes the escapes of the kernel: a backslash and three octal digits.
    fn unescaped(text: &[u8]) -> Vec<u8> {
        let mut plain = Vec::with_capacity(text.len());
        let mut rest = text;
        while let [first, after @ ..] = rest {
            let octal = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok();
            match (first, after.get(..3).and_then(octal)) {
                (b'\\', Some(byte)) => {
                    plain.push(byte);
                    rest = after.get(3..).unwrap_or_default();
                }
                _ => {
                    plain.push(*first);
                    rest = after;
                }
            }
        }
        plain
    }

    /// Returns the flags of a mount that a namespace may not drop.
    fn kept(options: &str) -> MsFlags {
        let flag = |option: &str| match option {
            "nosuid" => MsFlags::MS_NOSUID,
            "nodev" => MsFlags::MS_NODEV,
            "noexec" => MsFlags::MS_NOEXEC,
            "noatime" => MsFlags::MS_NOATIME,
            "nodiratime" => MsFlags::MS_NODIRATIME,
            "relatime" => MsFlags::MS_RELATIME,
            _ => MsFlags::empty(),
        };
        options.split(',').map(flag).collect()
    }

    /// Starts the loopback interface, which is the first of a new network.
    fn raise_loopback() -> rustix::io::Result<()> {
        const LENGTH: u32 = 32;
        const NEW_LINK: u16 = 16;
        const REQUEST: u16 = 1;
        const UP: u32 = 1;
        // The default protocol of such sockets is that of routes and interfaces.
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        let mut message = Vec::new();
        message.extend(LENGTH.to_ne_bytes());
        message.extend(NEW_LINK.to_ne_bytes());
        message.extend(REQUEST.to_ne_bytes());
        // Sequence and port, family and type: none.
        message.extend([0; 12]);
        message.extend(1u32.to_ne_bytes());
        message.extend(UP.to_ne_bytes());
        message.extend(UP.to_ne_bytes());
        sendto(&socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0)).map(drop)
    }

    #[cfg(test)]
    mod tests {
        use std::os::unix::ffi::OsStrExt as _;

        use super::*;

        #[test]
        fn mounts_are_read_with_escapes_and_options() {
            let line = br"36 35 98:0 /mnt1 /a\040b\134c rw,nosuid,relatime shared:1 - ext3 /dev/root rw";
            let (point, options) = entry(line).unwrap();
            assert_eq!(point.as_os_str().as_bytes(), br"/a b\c");
            assert_eq!(kept(&options), MsFlags::MS_NOSUID | MsFlags::MS_RELATIME);
            assert_eq!(entry(b""), None);
        }

        #[test]
        fn an_administrator_is_nobody_inside() {
            assert_eq!((mapped(0), mapped(1000)), ("65534 0 1\n".to_owned(), "1000 1000 1\n".to_owned()));
        }
    }
}
