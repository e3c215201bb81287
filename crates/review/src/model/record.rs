//! How objects are read and written, member by member.

use std::sync::Arc;

use hence_canon::{Object, Value};

use super::field::{Defects, Field, Path};
use super::schema::Definitions;

/// Reads the members of one object and remembers which it took.
pub(crate) struct Reader<'a> {
    object: &'a Object,
    pub(super) at: &'a Path<'a>,
    pub(super) defects: &'a mut Defects,
    taken: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    /// Begins to read an object.
    pub(crate) fn new(value: &'a Value, at: &'a Path<'a>, defects: &'a mut Defects) -> Option<Self> {
        let Value::Object(object) = value else {
            defects.kind(at, "an object", value);
            return None;
        };
        Some(Self { object, at, defects, taken: Vec::new() })
    }

    /// Reads a member.
    pub(crate) fn member<T: Field>(&mut self, key: &'static str) -> Option<T> {
        self.taken.push(key);
        match self.object.get(key) {
            None | Some(Value::Null) => {
                let absent = T::absent();
                if absent.is_none() {
                    self.defects.push(&self.at.key(key), format!("{key} is required"));
                }
                absent
            }
            Some(value) => T::decode(value, &self.at.key(key), self.defects),
        }
    }

    /// Returns a member without decoding it.
    pub(super) fn raw(&mut self, key: &'static str) -> Option<&'a Value> {
        self.taken.push(key);
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// Returns the members nobody took.
    pub(crate) fn rest(self) -> Object {
        if self.object.keys().all(|key| self.taken.contains(&&**key)) {
            return Object::new();
        }
        let unknown = self.object.iter().filter(|(key, _)| !self.taken.contains(&&***key));
        unknown.map(|(key, value)| (key.clone(), value.clone())).collect()
    }
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

/// A group of members that is part of an object.
pub(crate) trait Members: Sized {
    fn read(reader: &mut Reader<'_>) -> Option<Self>;
    fn write(&self, writer: &mut Writer);
    /// Adds the properties and the names of the required ones.
    fn properties(
        definitions: &mut Definitions,
        properties: &mut Vec<(Arc<str>, Value)>,
        required: &mut Vec<Value>,
    );
    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self;
}

/// Declares members that belong together: `field: Type`, or `"key" field: Type` where the key is a Rust word.
macro_rules! members {
    ($(#[$meta:meta])* $name:ident { $($fields:tt)* }) => {
        $crate::model::record::fields! { @struct [$(#[$meta])*] $name [] $($fields)* }
    };
}

/// Declares an object: its members and `extra`, the members the specification does not know.
macro_rules! record {
    ($(#[$meta:meta])* $name:ident { $($fields:tt)* }) => {
        $crate::model::record::fields! {
            @struct [$(#[$meta])*] $name [
                /// Members the specification does not know.
                pub extra: hence_canon::Object,
            ] $($fields)*
        }

        impl $crate::model::field::Field for $name {
            fn decode(
                value: &hence_canon::Value,
                at: &$crate::model::field::Path<'_>,
                defects: &mut $crate::model::field::Defects,
            ) -> Option<Self> {
                let mut reader = $crate::model::record::Reader::new(value, at, defects)?;
                let record = <Self as $crate::model::record::Members>::read(&mut reader);
                let extra = reader.rest();
                record.map(|record| Self { extra, ..record })
            }

            fn encode(&self) -> Option<hence_canon::Value> {
                let mut writer = $crate::model::record::Writer::default();
                $crate::model::record::Members::write(self, &mut writer);
                Some(writer.finish(&self.extra))
            }

            fn schema(definitions: &mut $crate::model::schema::Definitions) -> hence_canon::Value {
                definitions.object::<Self>(stringify!($name))
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
    (@struct [$($meta:tt)*] $name:ident [$($more:tt)*] $($(#[$doc:meta])* $field:ident $(as $key:literal)?: $type:ty),* $(,)?) => {
        $($meta)*
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the fields are those of the specification")]
        #[allow(unreachable_pub, reason = "some groups of members stay inside the crate")]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
            $($more)*
        }

        impl $crate::model::record::Members for $name {
            fn read(reader: &mut $crate::model::record::Reader<'_>) -> Option<Self> {
                // Every member is read before any is missed, so that all defects are found.
                $(let $field = reader.member::<$type>($crate::model::record::key!($field $($key)?));)*
                Some($crate::model::record::build!($name [$($more)*] $($field: $field?),*))
            }

            fn write(&self, writer: &mut $crate::model::record::Writer) {
                $(writer.member($crate::model::record::key!($field $($key)?), &self.$field);)*
            }

            fn properties(
                definitions: &mut $crate::model::schema::Definitions,
                properties: &mut Vec<(std::sync::Arc<str>, hence_canon::Value)>,
                required: &mut Vec<hence_canon::Value>,
            ) {
                $({
                    let key = $crate::model::record::key!($field $($key)?);
                    properties.push((key.into(), <$type as $crate::model::field::Field>::schema(definitions)));
                    if <$type as $crate::model::field::Field>::absent().is_none() {
                        required.push(key.into());
                    }
                })*
            }

            #[cfg(test)]
            fn sample(source: &mut $crate::model::tests::Choices<'_>) -> Self {
                $(let $field = <$type as $crate::model::field::Field>::sample(source);)*
                $crate::model::record::build!($name [$($more)*] $($field: $field),*)
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
    ($name:ident [] $($field:ident: $value:expr),*) => {
        $name { $($field: $value),* }
    };
    ($name:ident [$($more:tt)+] $($field:ident: $value:expr),*) => {
        $name { $($field: $value,)* extra: hence_canon::Object::new() }
    };
}

/// Makes an encoded value of a type.
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
