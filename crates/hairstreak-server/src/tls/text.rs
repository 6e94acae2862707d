//! The text of a string in a certificate, whichever of ASN.1's types it has.

use x509_cert::der::asn1::Any;
use x509_cert::der::{Tag, Tagged};

/// The text of `value`. `None`: the value is no string, or has bytes that its type does not allow.
pub(super) fn text_of(value: &Any) -> Option<String> {
    let bytes = value.value();
    match value.tag() {
        Tag::Utf8String => String::from_utf8(bytes.to_vec()).ok(),
        Tag::PrintableString | Tag::Ia5String | Tag::NumericString | Tag::VisibleString => {
            bytes.is_ascii().then(|| bytes.iter().copied().map(char::from).collect())
        }
        // Certificates mean Latin-1 by it.
        Tag::TeletexString => Some(bytes.iter().copied().map(char::from).collect()),
        Tag::BmpString => {
            let (pairs, rest) = bytes.as_chunks::<2>();
            let units = pairs.iter().copied().map(u16::from_be_bytes);
            rest.is_empty().then(|| char::decode_utf16(units).collect::<Result<_, _>>().ok()).flatten()
        }
        _ => None,
    }
}
