//! Dumps of bytes over several lines, as `hexdump`, `xxd` and `od` print them.

use super::*;

/// A tool that dumps bytes, as it is called.
#[derive(Clone, Copy, Debug)]
enum Tool {
    HexdumpCanonical,
    HexdumpWords,
    Xxd,
    XxdReversed,
    XxdBinary,
    OdBytes,
    OdWordsBare,
    OdWithText,
    OdLetters,
    OdLettersBare,
    OdOctalBytes,
    OdOctalWords,
    OdDecimal,
    OdDecimalWords,
}

const TOOLS: [Tool; 14] = [
    Tool::HexdumpCanonical,
    Tool::HexdumpWords,
    Tool::Xxd,
    Tool::XxdReversed,
    Tool::XxdBinary,
    Tool::OdBytes,
    Tool::OdWordsBare,
    Tool::OdWithText,
    Tool::OdLetters,
    Tool::OdLettersBare,
    Tool::OdOctalBytes,
    Tool::OdOctalWords,
    Tool::OdDecimal,
    Tool::OdDecimalWords,
];

fn word(pair: &[u8]) -> u16 {
    u16::from_le_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])
}

fn shown(row: &[u8]) -> String {
    let letter = |byte: &u8| if (b' '..=b'~').contains(byte) { char::from(*byte) } else { '.' };
    row.iter().map(letter).collect()
}

fn bytes_of(row: &[u8], spell: impl Fn(&u8) -> String) -> String {
    row.iter().map(spell).collect::<Vec<_>>().join(" ")
}

fn words_of(row: &[u8], spell: impl Fn(u16) -> String) -> String {
    row.chunks(2).map(|pair| spell(word(pair))).collect::<Vec<_>>().join(" ")
}

fn letters_of(row: &[u8]) -> String {
    let cell = |byte: &u8| match byte {
        b'\n' => "  \\n".to_owned(),
        b'\t' => "  \\t".to_owned(),
        b' '..=b'~' => format!("{:>4}", char::from(*byte)),
        other => format!(" {other:03o}"),
    };
    row.iter().map(cell).collect()
}

impl Tool {
    fn line(self, at: usize, row: &[u8]) -> String {
        match self {
            Self::HexdumpCanonical => {
                let halves: Vec<String> =
                    row.chunks(8).map(|half| bytes_of(half, |byte| format!("{byte:02x}"))).collect();
                format!("{at:08x}  {:<49} |{}|", halves.join("  "), shown(row))
            }
            Self::HexdumpWords => format!("{at:07x} {:<39}", words_of(row, |word| format!("{word:04x}"))),
            Self::Xxd => {
                let pair = |pair: &[u8]| pair.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
                let groups: Vec<String> = row.chunks(2).map(pair).collect();
                format!("{at:08x}: {:<39}  {}", groups.join(" "), shown(row))
            }
            Self::XxdReversed => {
                let group =
                    |group: &[u8]| group.iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>();
                let groups: Vec<String> = row.chunks(4).map(|four| format!("{:>8}", group(four))).collect();
                format!("{at:08x}: {:<35}  {}", groups.join(" "), shown(row))
            }
            Self::XxdBinary => {
                format!("{at:08x}: {:<53}  {}", bytes_of(row, |byte| format!("{byte:08b}")), shown(row))
            }
            Self::OdBytes => format!("{at:07o} {}", bytes_of(row, |byte| format!("{byte:02x}"))),
            Self::OdWordsBare => format!(" {}", words_of(row, |word| format!("{word:04x}"))),
            Self::OdWithText => {
                format!("{at:06x} {:<47}  >{}<", bytes_of(row, |byte| format!("{byte:02x}")), shown(row))
            }
            Self::OdLetters => format!("{at:07o}{}", letters_of(row)),
            Self::OdLettersBare => letters_of(row),
            Self::OdOctalBytes => format!("{at:07o} {}", bytes_of(row, |byte| format!("{byte:03o}"))),
            Self::OdOctalWords => format!("{at:07o} {}", words_of(row, |word| format!("{word:06o}"))),
            Self::OdDecimal => {
                format!("{at:07o} {}", bytes_of(row, |byte| format!("{:>4}", byte.cast_signed())))
            }
            Self::OdDecimalWords => format!("{at:07o} {}", words_of(row, |word| format!("{word:>5}"))),
        }
    }

