//! Finds who a broker says it is among its server properties.

/// The text of the field `name` in an encoded table: a long string behind its name.
fn field<'a>(table: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut wanted = vec![name.len() as u8];
    wanted.extend_from_slice(name.as_bytes());
    wanted.push(b'S');
    let at = table.windows(wanted.len()).position(|window| window == wanted)? + wanted.len();
    let size = u32::from_be_bytes(*table.get(at..)?.first_chunk()?) as usize;
    table.get(at + 4..)?.get(..size)
}

/// The version in the arguments of connection.start, or `unknown`.
pub(super) fn version(start: &[u8]) -> String {
    field(start, "version")
        .map_or_else(|| "unknown".to_owned(), |text| String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn the_version_is_found_where_there_is_one() {
        assert_eq!(version(b"\x07productS\x00\x00\x00\x01x\x07versionS\x00\x00\x00\x063.10.8..."), "3.10.8");
        assert_eq!(version(b"\x07versionS\x00\x00\x00\x063"), "unknown");
        assert_eq!(version(b""), "unknown");
    }
}
