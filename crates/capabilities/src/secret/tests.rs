use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hence_canon::{Value, parse};
use hence_cognition::secret::refer_to_secret;
use proptest::prelude::*;

use super::*;

mod dumps;
mod quoting;

fn vault(secrets: &[(&str, &str)]) -> Vault {
    let mut vault = Vault::default();
    for (name, value) in secrets {
        vault.hold(name, Ok((*value).to_owned()));
    }
    vault
}

fn value(text: &str) -> Value {
    parse(text.as_bytes()).expect("the test's value is JSON")
}

#[test]
fn a_secret_is_taken_out_wherever_it_stands() {
    let vault = vault(&[("TOKEN", "hunter2!"), ("PIN", "48151623")]);
    let said = value(
        r#"{"echo": "token=hunter2!;", "deep": [{"hunter2!": 1}], "number": 48151623, "real": 4815.1623, "other": 7}"#,
    );
    assert_eq!(
        vault.redactor().value(&said).to_string(),
        r#"{"deep":[{"[secret TOKEN]":1}],"echo":"token=[secret TOKEN];","number":"[secret PIN]","other":7,"real":4815.1623}"#
    );
}

#[test]
fn encodings_of_a_secret_are_taken_out_too() {
    let secret = "s3cr3t/välue\"\n";
    let vault = vault(&[("S", secret)]);
    let basic = STANDARD.encode(format!("user:{secret}"));
    let spellings = [
        STANDARD.encode(secret),
        URL_SAFE_NO_PAD.encode(format!("x{secret}more")),
        basic,
        "s3cr3t%2Fv%C3%A4lue%22%0A".to_owned(),
        "s3cr3t%2fv%c3%a4lue%22%0a".to_owned(),
        secret.bytes().map(|byte| format!("{byte:02x}")).collect(),
        Value::from(secret).to_string(),
    ];
    for spelling in spellings {
        let clean = vault.redactor().text(&format!("<{spelling}>"));
        assert!(clean.contains("[secret S]"), "{spelling}: {clean}");
        // The base64 characters left at the edges reveal no byte of the secret.
        assert!(clean.len() < "<[secret S]>".len() + 12, "{spelling}: {clean}");
    }
}

/// Encodes bytes in base32 without padding.
fn base32(bytes: &[u8]) -> String {
    let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let letter = |chunk: &[u8]| {
        let digits = format!("{:0<5}", str::from_utf8(chunk).unwrap());
        char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[usize::from_str_radix(&digits, 2).unwrap()])
    };
    bits.as_bytes().chunks(5).map(letter).collect()
}