    /// Dumps bytes, with `*` for lines that repeat the one before.
    fn dump(self, bytes: &[u8]) -> String {
        let width = if matches!(self, Self::XxdBinary) { 6 } else { 16 };
        let mut lines: Vec<String> = Vec::new();
        let mut before: Option<&[u8]> = None;
        for (row_at, row) in bytes.chunks(width).enumerate() {
            if before == Some(row) && !matches!(self, Self::Xxd | Self::XxdReversed | Self::XxdBinary) {
                if lines.last().is_none_or(|last| last != "*") {
                    lines.push("*".to_owned());
                }
                continue;
            }
            lines.push(self.line(row_at * width, row));
            before = Some(row);
        }
        lines.push(match self {
            Self::OdWordsBare | Self::OdLettersBare | Self::Xxd | Self::XxdReversed | Self::XxdBinary => {
                String::new()
            }
            Self::HexdumpCanonical | Self::HexdumpWords | Self::OdWithText => format!("{:07x}", bytes.len()),
            _ => format!("{:07o}", bytes.len()),
        });
        lines.join("\n")
    }
}

/// Asserts that a dump of a secret between other bytes keeps nothing of it.
fn assert_redacted(secret: &str, before: &str, after: &str, tool: Tool, prefix: &str) {
    let vault = vault(&[("NAME", secret)]);
    let dump = tool.dump(format!("{before}{secret}{after}").as_bytes());
    let text: String = dump.lines().map(|line| format!("{prefix}{line}\n")).collect();
    let clean = vault.redactor().text(&text);
    assert!(clean.contains("[secret NAME]"), "{tool:?} {secret:?}\n{text}\n{clean}");
    let rest = clean.replace("[secret NAME]", "");
    // The lines before and after it, and the rest of the two lines that it shares with others.
    let others = tool.dump(before.as_bytes()).len() + tool.dump(after.as_bytes()).len();
    let lines = text.lines().next().map_or(0, str::len) * 2 + 40 + prefix.len() * 4;
    assert!(rest.len() <= others + lines, "{tool:?} {secret:?}\n{text}\n{clean}");
    for window in secret.as_bytes().windows(7).filter(|window| window.is_ascii()) {
        let window = str::from_utf8(window).unwrap();
        assert!(
            !rest.contains(window) || before.contains(window) || after.contains(window),
            "{tool:?}\n{clean}"
        );
    }
}

#[test]
fn lines_as_the_tools_print_them_are_read() {
    let secret = "päss word-1234567-Zz9/+deadbeefdeadbeef!";
    let dumps = [
        "00000000  70 c3 a4 73 73 20 77 6f  72 64 2d 31 32 33 34 35  |p..ss word-12345|\n\
         00000010  36 37 2d 5a 7a 39 2f 2b  64 65 61 64 62 65 65 66  |67-Zz9/+deadbeef|\n\
         00000020  64 65 61 64 62 65 65 66  21                       |deadbeef!|\n00000029",
        "00000000: 70c3 a473 7320 776f 7264 2d31 3233 3435  p..ss word-12345\n\
         00000010: 3637 2d5a 7a39 2f2b 6465 6164 6265 6566  67-Zz9/+deadbeef\n\
         00000020: 6465 6164 6265 6566 21                   deadbeef!",
        "0000000 c370 73a4 2073 6f77 6472 312d 3332 3534\n\
         0000010 3736 5a2d 397a 2b2f 6564 6461 6562 6665\n\
         0000020 6564 6461 6562 6665 0021               \n0000029",
        "0000000   p 303 244   s   s       w   o   r   d   -   1   2   3   4   5\n\
         0000020   6   7   -   Z   z   9   /   +   d   e   a   d   b   e   e   f\n\
         0000040   d   e   a   d   b   e   e   f   !\n0000051",
        "0000000 1940177776 1870078067  825058418  892613426\n\
         0000020 1512912694  724515194 1684104548 1717921122\n\
         0000040 1684104548 1717921122         33\n0000051",
    ];
    let vault = vault(&[("S", secret)]);
    for dump in dumps {
        for text in
            [dump.to_owned(), dump.replace('\n', "\r\n"), format!("{{\"out\": {}}}", Value::from(dump))]
        {
            let clean = vault.redactor().text(&text);
            assert!(clean.contains("[secret S]") && clean.len() < 60, "{text}\n{clean}");
        }
        let members = Value::from(dump);
        assert!(vault.redactor().value(&members).to_string().contains("[secret S]"), "{dump}");
    }
}

