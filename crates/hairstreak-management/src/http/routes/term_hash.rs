//! Erlang's `phash2` of the arguments of a binding, as RabbitMQ has them in memory.
//!
//! ```text
//!   table      [{<<"name">>, type, value}, ...]     the fields of the arguments are sorted by name, those of inner tables are not
//!   array      [{type, value}, ...]
//!   decimal    {scale, value}
//!   void       undefined
//! ```
//!
//! `phash2` walks through a term from left to right and mixes each part into 32 bits. The mixing function is Bob Jenkins's of 1996. Erlang
//! promises the same hashes in all its versions.

use hairstreak_wire::amqp::{FieldTable, FieldValue};

/// The golden ratio. Its multiples tell the types of terms apart.
const RATIO: u32 = 0x9e37_79b9;
const SMALL: u32 = RATIO;
const NIL: u32 = RATIO.wrapping_mul(2);
const ATOM: u32 = RATIO.wrapping_mul(3);
const TUPLE: u32 = RATIO.wrapping_mul(9);
const LARGE_NEGATIVE: u32 = RATIO.wrapping_mul(10);
const LARGE_POSITIVE: u32 = RATIO.wrapping_mul(11);
const FLOAT: u32 = RATIO.wrapping_mul(12);
const BINARY: u32 = RATIO.wrapping_mul(13);
/// The empty list at the end of a list, and the hash of a term that is nothing else.
const NIL_VALUE: u32 = 2;
const NIL_ALONE: u32 = 3_468_870_702;
/// Integers from here on, and below its negative, are mixed by their magnitude.
const LARGE_MIN: i128 = 1 << 27;

/// The hash of arguments, from 0 to 2^32 - 1. The order of the arguments does not count.
pub(super) fn hash_of(arguments: &FieldTable) -> u32 {
    let mut fields: Vec<(&[u8], &FieldValue)> = arguments.iter().collect();
    fields.sort_by_key(|(name, _)| *name);
    let mut hash = TermHash(0);
    hash.fields(fields.into_iter());
    hash.0
}

/// The hash of the parts so far.
struct TermHash(u32);

impl TermHash {
    fn fields<'a>(&mut self, fields: impl Iterator<Item = (&'a [u8], &'a FieldValue)>) {
        for (name, value) in fields {
            self.tuple(3);
            self.binary(name);
            self.atom(value.type_name());
            self.value(value);
        }
        self.nil();
    }

    fn value(&mut self, value: &FieldValue) {
        match value {
            FieldValue::Bool(value) => self.atom(if *value { "true" } else { "false" }),
            FieldValue::F32(value) => self.float((*value).into()),
            FieldValue::F64(value) => self.float(*value),
            FieldValue::Decimal { scale, value } => {
                self.tuple(2);
                self.integer((*scale).into());
                self.integer((*value).into());
            }
            FieldValue::LongString(bytes) | FieldValue::Bytes(bytes) => self.binary(bytes),
            FieldValue::Array(values) => {
                for value in values {
                    self.tuple(2);
                    self.atom(value.type_name());
                    self.value(value);
                }
                self.nil();
            }
            FieldValue::Table(table) => self.fields(table.iter()),
            FieldValue::Void => self.atom("undefined"),
            FieldValue::Timestamp(seconds) => self.integer((*seconds).into()),
            integer => self.integer(integer.as_i64().unwrap_or_default().into()),
        }
    }

    fn tuple(&mut self, size: u32) {
        self.mix(size, 0, TUPLE);
    }

    fn nil(&mut self) {
        match self.0 {
            0 => self.0 = NIL_ALONE,
            _ => self.mix(NIL_VALUE, 0, NIL),
        }
    }

    /// Mixes an atom by the hash that the table of atoms has for it, which is P. J. Weinberger's.
    fn atom(&mut self, name: &str) {
        let hash = name.bytes().fold(0_u32, |hash, byte| {
            let hash = (hash << 4).wrapping_add(byte.into());
            let high = hash & 0xf000_0000;
            hash ^ (high >> 24) ^ high
        });
        match self.0 {
            0 => self.0 = hash,
            _ => self.mix(hash, 0, ATOM),
        }
    }

    fn integer(&mut self, value: i128) {
        if (-LARGE_MIN..LARGE_MIN).contains(&value) {
            // Negative numbers are mixed twice.
            if value < 0 {
                self.mix(-value as u32, 0, SMALL);
            }
            self.mix(value as u32, 0, SMALL);
        } else {
            let magnitude = value.unsigned_abs() as u64;
            let kind = if value < 0 { LARGE_NEGATIVE } else { LARGE_POSITIVE };
            self.mix(magnitude as u32, (magnitude >> 32) as u32, kind);
        }
    }

    fn float(&mut self, value: f64) {
        // Both zeros are one.
        let bits = if value == 0.0 { 0 } else { value.to_bits() };
        self.mix((bits >> 32) as u32, bits as u32, FLOAT);
    }

    fn binary(&mut self, bytes: &[u8]) {
        self.0 = self.0.wrapping_add(BINARY);
        if bytes.is_empty() {
            return;
        }
        let (blocks, rest) = bytes.as_chunks::<12>();
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
        let (mut a, mut b, mut c) = (RATIO, RATIO, self.0);
        for block in blocks {
            a = a.wrapping_add(word(&block[..4]));
            b = b.wrapping_add(word(&block[4..8]));
            c = c.wrapping_add(word(&block[8..]));
            (a, b, c) = mixed(a, b, c);
        }
        // The size stands in the first byte of the last word.
        let part = |from: usize, to: usize| word(rest.get(from..rest.len().min(to)).unwrap_or_default());
        a = a.wrapping_add(part(0, 4));
        b = b.wrapping_add(part(4, 8));
        c = c.wrapping_add(bytes.len() as u32).wrapping_add(part(8, 12) << 8);
        self.0 = mixed(a, b, c).2;
    }

    fn mix(&mut self, one: u32, other: u32, kind: u32) {
        self.0 = mixed(kind.wrapping_add(one), kind.wrapping_add(other), self.0).2;
    }
}