#[test]
fn every_spelling_that_decodes_to_a_secret_is_taken_out() {
    let secret = "p/w +d!'()*~é\"x\\y";
    let vault = vault(&[("S", secret), ("PADDED", " padded-secret\n"), ("LONG", &"k3y-".repeat(20))]);
    let percent = |keep: &str| -> String {
        let spell = |byte: u8| {
            if keep.as_bytes().contains(&byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        };
        secret.bytes().map(spell).collect()
    };
    let long = STANDARD.encode("k3y-".repeat(20));
    let wrapped: Vec<&str> = long.as_bytes().chunks(76).map(|line| str::from_utf8(line).unwrap()).collect();
    let spellings = [
        percent(""),
        percent("pwdxy"),
        percent("pwdxy/"),
        percent("pwdxy!'()*~"),
        percent("pwdxy").replace("%20", "+"),
        percent("pwdxy").to_lowercase().replace("%c3", "%C3"),
        r#"p\/w +d!'()*~\u00e9\"x\\y"#.to_owned(),
        percent("pwdxy").replace('%', "\\u0025"),
        "padded-secret".to_owned(),
        wrapped.join("\n"),
        wrapped.join("\r\n  "),
        wrapped.join("\\n"),
    ];
    for spelling in spellings {
        let clean = vault.redactor().text(&format!("<{spelling}>"));
        assert!(clean.starts_with("<[secret ") && clean.len() < 30, "{spelling}: {clean}");
    }
    // Spellings that other programs use: entities, octal and braced escapes, mails, shells, lists of bytes.
    let each = |spell: &dyn Fn(u8) -> String| secret.bytes().map(spell).collect::<Vec<_>>();
    let letters =
        |spell: &dyn Fn(u32) -> String| secret.chars().map(|letter| spell(letter.into())).collect::<String>();
    let others = [
        letters(&|letter| format!("&#{letter};")),
        letters(&|letter| format!("&#x{letter:X};")),
        letters(&|letter| format!("\\u{{{letter:x}}}")),
        secret.replace('"', "&quot;").replace('\'', "&apos;"),
        each(&|byte| format!("\\{byte:03o}")).concat(),
        each(&|byte| format!("={byte:02X}")).concat().replace("=64", "=\r\n=64"),
        each(&|byte| byte.to_string()).join(", "),
        each(&|byte| byte.to_string()).join(" "),
        r#"p\/w\ \+d\!\'\(\)\*\~é\"x\\y"#.to_owned(),
    ];
    for spelling in others {
        let clean = vault.redactor().text(&format!("<{spelling}>"));
        assert!(clean.starts_with("<[secret ") && clean.len() < 30, "{spelling}: {clean}");
    }
    for before in 0..8 {
        let encoded = base32(format!("{}{secret}zz", "u".repeat(before)).as_bytes());
        let lines: Vec<&str> =
            encoded.as_bytes().chunks(8).map(|line| str::from_utf8(line).unwrap()).collect();
        for spelling in [encoded.clone(), encoded.to_lowercase(), lines.join("\n")] {
            assert!(vault.redactor().text(&spelling).contains("[secret S]"), "{before}: {spelling}");
        }
    }
    let bytes: Value = secret.bytes().map(|byte| Value::from(u64::from(byte))).collect();
    assert_eq!(vault.redactor().value(&bytes), Value::from("[[secret S]]"));
    let plain = value("[1, 2, 3, 400, -5]");
    assert_eq!(vault.redactor().value(&plain), plain);
    // What follows a secret stays.
    assert_eq!(vault.redactor().text("say padded-secret  next"), "say [secret PADDED]  next");
}

#[test]
fn a_text_that_begins_or_ends_inside_a_secret_keeps_nothing_of_it() {
    let vault = vault(&[("S", "correct-horse-battery-staple")]);
    for (text, clean) in [
        ("horse-battery-staple said", "[secret S] said"),
        ("%2dbattery-staple said", "[secret S] said"),
        ("it said correct-horse-bat", "it said [secret S]"),
        // Too short to tell from another text.
        ("staple it", "staple it"),
    ] {
        assert_eq!(vault.redactor().text(text), clean);
    }
}

#[test]
fn lines_of_a_key_are_taken_out_one_by_one() {
    let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\n9w0BAQEFAASCBKcwggSj\n-----END KEY-----";
    let vault = vault(&[("KEY", key)]);
    assert_eq!(vault.redactor().text("at MIIEvQIBADANBgkqhkiG!"), "at [secret KEY]!");
}

#[test]
fn overlapping_secrets_leave_nothing_of_either() {
    let vault = vault(&[("A", "abcdef"), ("B", "defghi")]);
    assert_eq!(vault.redactor().text("xabcdefghiy"), "x[secret A]y");
}

#[test]
fn two_members_never_become_one() {
    let vault = vault(&[("A", "abcdef")]);
    let clean = vault.redactor().value(&value(r#"{"abcdef": 1, "[secret A]": 2, "x": 3}"#));
    assert_eq!(clean.as_object().map(hence_canon::Object::len), Some(3), "{clean}");
}

#[test]
fn references_are_resolved_where_they_are_allowed() {
    let vault = vault(&[("A", "abcdef")]);
    let input =
        value(r#"{"a": {"$secret": "A"}, "list": [{"$secret": "A"}], "more": {"$secret": "A", "x": 1}}"#);
    let resolved = vault.resolve(&input, &|_| true).unwrap();
    assert_eq!(resolved.to_string(), r#"{"a":"abcdef","list":["abcdef"],"more":{"$secret":"A","x":1}}"#);
    assert!(
        vault.resolve(&input, &|_| false).unwrap_err().to_string().contains("not declared to be given it")
    );
    let unknown = vault.resolve(&refer_to_secret("B"), &|_| true).unwrap_err();
    assert_eq!(unknown.to_string(), "the secret `B` is missing: nobody declares it");
}

#[test]
fn the_shortest_and_the_longest_secret_are_kept_and_others_are_missing() {
    for (bytes, fits) in [
        (SECRET_BYTES_MIN - 1, false),
        (SECRET_BYTES_MIN, true),
        (SECRET_BYTES_MAX, true),
        (SECRET_BYTES_MAX + 1, false),
    ] {
        let vault = vault(&[("S", &"x".repeat(bytes))]);
        assert_eq!(vault.value("S").is_ok(), fits, "{bytes}");
    }
}

#[test]
fn sources_are_read_when_the_vault_opens_and_what_is_missing_says_where_it_was_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token"), "from-a-file\r\n").unwrap();
    let declared = value(
        r#"{"F": {"file": "token"}, "G": {"file": "none"}, "E": {"environment": "HENCE_TEST_NOT_SET"}}"#,
    );
    let mut findings = crate::registry::Findings::default();
    let secrets = Secrets::read(Some(&declared), Path::new(folder.path()), &mut findings);
    let vault = Vault::open(&secrets);
    assert_eq!(&**vault.value("F").unwrap(), "from-a-file");
    let missing = vault.value("E").unwrap_err().to_string();
    assert_eq!(missing, "the secret `E` is missing: the environment variable HENCE_TEST_NOT_SET is not set");
    assert!(vault.value("G").unwrap_err().to_string().ends_with("cannot be read: entity not found"));
    assert_eq!(format!("{vault:?}"), "Vault(1 secrets)");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_secret_survives(secret in "[ -~é]{4,20}", before in "[ -~]{0,8}", after in "[ -~]{0,8}") {
        let vault = vault(&[("NAME", &secret)]);
        // Blanks at the ends protect nothing: what is too short without them is refused and never given to anyone.
        prop_assert_eq!(vault.value("NAME").is_ok(), secret.trim().len() >= SECRET_BYTES_MIN);
        prop_assume!(vault.value("NAME").is_ok());
        let clean = vault.redactor().text(&format!("{before}{secret}{after}"));
        // A secret that is part of its own replacement cannot be distinguished from it.
        prop_assume!(!"[secret NAME]".contains(&secret));
        let rest = clean.replace("[secret NAME]", "\u{0}");
        prop_assert!(!rest.contains(&secret), "{clean}");
    }
}

/// One way to spell bytes, with everything that may vary about it.
#[derive(Clone, Debug)]
enum Spelling {
    /// Percent signs for the bytes that the mask chooses, and for all that must be.
    Percent { mask: u8, upper: bool },
    /// JSON escapes: the short ones, or `\\u` for the characters that the mask chooses.
    Json { mask: u8, upper: bool },
    /// Base64 after and before some other bytes, in lines of a width.
    Base64 { url: bool, padded: bool, width: usize, line: &'static str, before: usize, after: usize },
    /// Hexadecimal digits.
    Hexadecimal { upper: bool, prefix: &'static str, between: &'static str },
    /// UTF-16.
    Wide { little: bool },
}

impl Spelling {
    fn spell(&self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Percent { mask, upper } => bytes
                .iter()
                .enumerate()
                .flat_map(|(at, byte)| {
                    let plain = byte.is_ascii_alphanumeric() || b"-._~!'()*".contains(byte);
                    match (plain && mask >> (at % 8) & 1 == 0, upper) {
                        (true, _) => vec![*byte],
                        (false, true) => format!("%{byte:02X}").into_bytes(),
                        (false, false) => format!("%{byte:02x}").into_bytes(),
                    }
                })
                .collect(),
            Self::Json { mask, upper } => {
                let text = String::from_utf8_lossy(bytes);
                let mut out = String::new();
                for (at, character) in text.chars().enumerate() {
                    if mask >> (at % 8) & 1 == 1 {
                        for unit in character.encode_utf16(&mut [0; 2]) {
                            out.push_str(&if *upper {
                                format!("\\u{unit:04X}")
                            } else {
                                format!("\\u{unit:04x}")
                            });
                        }
                    } else {
                        let quoted = Value::from(character.to_string()).to_string();
                        out.push_str(&quoted[1..quoted.len() - 1]);
                    }
                }
                out.into_bytes()
            }
            Self::Base64 { url, padded, width, line, before, after } => {
                let whole: Vec<u8> = [&b"u:"[..*before], bytes, &b"@h"[..*after]].concat();
                let spelled = if *url { URL_SAFE_NO_PAD.encode(whole) } else { STANDARD.encode(whole) };
                let spelled = if *padded { spelled } else { spelled.trim_end_matches('=').to_owned() };
                let lines: Vec<&str> =
                    spelled.as_bytes().chunks(*width).map(|line| str::from_utf8(line).unwrap()).collect();
                lines.join(line).into_bytes()
            }
            Self::Hexadecimal { upper, prefix, between } => {
                let digits = |byte: &u8| match upper {
                    true => format!("{prefix}{byte:02X}"),
                    false => format!("{prefix}{byte:02x}"),
                };
                bytes.iter().map(digits).collect::<Vec<_>>().join(between).into_bytes()
            }
            Self::Wide { little } => String::from_utf8_lossy(bytes)
                .encode_utf16()
                .flat_map(|unit| if *little { unit.to_le_bytes() } else { unit.to_be_bytes() })
                .collect(),
        }
    }
}

fn spelling() -> impl Strategy<Value = Spelling> {
    let lines = prop::sample::select(vec!["\n", "\r\n", "\n  ", " "]);
    let hexadecimal = prop::sample::select(vec![
        ("", ""),
        ("", ":"),
        ("", " "),
        ("", "-"),
        ("", "\n"),
        ("\\x", ""),
        ("0x", ", "),
        ("0x", " "),
        ("\\x", " "),
    ]);
    prop_oneof![
        (any::<u8>(), any::<bool>()).prop_map(|(mask, upper)| Spelling::Percent { mask, upper }),
        (any::<u8>(), any::<bool>()).prop_map(|(mask, upper)| Spelling::Json { mask, upper }),
        (any::<bool>(), any::<bool>(), 1_usize..80, lines, 0_usize..3, 0_usize..3).prop_map(
            |(url, padded, width, line, before, after)| Spelling::Base64 {
                url,
                padded,
                width,
                line,
                before,
                after
            }
        ),
        (any::<bool>(), hexadecimal)
            .prop_map(|(upper, (prefix, between))| { Spelling::Hexadecimal { upper, prefix, between } }),
        any::<bool>().prop_map(|little| Spelling::Wide { little }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_secret_survives_in_any_spelling_of_spellings(
        secret in "[!-~é][ -~é]{10,28}[!-~é]",
        spellings in prop::collection::vec(spelling(), 0..=3),
        before in "[ -~]{0,12}",
        after in "[ -~]{0,12}",
    ) {
        let vault = vault(&[("NAME", &secret)]);
        // A text that is not UTF-8 by itself reaches us only inside another spelling, or with marks for wrong bytes.
        let wide = spellings.iter().filter(|spelling| matches!(spelling, Spelling::Wide { .. })).count();
        let is_first = matches!(spellings.first(), None | Some(Spelling::Wide { .. })) || wide == 0;
        prop_assume!(wide <= 1 && is_first);
        let loses = |spelling: &Spelling| matches!(spelling, Spelling::Json { .. });
        prop_assume!(wide == 0 || !spellings.get(1).is_some_and(loses));
        let spelled = spellings.iter().fold(secret.clone().into_bytes(), |bytes, spelling| spelling.spell(&bytes));
        let spelled = String::from_utf8_lossy(&spelled).into_owned();
        let clean = vault.redactor().text(&format!("{before} <{spelled}> {after}"));
        let rest = clean.replace("[secret NAME]", "");
        prop_assert!(rest.len() < clean.len(), "{spellings:?} {secret:?}: {clean}");
        // What is left of the spelling is that of the few bytes around the secret.
        let left = rest.len().saturating_sub(before.len() + after.len() + 4);
        prop_assert!(left * 2 < spelled.len() + 8, "{spellings:?} {secret:?}: {left} of {}: {clean}", spelled.len());
    }

    #[test]
    fn no_secret_survives_at_the_ends_of_a_window(
        secret in "[!-~]{24,40}",
        spelling in spelling(),
        cut in 0_usize..200,
    ) {
        let vault = vault(&[("NAME", &secret)]);
        prop_assume!(!matches!(spelling, Spelling::Wide { .. }));
        let spelled = String::from_utf8_lossy(&spelling.spell(secret.as_bytes())).into_owned();
        let cut = cut % spelled.len();
        // At least half of the secret is left.
        prop_assume!(spelled.is_char_boundary(cut) && cut * 2 < spelled.len());
        for text in [spelled[cut..].to_owned() + " more", "more ".to_owned() + &spelled[..spelled.len() - cut]] {
            let clean = vault.redactor().text(&text);
            prop_assert!(clean.contains("[secret NAME]"), "{spelling:?} {secret:?} cut {cut}: {text}: {clean}");
        }
    }
}