#[test]
fn a_dump_is_read_with_a_prefix_with_repeated_lines_and_around_another_encoding() {
    for tool in TOOLS {
        assert_redacted("correct-horse-battery-staple", "", "", tool, "");
        assert_redacted(&"k3y-".repeat(20), "token=", "\n", tool, "");
        assert_redacted(&"k3y-".repeat(40), "", " end", tool, "");
    }
    for tool in [Tool::HexdumpCanonical, Tool::Xxd, Tool::OdBytes] {
        assert_redacted("correct-horse-battery-staple", "a", "b", tool, "12:01:07 stderr | ");
    }
    let vault = vault(&[("S", "correct-horse-battery-staple")]);
    let inside = STANDARD.encode("user:correct-horse-battery-staple");
    for tool in TOOLS {
        assert!(vault.redactor().text(&tool.dump(inside.as_bytes())).contains("[secret S]"), "{tool:?}");
    }
}

#[test]
fn texts_that_look_like_dumps_stay_as_they_are() {
    let vault = vault(&[("S", "correct-horse-battery-staple")]);
    for text in [
        "00000000  70 61  |pa|\n*\n00001000\n",
        "*\n*\n*",
        "deadbeef: cafe\n*\nzz",
        "0000000\n0000000\n\n\n",
        "000000 -1 -129 256 99999999999999999999999999",
        "  \u{e9} \u{1f600}  **\n0000000   \u{e9}  **   a",
        "ffffffffffffffffff: 00\nffffffffffffffffffff: 11",
    ] {
        assert_eq!(vault.redactor().text(text), text);
    }
    // Lines that stand for very many cost no more than the text and a limit.
    let stars = "0000000 61 62 63 64\n*\n".repeat(20_000);
    assert_eq!(vault.redactor().text(&stars), stars);
}

#[test]
fn the_bytes_of_a_text_are_read_as_python_writes_them() {
    let vault = vault(&[("S", "pässwörd-€-1234567")]);
    for text in [
        r"b'p\xc3\xa4ssw\xc3\xb6rd-\xe2\x82\xac-1234567'",
        r"got b'user:p\xc3\xa4ssw\xc3\xb6rd-\xe2\x82\xac-1234567\n' instead",
        r"'p\xe4ssw\xf6rd-\u20ac-1234567'",
        r"'p\U000000e4ssw\U000000f6rd-\U000020ac-1234567'",
        r"p\303\244ssw\303\266rd-\342\202\254-1234567",
    ] {
        let clean = vault.redactor().text(text);
        assert!(clean.contains("[secret S]") && !clean.contains("1234567"), "{text}: {clean}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn no_secret_survives_in_a_dump(
        secret in "[!-~é][ -~é]{10,60}[!-~é]",
        before in "[ -~]{0,40}",
        after in "[ -~]{0,40}",
        tool in prop::sample::select(TOOLS.to_vec()),
    ) {
        // Words of two bytes show a secret that begins between two of them, too.
        assert_redacted(&secret, &before, &after, tool, "");
    }

    #[test]
    fn no_text_makes_the_redactor_panic(text in "([ 0-9a-f:*|>xé\\\\\\n]{0,12}){0,12}") {
        let vault = vault(&[("NAME", "correct-horse-battery-staple")]);
        let _ = vault.redactor().text(&text);
    }
}
