//! Objects of the canonical model: read, written and described member by member, from one declaration each.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::read::{Finding, Findings};
use hence_canon::{JsonPointer, Object, Value};

use super::field::Field;

/// Reads the members of one object, collects findings, and remembers which members were read.
pub(crate) struct Reader<'a> {
    object: &'a Object,
    findings: Findings,
    read: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    /// Starts to read an object.
    pub(crate) fn new(value: &'a Value) -> Result<Self, Findings> {
        match value {
            Value::Object(object) => Ok(Self { object, findings: Findings::default(), read: Vec::new() }),
            other => Err(mismatch("an object", other)),
        }
    }

    /// Reads a member.
    pub(crate) fn member<T: Field>(&mut self, key: &'static str) -> Option<T> {
        let Some(value) = self.raw(key) else {
            let absent = T::absent();
            if absent.is_none() {
                self.refuse(key, format!("{key} is required"));
            }
            return absent;
        };
        T::decode(value).map_err(|findings| self.report(key, findings)).ok()
    }

    /// Returns a member without decoding it; `null` counts as absent.
    pub(super) fn raw(&mut self, key: &'static str) -> Option<&'a Value> {
        self.read.push(key);
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// Reports a finding about a member.
    pub(crate) fn refuse(&mut self, key: &'static str, message: String) {
        self.report(key, one(Finding::other(message)));
    }

    fn report(&mut self, key: &'static str, findings: Findings) {
        let place = JsonPointer::root().child(key);
        self.findings.extend(findings.into_vec().into_iter().map(|finding| finding.under(&place)));
    }

    /// Ends with the members nobody read, unless there are findings.
    pub(crate) fn finish<T>(self, make: impl FnOnce(Object) -> Option<T>) -> Result<T, Findings> {
        let is_unread = |key: &str| !self.read.contains(&key);
        let unread: Object = if self.object.keys().any(|key| is_unread(key)) {
            let members = self.object.iter().filter(|(key, _)| is_unread(key));
            members.map(|(key, value)| (key.clone(), value.clone())).collect()
        } else {
            Object::new()
        };
        match make(unread) {
            Some(made) if self.findings.is_empty() => Ok(made),
            _ => Err(self.findings),
        }
    }
}

/// Returns one finding as findings.
pub(crate) fn one(finding: Finding) -> Findings {
    let mut findings = Findings::default();
    findings.report(finding);
    findings
}

/// Reports a value of the wrong kind.
pub(crate) fn mismatch(expected: &'static str, found: &Value) -> Findings {
    one(Finding::expected(expected, found))
}

/// Writes the members of one object.
#[derive(Default)]
pub(crate) struct Writer(Vec<(Arc<str>, Value)>);

impl Writer {
    pub(crate) fn member<T: Field>(&mut self, key: &str, value: &T) {
        if let Some(value) = value.encode() {
            self.0.push((key.into(), value));
        }
    }

    /// Ends with the members the specification does not know; they never replace one it does.
    pub(crate) fn finish(mut self, extra: &Object) -> Value {
        for (key, value) in extra.iter() {
            if !self.0.iter().any(|(known, _)| known == key) {
                self.0.push((key.clone(), value.clone()));
            }
        }
        self.0.into_iter().collect::<Object>().into()
    }
}

/// Schemas of the objects met so far, by name.
#[derive(Default)]
pub(crate) struct Definitions(pub(super) BTreeMap<&'static str, Value>);

impl Definitions {
    /// Returns a reference to the schema of an object, made when it is new.
    pub(crate) fn object(
        &mut self,
        name: &'static str,
        describe: impl FnOnce(&mut Self, &mut ObjectSchema),
    ) -> Value {
        if !self.0.contains_key(name) {
            let mut schema = ObjectSchema::default();
            describe(self, &mut schema);
            self.0.insert(name, schema.build());
        }
        Object::from_iter([("$ref", format!("#/$defs/{name}"))]).into()
    }
}

/// The JSON Schema of an object under construction. Unknown members are allowed everywhere.
#[derive(Default)]
pub(crate) struct ObjectSchema {
    properties: Vec<(Arc<str>, Value)>,
    required: Vec<Value>,
}

impl ObjectSchema {
    /// Adds a member; a member without a value for its absence is required.
    pub(crate) fn member<T: Field>(&mut self, definitions: &mut Definitions, key: &str) {
        let schema = T::schema(definitions);
        if T::absent().is_none() { self.required(key, schema) } else { self.optional(key, schema) }
    }

    pub(crate) fn required(&mut self, key: &str, schema: Value) {
        self.required.push(key.into());
        self.optional(key, schema);
    }

    pub(crate) fn optional(&mut self, key: &str, schema: Value) {
        self.properties.push((key.into(), schema));
    }

    pub(crate) fn build(self) -> Value {
        Object::from_iter([
            ("type", Value::from("object")),
            ("properties", Object::from_iter(self.properties).into()),
            ("required", self.required.into()),
        ])
        .into()
    }
}

/// A group of members that is part of an object.
pub(crate) trait Members: Sized {
    fn read(reader: &mut Reader<'_>) -> Option<Self>;
    fn write(&self, writer: &mut Writer);
    fn describe(definitions: &mut Definitions, schema: &mut ObjectSchema);
    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self;
}

/// Declares a group of members: `field: Type`, or `field as "key": Type` where the key is a Rust word.
macro_rules! members {
    ($(#[$meta:meta])* $name:ident { $($fields:tt)* }) => {
        $crate::model::record::fields! { [$(#[$meta])*] $name [] [] $($fields)* }
    };
}

/// Declares an object: an optional group, its members, and `extra`, the members the specification does not know. A
/// `check` compares members with each other.
macro_rules! record {
    ($(#[$meta:meta])* $name:ident $([$group:ident: $type:ty])? { $($fields:tt)* } $(check $check:path)?) => {
        $crate::model::record::fields! {
            [$(#[$meta])*] $name [$($group: $type)?] [
                /// Members the specification does not know.
                pub extra: hence_canon::Object,
            ] $($fields)*
        }

        impl $crate::model::field::Field for $name {
            fn decode(value: &hence_canon::Value) -> Result<Self, hence_canon::read::Findings> {
                let mut reader = $crate::model::record::Reader::new(value)?;
                let record = <Self as $crate::model::record::Members>::read(&mut reader);
                $(record.iter().for_each(|record| $check(record, &mut reader));)?
                reader.finish(|extra| record.map(|record| Self { extra, ..record }))
            }

            fn encode(&self) -> Option<hence_canon::Value> {
                let mut writer = $crate::model::record::Writer::default();
                $crate::model::record::Members::write(self, &mut writer);
                Some(writer.finish(&self.extra))
            }

            fn schema(definitions: &mut $crate::model::record::Definitions) -> hence_canon::Value {
                definitions.object(stringify!($name), <Self as $crate::model::record::Members>::describe)
            }

            #[cfg(test)]
            fn sample(source: &mut $crate::model::tests::Choices<'_>) -> Self {
                let record = <Self as $crate::model::record::Members>::sample(source);
                Self { extra: source.extra(), ..record }
            }
        }

        $crate::model::record::encoded!($name);
    };
}

/// The struct and its members; `$key` is the wire name when it is not the name of the field.
macro_rules! fields {
    (
        [$($meta:tt)*] $name:ident [$($group:ident: $group_type:ty)?] [$($more:tt)*]
        $($(#[$doc:meta])* $field:ident $(as $key:literal)?: $type:ty),* $(,)?
    ) => {
        $($meta)*
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the fields are those of the specification")]
        #[allow(unreachable_pub, reason = "some groups of members stay inside the crate")]
        pub struct $name {
            $(pub $group: $group_type,)?
            $($(#[$doc])* pub $field: $type,)*
            $($more)*
        }

        impl $crate::model::record::Members for $name {
            fn read(reader: &mut $crate::model::record::Reader<'_>) -> Option<Self> {
                // Every member is read before the first `?`, so that all findings are collected.
                $(let $group = <$group_type as $crate::model::record::Members>::read(reader);)?
                $(let $field = reader.member::<$type>($crate::model::record::key!($field $($key)?));)*
                Some($crate::model::record::build!($name [$($more)*] $($group: $group?,)? $($field: $field?),*))
            }

            fn write(&self, writer: &mut $crate::model::record::Writer) {
                $($crate::model::record::Members::write(&self.$group, writer);)?
                $(writer.member($crate::model::record::key!($field $($key)?), &self.$field);)*
            }

            fn describe(
                definitions: &mut $crate::model::record::Definitions,
                schema: &mut $crate::model::record::ObjectSchema,
            ) {
                $(<$group_type as $crate::model::record::Members>::describe(definitions, schema);)?
                $(schema.member::<$type>(definitions, $crate::model::record::key!($field $($key)?));)*
            }

            #[cfg(test)]
            fn sample(source: &mut $crate::model::tests::Choices<'_>) -> Self {
                $(let $group = <$group_type as $crate::model::record::Members>::sample(source);)?
                $(let $field = <$type as $crate::model::field::Field>::sample(source);)*
                $crate::model::record::build!($name [$($more)*] $($group: $group,)? $($field: $field),*)
            }
        }
    };
}

macro_rules! key {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $key:literal) => {
        $key
    };
}

macro_rules! build {
    ($name:ident [] $($field:ident: $value:expr),* $(,)?) => {
        $name { $($field: $value),* }
    };
    ($name:ident [$($more:tt)+] $($field:ident: $value:expr),* $(,)?) => {
        $name { $($field: $value,)* extra: hence_canon::Object::new() }
    };
}

/// Implements the conversion of a type into a value of a document.
macro_rules! encoded {
    ($($name:ident),+) => {$(
        impl From<&$name> for hence_canon::Value {
            fn from(value: &$name) -> Self {
                $crate::model::field::Field::encode(value).unwrap_or_default()
            }
        }
    )+};
}

pub(crate) use {build, encoded, fields, key, members, record};
