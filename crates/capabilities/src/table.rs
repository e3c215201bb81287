//! Capabilities on tables in CSV.

use hence_canon::{Float, Int, Object, Value};

use crate::arguments::Arguments;
use crate::builtin::{BuiltIn, optional, required};
use crate::refusal::Refusal;
use crate::template::text_of;

pub(crate) const ALL: &[&BuiltIn] = &[&PARSE, &WRITE];

const PARSE: BuiltIn = BuiltIn {
    id: "table.parse",
    does: "Read CSV with a header line into objects",
    takes: &[
        required("text", "string", "The CSV"),
        optional("separator", "string", "One ASCII character; a comma by default"),
        optional("types", "object", "Columns that are integer, number or boolean; the others are texts"),
    ],
    gives: &[
        required("rows", "array", "One object per row"),
        required("columns", "array", "The names of the columns"),
        required("count", "integer", "How many rows"),
    ],
    call: parse,
};

const WRITE: BuiltIn = BuiltIn {
    id: "table.write",
    does: "Write objects as CSV with a header line",
    takes: &[
        required("rows", "array", "The objects"),
        optional("columns", "array", "The columns; by default those of the first row"),
        optional("separator", "string", "One ASCII character; a comma by default"),
    ],
    gives: &[required("text", "string", "The CSV")],
    call: write,
};

fn separator(arguments: &Arguments<'_>) -> Result<u8, Refusal> {
    let text = arguments.text_or("separator", ",")?;
    match text.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        _ => Err(Refusal::input(format_args!("the `separator` is one ASCII character, found {text:?}"))),
    }
}

fn parse(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let types = arguments.object_or_empty("types")?;
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator(arguments)?)
        .from_reader(arguments.text("text")?.as_bytes());
    let headers = reader.headers().map_err(Refusal::input)?.clone();
    let columns: Vec<&str> = headers.iter().collect();
    if let Some(unknown) = types.keys().find(|name| !columns.contains(&&***name)) {
        return Err(Refusal::input(format_args!("`types` names `{unknown}`, which is no column")));
    }
    let mut seen = std::collections::BTreeSet::new();
    if let Some(twice) = columns.iter().find(|name| !seen.insert(**name)) {
        return Err(Refusal::input(format_args!("the column `{twice}` occurs twice")));
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(Refusal::input)?;
        let number = rows.len() + 1;
        let cells = columns.iter().zip(record.iter()).map(|(column, cell)| {
            let typed = typed(cell, types.get(column).and_then(Value::as_str));
            let typed = typed.map_err(|expected| {
                Refusal::input(format_args!("row {number}: `{column}` is {expected}, found {cell:?}"))
            });
            Ok((*column, typed?))
        });
        rows.push(cells.collect::<Result<Object, Refusal>>()?);
    }
    let count = rows.len();
    Ok(Object::from_iter([("rows", Value::from(rows)), ("columns", columns.into()), ("count", count.into())]))
}

/// Reads a cell; an empty cell of a declared type other than `string` is `null`.
fn typed(cell: &str, kind: Option<&str>) -> Result<Value, &'static str> {
    let text = cell.trim();
    match kind {
        None | Some("string") => Ok(cell.into()),
        Some(_) if text.is_empty() => Ok(Value::Null),
        Some("integer") => text.parse::<Int>().map(Value::from).map_err(|_| "an integer"),
        Some("number") => {
            if let Ok(int) = text.parse::<Int>() {
                return Ok(int.into());
            }
            let plain = text.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
            let real = text.parse::<f64>().ok().filter(|_| plain).and_then(|real| Float::new(real).ok());
            real.map(Value::from).ok_or("a number")
        }
        Some("boolean") => match text {
            "true" => Ok(true.into()),
            "false" => Ok(false.into()),
            _ => Err("true or false"),
        },
        Some(_) => Err("of type integer, number, boolean or string"),
    }
}

fn write(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let rows = arguments.list("rows")?;
    let columns: Vec<String> = match arguments.find("columns") {
        Some(_) => arguments.list("columns")?.iter().map(text_of).collect(),
        None => {
            let first = rows.first().and_then(Value::as_object);
            first.map(|row| row.keys().map(ToString::to_string).collect()).unwrap_or_default()
        }
    };
    let mut writer = csv::WriterBuilder::new().delimiter(separator(arguments)?).from_writer(Vec::new());
    if !columns.is_empty() {
        writer.write_record(&columns).map_err(Refusal::input)?;
        for (index, row) in rows.iter().enumerate() {
            let row = row.as_object().ok_or_else(|| {
                Refusal::input(format_args!("row {index} is an object, found {}", row.kind()))
            })?;
            let cells = columns.iter().map(|column| match row.get(column) {
                None | Some(Value::Null) => String::new(),
                Some(value) => text_of(value),
            });
            writer.write_record(cells).map_err(Refusal::input)?;
        }
    }
    let bytes = writer.into_inner().map_err(Refusal::input)?;
    let text = String::from_utf8(bytes).map_err(Refusal::input)?;
    Ok(Object::from_iter([("text", text)]))
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn tables_are_read_with_types_and_written_back() {
        table(
            "table.parse",
            &[
                (
                    r#"{"text": "a,b,c\n\"x, y\",1,\nz,12345678901234567890,0.5\n", "types": {"b": "integer", "c": "number"}}"#,
                    r#"{"columns": ["a", "b", "c"], "count": 2, "rows": [{"a": "x, y", "b": 1, "c": null}, {"a": "z", "b": 12345678901234567890, "c": 0.5}]}"#,
                ),
                (
                    r#"{"text": "a;b\n1;true", "separator": ";", "types": {"b": "boolean"}}"#,
                    r#"{"columns": ["a", "b"], "count": 1, "rows": [{"a": "1", "b": true}]}"#,
                ),
                (r#"{"text": ""}"#, r#"{"columns": [], "count": 0, "rows": []}"#),
                (r#"{"text": "a\nx", "types": {"a": "integer"}}"#, "!row 1: `a` is an integer, found \"x\""),
                (r#"{"text": "a\nNaN", "types": {"a": "number"}}"#, "!row 1: `a` is a number, found \"NaN\""),
                (r#"{"text": "a\n1", "types": {"a": "money"}}"#, "!row 1: `a` is of type"),
                (r#"{"text": "a\n1", "types": {"b": "number"}}"#, "!`types` names `b`, which is no column"),
                (r#"{"text": "a,a\n1,2"}"#, "!the column `a` occurs twice"),
                (r#"{"text": "a,b\n1"}"#, "!CSV error"),
                (r#"{"text": "a", "separator": "ab"}"#, "!the `separator` is one ASCII character"),
            ],
        );
        table(
            "table.write",
            &[
                (
                    r#"{"rows": [{"a": "x,y", "b": 1}, {"a": null, "b": [1]}]}"#,
                    r#"{"text": "a,b\n\"x,y\",1\n,[1]\n"}"#,
                ),
                (
                    r#"{"rows": [{"a": 1, "b": 2}], "columns": ["b"], "separator": ";"}"#,
                    r#"{"text": "b\n2\n"}"#,
                ),
                (r#"{"rows": []}"#, r#"{"text": ""}"#),
                (r#"{"rows": [{"a": 1}, 2]}"#, "!row 1 is an object, found integer"),
            ],
        );
    }
}