fn mixed(mut a: u32, mut b: u32, mut c: u32) -> (u32, u32, u32) {
    for (right, left, last) in [(13, 8, 13), (12, 16, 5), (3, 10, 15)] {
        a = a.wrapping_sub(b).wrapping_sub(c) ^ (c >> right);
        b = b.wrapping_sub(c).wrapping_sub(a) ^ (a << left);
        c = c.wrapping_sub(a).wrapping_sub(b) ^ (b >> last);
    }
    (a, b, c)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    #[track_caller]
    fn check(arguments: &[(&str, FieldValue)], hash: &str) {
        let table: FieldTable = arguments.iter().cloned().collect();
        assert_eq!(URL_SAFE_NO_PAD.encode(hash_of(&table).to_be_bytes()), hash, "{table:?}");
    }

    /// The hashes of RabbitMQ 3.10.8.
    #[test]
    fn arguments_have_the_hashes_of_rabbitmq() {
        for (value, hash) in [
            (FieldValue::I64(1), "hadFaw"),
            (FieldValue::I64(-1), "M1Hvuw"),
            (FieldValue::I64(0), "Lrk9ww"),
            (FieldValue::I64((1 << 27) - 1), "kFN9Zg"),
            (FieldValue::I64(1 << 27), "5hvMAw"),
            (FieldValue::I64(-(1 << 27)), "GT7UVw"),
            (FieldValue::I64(-(1 << 27) - 1), "RNC_3Q"),
            // Erlang has integers of 60 bits, and others.
            (FieldValue::I64((1 << 59) - 1), "3ZUGXA"),
            (FieldValue::I64(1 << 59), "wPryBQ"),
            (FieldValue::I64(-(1 << 59)), "2BBEmg"),
            (FieldValue::I64(-(1 << 59) - 1), "pbhSoQ"),
            (FieldValue::I64(i64::MAX), "mPW0AA"),
            (FieldValue::I64(i64::MIN), "E7TSWA"),
        ] {
            check(&[("n", value)], hash);
        }
        for (value, hash) in [(1.5, "TEY3sA"), (0.0, "izPFXw"), (-0.0, "izPFXw"), (-2.25e300, "9iCBDg")] {
            check(&[("d", FieldValue::F64(value))], hash);
        }
        check(&[("b", true.into())], "_sQtSA");
        check(&[("b", false.into())], "QvGL9Q");
        check(&[("v", FieldValue::Void)], "wLtq5A");
        for (text, hash) in [
            ("", "-HWwFg"),
            ("12345678901", "AImxxA"),
            ("123456789012", "ghDDrA"),
            ("1234567890123", "TCutzg"),
        ] {
            check(&[("s", text.into())], hash);
        }
        check(&[("d", FieldValue::Decimal { scale: 2, value: 12345 })], "cYcflg");
        check(&[("t", FieldValue::Timestamp(1_700_000_000))], "xStV5w");
    }

    #[test]
    fn arguments_are_sorted_and_inner_tables_are_not() {
        check(&[("b", "x".into()), ("a", "y".into()), ("x-match", "all".into())], "J97paA");
        check(&[("x-match", "all".into()), ("a", "y".into()), ("b", "x".into())], "J97paA");
        check(&[("b", FieldValue::I32(3)), ("", "a".into())], "DCnAXw");
        let inner = FieldTable::from_iter([("z", FieldValue::I64(5)), ("a", "x".into())]);
        check(&[("t", inner.into())], "xgapVg");
        check(&[("t", FieldTable::new().into())], "nUcNOQ");
        check(&[("a", Vec::new().into())], "jkxtaQ");
        let array =
            vec![FieldValue::I64(1), "x".into(), true.into(), FieldValue::Array(vec![FieldValue::Void])];
        check(&[("a", array.into())], "33okSw");
    }
}
