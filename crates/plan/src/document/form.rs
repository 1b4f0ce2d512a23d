//! A strict value as types are read from it: an object for a struct, a word for a plain variant, and nothing else.
//!
//! serde takes a list for any struct, its items for the fields in the order of the source code, and `{word: null}` for a plain
//! variant. One value would have several forms, and who looks for a member by its name would not see what was read
//! (`lesson_26`).

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, Unexpected, VariantAccess, Visitor,
};
use serde_json::{Error, Value};

/// A value on its way to a type.
#[derive(Clone, Copy)]
pub(super) struct Form<'de>(pub(super) &'de Value);

impl<'de> Form<'de> {
    /// As [`Deserializer::deserialize_any`], where names stand for parts: only an object has them.
    fn named<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let found = match self.0 {
            Value::Object(_) => return self.deserialize_any(visitor),
            Value::Null => Unexpected::Unit,
            Value::Bool(b) => Unexpected::Bool(*b),
            Value::Number(_) => Unexpected::Other("number"),
            Value::String(text) => Unexpected::Str(text),
            Value::Array(_) => Unexpected::Seq,
        };
        Err(Error::invalid_type(found, &visitor))
    }
}

impl<'de> IntoDeserializer<'de, Error> for Form<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Form<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(items) => {
                let mut items = SeqDeserializer::new(items.iter().map(Form));
                let read = visitor.visit_seq(&mut items)?;
                items.end().map(|()| read)
            }
            Value::Object(members) => {
                let mut members =
                    MapDeserializer::new(members.iter().map(|(name, member)| (name.as_str(), Form(member))));
                let read = visitor.visit_map(&mut members)?;
                members.end().map(|()| read)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => self.0.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.named(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.named(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Value::String(word) => visitor.visit_enum(Variant { name: word, value: None }),
            Value::Object(members) => match members.iter().next() {
                Some((name, member)) if members.len() == 1 => {
                    visitor.visit_enum(Variant { name, value: Some(Form(member)) })
                }
                _ => Err(Error::invalid_value(Unexpected::Map, &"an object with one member")),
            },
            Value::Array(_) => Err(Error::invalid_type(Unexpected::Seq, &visitor)),
            Value::Null | Value::Bool(_) | Value::Number(_) => self.0.deserialize_any(visitor),
        }
    }

    /// Nothing of what is ignored is looked at.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct identifier
    }
}

/// One of several: a word, or a name with what belongs to it.
struct Variant<'de> {
    name: &'de str,
    value: Option<Form<'de>>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        seed.deserialize(IntoDeserializer::<Error>::into_deserializer(self.name)).map(|name| (name, self))
    }
}

impl<'de> Variant<'de> {
    fn value(self) -> Result<Form<'de>, Error> {
        self.value.ok_or_else(|| Error::custom(format!("`{}` needs a value", self.name)))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.value {
            None => Ok(()),
            Some(_) => Err(Error::custom(format!("`{}` is written as a plain word", self.name))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.value()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.value()?.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.value()?.named(visitor)
    }
}
