//! Quotations of shells and languages, and spellings that are cut into lines at odd places.

use proptest::prelude::*;

use super::{STANDARD, vault};
use base64::Engine as _;

/// Quotes as `bash` does.
fn bash(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Quotes as Python's `shlex.quote` does.
fn shlex(text: &str) -> String {
    format!("'{}'", text.replace('\'', r#"'"'"'"#))
}

/// Quotes as the tools of GNU do in the C locale: what is no ASCII is written in octal in `$'…'`.
fn coreutils(text: &str) -> String {
    let (mut quoted, mut is_octal) = ("'".to_owned(), false);
    for byte in text.bytes() {
        let is_plain = byte.is_ascii_graphic() || byte == b' ';
        match (is_plain, is_octal) {
            (false, false) => quoted.push_str("'$'"),
            (true, true) => quoted.push_str("''"),
            _ => {}
        }
        is_octal = !is_plain;
        quoted.push_str(&match byte {
            b'\'' => r"'\''".to_owned(),
            _ if is_plain => char::from(byte).to_string(),
            b'\n' => "\\n".to_owned(),
            _ => format!("\\{byte:03o}"),
        });
    }
    quoted + "'"
}

fn csv(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn sql(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn javascript(text: &str) -> String {
    text.encode_utf16().map(|unit| format!("%u{unit:04x}")).collect()
}

/// Writes a text as JavaScript's `escape` does.
fn javascript_escape(text: &str) -> String {
    let spell = |unit: u16| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() || b"@*_+-./".contains(&byte) => {
            char::from(byte).to_string()
        }
        Ok(byte) => format!("%{byte:02X}"),
        Err(_) => format!("%u{unit:04X}"),
    };
    text.encode_utf16().map(spell).collect()
}

fn entities(text: &str) -> String {
    text.chars().map(|letter| format!("&#{}", u32::from(letter))).collect()
}

fn hexadecimal_entities(text: &str) -> String {
    text.chars().map(|letter| format!("&#x{:x}", u32::from(letter))).collect()
}

fn spaced_entities(text: &str) -> String {
    text.chars().map(|letter| format!("&#{} ", u32::from(letter))).collect()
}

fn wrapped(text: &str, width: usize, between: &str) -> String {
    let lines: Vec<&str> = text.as_bytes().chunks(width).map(|line| str::from_utf8(line).unwrap()).collect();
    lines.join(between)
}

fn base64_continued(text: &str) -> String {
    wrapped(&STANDARD.encode(text), 7, "\\\n")
}

fn base64_concatenated(text: &str) -> String {
    format!("\"{}\"", wrapped(&STANDARD.encode(text), 8, "\" +\n  \""))
}

fn hexadecimal_wrapped(text: &str) -> String {
    wrapped(&text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>(), 7, "\n")
}

/// A name, and the function that spells a text.
type Spelling = (&'static str, fn(&str) -> String);

const SPELLINGS: [Spelling; 14] = [
    ("bash", bash),
    ("shlex", shlex),
    ("coreutils", coreutils),
    ("csv", csv),
    ("sql", sql),
    ("javascript", javascript),
    ("javascript escape", javascript_escape),
    ("entities", entities),
    ("hexadecimal entities", hexadecimal_entities),
    ("spaced entities", spaced_entities),
    ("base64 continued", base64_continued),
    ("base64 concatenated", base64_concatenated),
    ("hexadecimal wrapped", hexadecimal_wrapped),
    ("plain", str::to_owned),
];

#[test]
fn quotations_that_are_interrupted_are_joined() {
    let vault = vault(&[("S", "Zx9secret-TOK€N1"), ("Q", "a'b c\"d"), ("D", "it's ''odd''")]);
    for (text, clean) in [
        (
            r"ls: cannot access '/nonexist/Zx9secret-TOK'$'\342\202\254''N1': No such file",
            "ls: cannot access '/nonexist/[secret S]': No such file",
        ),
        (r#"+ echo 'a'\''b c"d'"#, "+ echo '[secret Q]'"),
        (r#"can't run 'a'"'"'b c"d' now"#, "can't run '[secret Q]' now"),
        (r#"x,"a'b c""d",y"#, "x,\"[secret Q]\",y"),
        (r#"values ('a''b c"d')"#, "values ('[secret Q]')"),
        (r#"+ 'it'"'"'s '"''"'odd'"''"''"#, "+ '[secret D]\"''"),
        ("Zx9sec\\\nret-TOK€N1", "[secret S]"),
        (r#""Zx9sec" + "ret-TOK€N1""#, "\"[secret S]\""),
    ] {
        assert_eq!(vault.redactor().text(text), clean);
    }
}

#[test]
fn each_spelling_of_secrets_with_odd_signs_is_taken_out() {
    for secret in
        ["Zx9secret-TOK€N1", "a'b c\"d\\e", "S3cr/t Pa\"ss+w0rd!é~x", "'starts and ends'", "tok\\'8F3a''91"]
    {
        let vault = vault(&[("S", secret)]);
        for (name, spell) in SPELLINGS {
            let text = format!("tool: can't use {}: refused", spell(secret));
            let clean = vault.redactor().text(&text);
            assert!(clean.contains("[secret S]"), "{name}: {text}: {clean}");
            assert!(clean.len() < 60, "{name}: {text}: {clean}");
        }
    }
}

#[test]
fn texts_without_the_secret_stay_as_they_are() {
    let vault = vault(&[("S", "Zx9secret-TOK€N1"), ("Q", "a'b c\"d")]);
    for text in [
        r"ls: cannot access 'other'$'\342\202\254''N1': No such file",
        r#"{"a":"","b":"it's","c":["",""],"d":"x"}"#,
        r#"don't, won't, 'can''t', "say ""hello""""#,
        "a &amp b &lt c &#116&#111 %u0074%E9 it's\\\nnext 'a'\\''b'",
        "deadbee\nfdeadbe\nef cafe0123",
    ] {
        assert_eq!(vault.redactor().text(text), text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn no_secret_survives_in_a_combination_of_quotations(
        secret in "[!-~é€][ -~é€]{8,24}[!-~é€]",
        inner in prop::sample::select(&SPELLINGS[..]),
        outer in prop::sample::select(&SPELLINGS[..]),
        before in "[a-z ]{0,12}",
        after in "[a-z ]{0,12}",
    ) {
        let vault = vault(&[("NAME", &secret)]);
        let spelled = outer.1(&inner.1(&secret));
        let text = format!("{before} {spelled} {after}");
        let clean = vault.redactor().text(&text);
        let rest = clean.replace("[secret NAME]", "");
        prop_assert!(rest.len() < clean.len(), "{} in {}: {text}: {clean}", inner.0, outer.0);
        // What is left are the quotes around the secret, and their spellings.
        let left = rest.len().saturating_sub(before.len() + after.len() + 2);
        prop_assert!(left * 2 < spelled.len() + 8, "{} in {}: {text}: {clean}", inner.0, outer.0);
    }

    #[test]
    fn no_secret_survives_in_a_quotation_that_is_cut(
        secret in "[!-~]{24,40}",
        spelling in prop::sample::select(&SPELLINGS[..]),
        cut in 0_usize..100,
    ) {
        let vault = vault(&[("NAME", &secret)]);
        let spelled = spelling.1(&secret);
        // At least two thirds of the secret are left.
        let cut = cut * spelled.len() / 300;
        for text in [spelled[cut..].to_owned() + " more", "more ".to_owned() + &spelled[..spelled.len() - cut]] {
            let clean = vault.redactor().text(&text);
            prop_assert!(clean.contains("[secret NAME]"), "{} {secret:?} cut {cut}: {text}: {clean}", spelling.0);
        }
    }

    #[test]
    fn a_text_without_a_secret_is_unchanged(text in "[ -~\n]{0,200}", spelling in prop::sample::select(&SPELLINGS[..])) {
        let vault = vault(&[("NAME", "Zx9secret-TOK€N1"), ("OTHER", "qu'oted \"Q7\" pass")]);
        let text = spelling.1(&text);
        prop_assert_eq!(vault.redactor().text(&text), text);
    }
}
