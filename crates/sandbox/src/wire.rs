//! The wire format of Protocol Buffers, as far as the worker's messages use it.
//!
//! The messages are few and their fields are read by number, so a generated codec and its build would cost more than
//! these two types.

/// Writes the fields of one message.
#[derive(Default, Debug)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn number(mut self, field: u32, value: u64) -> Self {
        self.key(field, 0);
        self.varint(value);
        self
    }

    pub(crate) fn double(mut self, field: u32, value: f64) -> Self {
        self.key(field, 1);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        self.key(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn text(self, field: u32, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    pub(crate) fn message(self, field: u32, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    /// Writes a list of numbers in one field.
    pub(crate) fn packed(self, field: u32, numbers: &[u64]) -> Self {
        if numbers.is_empty() {
            return self;
        }
        let mut list = Self::default();
        numbers.iter().for_each(|number| list.varint(*number));
        self.message(field, &list)
    }

    /// Appends the fields of another message.
    pub(crate) fn append(mut self, other: Self) -> Self {
        if self.0.is_empty() {
            return other;
        }
        self.0.extend_from_slice(&other.0);
        self
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn key(&mut self, field: u32, kind: u64) {
        self.varint(u64::from(field) << 3 | kind);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// One field of a message that was received.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Field<'a> {
    Number(u64),
    Double(f64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    pub(crate) fn bytes(self) -> Result<&'a [u8], Malformed> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(Malformed),
        }
    }

    pub(crate) fn text(self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Malformed)
    }

    pub(crate) fn number(self) -> Result<u64, Malformed> {
        match self {
            Self::Number(number) => Ok(number),
            _ => Err(Malformed),
        }
    }

    /// Adds the numbers of a list, packed or one by one.
    pub(crate) fn numbers(self, into: &mut Vec<u64>) -> Result<(), Malformed> {
        match self {
            Self::Number(number) => into.push(number),
            Self::Bytes(mut rest) => {
                while !rest.is_empty() {
                    into.push(take_varint(&mut rest)?);
                }
            }
            Self::Double(_) => return Err(Malformed),
        }
        Ok(())
    }
}

/// Bytes that are no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Malformed;

/// Reads the fields of a message in order.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Field<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.take();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'a> Fields<'a> {
    fn take(&mut self) -> Result<(u64, Field<'a>), Malformed> {
        let key = take_varint(&mut self.0)?;
        let field = match key & 7 {
            0 => Field::Number(take_varint(&mut self.0)?),
            1 => {
                let bytes = take_bytes(&mut self.0, 8)?;
                Field::Double(f64::from_le_bytes(bytes.try_into().map_err(|_| Malformed)?))
            }
            2 => {
                let length = usize::try_from(take_varint(&mut self.0)?).map_err(|_| Malformed)?;
                Field::Bytes(take_bytes(&mut self.0, length)?)
            }
            _ => return Err(Malformed),
        };
        Ok((key >> 3, field))
    }
}

fn take_bytes<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], Malformed> {
    let (taken, after) = rest.split_at_checked(length).ok_or(Malformed)?;
    *rest = after;
    Ok(taken)
}

fn take_varint(rest: &mut &[u8]) -> Result<u64, Malformed> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = take_bytes(rest, 1)?.first().copied().ok_or(Malformed)?;
        value |= u64::from(byte & 0x7f).checked_shl(shift).ok_or(Malformed)?;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_reads_back_as_it_was_written() {
        let inner = Message::default().packed(1, &[0, 127, 128, u64::MAX]);
        let bytes =
            Message::default().number(1, 300).text(2, "é").double(15, -0.5).message(16, &inner).into_bytes();
        let fields: Vec<(u64, Field<'_>)> = Fields(&bytes).map(Result::unwrap).collect();
        assert_eq!(fields[0].1.number().unwrap(), 300);
        assert_eq!(fields[1].1.text().unwrap(), "é");
        assert!(matches!(fields[2], (15, Field::Double(-0.5))));
        let mut numbers = Vec::new();
        for field in Fields(fields[3].1.bytes().unwrap()) {
            field.unwrap().1.numbers(&mut numbers).unwrap();
        }
        assert_eq!(numbers, [0, 127, 128, u64::MAX]);
    }

    #[test]
    fn bytes_that_are_no_message_are_refused_at_every_cut() {
        let bytes = Message::default().number(3, 1 << 40).text(2, "abc").into_bytes();
        for end in 0..bytes.len() {
            let whole = Fields(&bytes[..end]).all(|field| field.is_ok());
            assert_eq!(whole, end == 0 || end == 7, "{end}");
        }
        assert!(Fields(&[0xff; 11]).next().unwrap().is_err(), "a number without an end");
        assert!(Fields(&[0x0b]).next().unwrap().is_err(), "a group");
    }
}
