//! The messages between caller and supervisor: the job, then events.
//!
//! Numbers are 64 bits, big endian; a text is its length and its bytes. Both ends are the same executable, so there is
//! one version.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use super::{Confinement, Delivery, Program};

/// The largest text: larger than any input, and small enough to refuse a number that is none.
const TEXT_BYTES_MAX: u64 = 1 << 32;

/// A job for the supervisor. Its folder is that of the supervisor's process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Order {
    pub(super) programs: Vec<Program>,
    pub(super) input: Option<Vec<u8>>,
    /// Whether the caller asked for programs that are confined, and wants to know whether they are.
    pub(super) is_confined: bool,
}

/// An event that the supervisor reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Event {
    /// The order was read, and the first program is about to be started.
    Starting,
    /// A program could not be started; the system's error number.
    NotStarted { program: usize, error: i32 },
    /// The programs are confined, or the reason why they are not.
    Confined(Confinement),
    /// All programs were started. The number is that of their process group.
    Started(i32),
    /// The input was handed over, or can no longer be.
    Input(Delivery),
    /// All programs have exited; this is the status of the last.
    Exited(ExitStatus),
}

pub(super) fn write_order(order: &Order, to: &mut impl Write) -> io::Result<()> {
    // One write for all that is small: a supervisor starts nothing before it has everything.
    let mut head = Vec::new();
    put_number(&mut head, order.programs.len() as u64);
    for program in &order.programs {
        put_text(&mut head, program.path.as_bytes());
        put_number(&mut head, program.arguments.len() as u64);
        program.arguments.iter().for_each(|argument| put_text(&mut head, argument.as_bytes()));
        put_number(&mut head, program.environment.len() as u64);
        for (name, value) in &program.environment {
            put_text(&mut head, name.as_bytes());
            put_text(&mut head, value.as_bytes());
        }
    }
    put_number(&mut head, u64::from(order.is_confined));
    put_number(&mut head, u64::from(order.input.is_some()));
    let input = order.input.as_deref().unwrap_or_default();
    put_number(&mut head, input.len() as u64);
    to.write_all(&head)?;
    to.write_all(input)
}

pub(super) fn read_order(from: &mut impl Read) -> io::Result<Order> {
    let mut programs = Vec::new();
    for _ in 0..number(from)? {
        let path = os_text(from)?;
        let arguments = (0..number(from)?).map(|_| os_text(from)).collect::<io::Result<_>>()?;
        let environment =
            (0..number(from)?).map(|_| Ok((os_text(from)?, os_text(from)?))).collect::<io::Result<_>>()?;
        programs.push(Program { path, arguments, environment });
    }
    let is_confined = number(from)? != 0;
    let has_input = number(from)? != 0;
    let input = text(from)?;
    Ok(Order { programs, input: has_input.then_some(input), is_confined })
}

pub(super) fn write_event(event: &Event, to: &mut impl Write) -> io::Result<()> {
    let mut bytes = Vec::new();
    match event {
        Event::NotStarted { program, error } => {
            bytes.push(b'N');
            put_number(&mut bytes, *program as u64);
            put_signed(&mut bytes, *error);
        }
        Event::Starting => bytes.push(b'B'),
        Event::Confined(Confinement::Confined) => bytes.push(b'I'),
        Event::Confined(Confinement::Open(reason)) => {
            bytes.push(b'O');
            put_text(&mut bytes, reason.as_bytes());
        }
        Event::Started(group) => {
            bytes.push(b'S');
            put_signed(&mut bytes, *group);
        }
        Event::Input(Delivery::Whole) => bytes.push(b'W'),
        Event::Input(Delivery::Unread) => bytes.push(b'U'),
        Event::Input(Delivery::Cut { delivered, reason }) => {
            bytes.push(b'C');
            put_number(&mut bytes, *delivered);
            put_text(&mut bytes, reason.as_bytes());
        }
        Event::Exited(status) => {
            bytes.push(b'E');
            put_signed(&mut bytes, status.into_raw());
        }
    }
    to.write_all(&bytes)
}

pub(super) fn read_event(from: &mut impl Read) -> io::Result<Event> {
    let mut kind = [0];
    from.read_exact(&mut kind)?;
    Ok(match kind {
        [b'N'] => {
            let program = usize::try_from(number(from)?).map_err(|_| invalid())?;
            Event::NotStarted { program, error: signed(from)? }
        }
        [b'B'] => Event::Starting,
        [b'I'] => Event::Confined(Confinement::Confined),
        [b'O'] => Event::Confined(Confinement::Open(String::from_utf8_lossy(&text(from)?).into_owned())),
        [b'S'] => Event::Started(signed(from)?),
        [b'W'] => Event::Input(Delivery::Whole),
        [b'U'] => Event::Input(Delivery::Unread),
        [b'C'] => {
            let delivered = number(from)?;
            let reason = String::from_utf8_lossy(&text(from)?).into_owned();
            Event::Input(Delivery::Cut { delivered, reason })
        }
        [b'E'] => Event::Exited(ExitStatus::from_raw(signed(from)?)),
        _ => return Err(invalid()),
    })
}

fn put_number(to: &mut Vec<u8>, number: u64) {
    to.extend(number.to_be_bytes());
}

fn put_signed(to: &mut Vec<u8>, number: i32) {
    to.extend(i64::from(number).to_be_bytes());
}

fn put_text(to: &mut Vec<u8>, text: &[u8]) {
    put_number(to, text.len() as u64);
    to.extend_from_slice(text);
}

fn number(from: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_be_bytes(bytes))
}

fn signed(from: &mut impl Read) -> io::Result<i32> {
    i32::try_from(number(from)?.cast_signed()).map_err(|_| invalid())
}

fn text(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let length = number(from)?;
    if length > TEXT_BYTES_MAX {
        return Err(invalid());
    }
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
}

fn os_text(from: &mut impl Read) -> io::Result<OsString> {
    text(from).map(OsString::from_vec)
}

fn invalid() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "not what a supervisor and its caller say")
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn orders_and_events_read_back_and_no_part_of_an_order_is_one() {
        let program = |path: &str| Program {
            path: path.into(),
            arguments: vec!["a b".into(), OsStr::from_bytes(b"\xff").to_owned()],
            environment: vec![("PATH".into(), "/bin".into())],
        };
        let programs = vec![program("x"), program("y")];
        let order = Order { programs, input: Some(vec![1, 2, 3]), is_confined: true };
        let mut bytes = Vec::new();
        write_order(&order, &mut bytes).unwrap();
        assert_eq!(read_order(&mut bytes.as_slice()).unwrap(), order);
        for length in 0..bytes.len() {
            assert!(read_order(&mut &bytes[..length]).is_err(), "{length}");
        }
        let events = [
            Event::Starting,
            Event::NotStarted { program: 1, error: 2 },
            Event::Started(4711),
            Event::Confined(Confinement::Confined),
            Event::Confined(Confinement::Open("no namespaces".into())),
            Event::Input(Delivery::Whole),
            Event::Input(Delivery::Unread),
            Event::Input(Delivery::Cut { delivered: 9, reason: "full".into() }),
            Event::Exited(ExitStatus::from_raw(9)),
        ];
        for event in events {
            let mut bytes = Vec::new();
            write_event(&event, &mut bytes).unwrap();
            assert_eq!(read_event(&mut bytes.as_slice()).unwrap(), event);
        }
    }
}
