//! Bodies of type `multipart/form-data` (RFC 7578), as browsers and older tools upload definitions.

/// The parts that are looked at.
const PART_COUNT_MAX: usize = 16;

/// The boundary of a body with this content type. `None`: the type is another one.
pub(crate) fn boundary(content_type: &str) -> Option<&str> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let value = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then_some(value.trim())
    })?;
    let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
    (!value.is_empty()).then_some(value)
}

/// The content of the part with that name. `None`: there is none, or the body is malformed.
pub(crate) fn part<'a>(body: &'a [u8], boundary: &str, name: &str) -> Option<&'a [u8]> {
    let delimiter = format!("--{boundary}");
    let mut rest = if body.starts_with(delimiter.as_bytes()) {
        &body[delimiter.len()..]
    } else {
        split(body, format!("\r\n{delimiter}").as_bytes())?.1
    };
    for _ in 0..PART_COUNT_MAX {
        // The last delimiter has two hyphens behind it.
        let inside = rest.strip_prefix(b"\r\n")?;
        let (content, behind) = split(inside, format!("\r\n{delimiter}").as_bytes())?;
        let (head, value) = match content.strip_prefix(b"\r\n") {
            Some(value) => (&b""[..], value),
            None => split(content, b"\r\n\r\n")?,
        };
        if is_named(head, name) {
            return Some(value);
        }
        rest = behind;
    }
    None
}

/// The bytes before and behind the first `delimiter`.
fn split<'a>(bytes: &'a [u8], delimiter: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = bytes.windows(delimiter.len()).position(|window| window == delimiter)?;
    Some((&bytes[..at], &bytes[at + delimiter.len()..]))
}

/// Whether the headers of a part say that name.
fn is_named(head: &[u8], name: &str) -> bool {
    let Ok(head) = std::str::from_utf8(head) else { return false };
    head.lines().any(|line| {
        let Some((header, parameters)) = line.split_once(':') else { return false };
        header.trim().eq_ignore_ascii_case("content-disposition")
            && parameters.split(';').any(|parameter| {
                parameter.trim().split_once('=').is_some_and(|(key, value)| {
                    key.trim().eq_ignore_ascii_case("name") && value.trim().trim_matches('"') == name
                })
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boundary_is_a_parameter_of_the_type() {
        for (text, boundary_text) in [
            ("multipart/form-data; boundary=X", Some("X")),
            ("Multipart/Form-Data; charset=utf-8; Boundary=\"a b\"", Some("a b")),
            ("multipart/form-data", None),
            ("multipart/form-data; boundary=", None),
            ("application/json; boundary=X", None),
        ] {
            assert_eq!(boundary(text), boundary_text, "{text}");
        }
    }

    #[test]
    fn a_part_is_found_by_its_name() {
        let body = b"--X\r\nContent-Disposition: form-data; name=\"redirect\"\r\n\r\n/x\r\n--X\r\n\
            content-disposition: form-data; name=\"file\"; filename=\"a.json\"\r\nContent-Type: application/json\r\n\r\n\
            {\"a\":\r\n1}\r\n--X--\r\n";
        assert_eq!(part(body, "X", "file"), Some(&b"{\"a\":\r\n1}"[..]));
        assert_eq!(part(body, "X", "redirect"), Some(&b"/x"[..]));
        assert_eq!(part(body, "X", "other"), None);
        assert_eq!(part(body, "Y", "file"), None);
        let preamble = [&b"words\r\n"[..], body].concat();
        assert_eq!(part(&preamble, "X", "redirect"), Some(&b"/x"[..]));
    }

    #[test]
    fn a_malformed_body_has_no_parts() {
        for body in [
            &b""[..],
            b"garbage",
            b"--X",
            b"--X\r\n",
            b"--X--\r\n",
            b"--X\r\n\r\nvalue",
            b"--X\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nno end",
        ] {
            assert_eq!(part(body, "X", "file"), None, "{}", String::from_utf8_lossy(body));
        }
    }
}
