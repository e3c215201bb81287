//! Scalars, resolved by the core schema of YAML 1.2.

use granit_parser::Tag;
use hence_canon::{Float, Int, Value};

use crate::YamlErrorKind;

/// Returns the value of a scalar. A quoted scalar without a tag is always a text.
pub(crate) fn resolve(text: &str, plain: bool, tag: Option<&Tag>) -> Result<Value, YamlErrorKind> {
    let Some(tag) = tag else {
        return if plain { resolve_plain(text) } else { Ok(text.into()) };
    };
    if is_non_specific(tag) {
        return Ok(text.into());
    }
    let suffix = tag.core_suffix().ok_or_else(|| YamlErrorKind::UnknownTag(tag.original()))?;
    let mismatch = |expected| YamlErrorKind::TagMismatch { expected, found: text.chars().take(80).collect() };
    match suffix {
        "str" => Ok(text.into()),
        "null" => {
            Some(text).filter(|text| is_null(text)).map(|_| Value::Null).ok_or_else(|| mismatch("null"))
        }
        "bool" => boolean(text).map(Value::Bool).ok_or_else(|| mismatch("a boolean")),
        "int" => integer(text)?.map(Value::Int).ok_or_else(|| mismatch("an integer")),
        "float" => float(text)?.map(Value::Float).ok_or_else(|| mismatch("a float")),
        _ => Err(mismatch("a collection")),
    }
}

/// Returns whether a tag is a lone `!`, the non-specific tag: a scalar with it is a text.
pub(crate) fn is_non_specific(tag: &Tag) -> bool {
    tag.handle().is_empty() && tag.suffix() == "!" || tag.handle() == "!" && tag.suffix().is_empty()
}

fn resolve_plain(text: &str) -> Result<Value, YamlErrorKind> {
    if is_null(text) {
        return Ok(Value::Null);
    }
    if let Some(value) = boolean(text) {
        return Ok(Value::Bool(value));
    }
    if let Some(value) = integer(text)? {
        return Ok(Value::Int(value));
    }
    Ok(float(text)?.map_or_else(|| text.into(), Value::Float))
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// Reads an integer: decimal with an optional sign, octal `0o` or hexadecimal `0x`.
fn integer(text: &str) -> Result<Option<Int>, YamlErrorKind> {
    for (prefix, radix) in [("0o", 8), ("0x", 16)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
                return Ok(None);
            }
            let number = u128::from_str_radix(digits, radix).map_err(|_| YamlErrorKind::Number)?;
            return number.to_string().parse().map(Some).map_err(|_| YamlErrorKind::Number);
        }
    }
    let (sign, digits) = sign(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(None);
    }
    let significant = digits.trim_start_matches('0');
    let digits = if significant.is_empty() { "0" } else { significant };
    format!("{sign}{digits}").parse().map(Some).map_err(|_| YamlErrorKind::Number)
}

fn sign(text: &str) -> (&str, &str) {
    match text.as_bytes().first() {
        Some(b'-') => ("-", text.get(1..).unwrap_or_default()),
        Some(b'+') => ("", text.get(1..).unwrap_or_default()),
        _ => ("", text),
    }
}

/// Reads a float. Infinities and NaN are valid in YAML and refused here, because JSON cannot express them.
fn float(text: &str) -> Result<Option<Float>, YamlErrorKind> {
    let (_, unsigned) = sign(text);
    let infinite = matches!(unsigned, ".inf" | ".Inf" | ".INF");
    if infinite || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(YamlErrorKind::Number);
    }
    if !is_float(unsigned) {
        return Ok(None);
    }
    let number: f64 = text.parse().map_err(|_| YamlErrorKind::Number)?;
    Float::new(number).map(Some).map_err(|_| YamlErrorKind::Number)
}

/// Returns whether a text has the form `( . digits | digits [ . [digits] ] ) [ e [sign] digits ]`.
fn is_float(unsigned: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(sign(exponent).1)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let some_digit = !whole.is_empty() || !fraction.is_empty();
    let exponent_fits = exponent.is_none_or(|exponent| !exponent.is_empty() && digits(exponent));
    some_digit && digits(whole) && digits(fraction) && exponent_fits
}
