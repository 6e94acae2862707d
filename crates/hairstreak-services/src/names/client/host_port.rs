//! `host[:port]` as people type it, for directories, interfaces and advertised addresses.

/// The host (an IPv6 address in brackets, with or without them in `text`) and the port if there is one.
pub fn split(text: &str) -> (String, Option<&str>) {
    if let Some((host, port)) = text.rsplit_once("]:") {
        return (format!("{host}]"), Some(port));
    }
    match text.split_once(':') {
        Some((_, rest)) if rest.contains(':') && !text.starts_with('[') => (format!("[{text}]"), None),
        Some((host, port)) if !text.starts_with('[') => (host.to_owned(), Some(port)),
        _ => (text.to_owned(), None),
    }
}

/// As a tcp endpoint, with `port` if the text has none. A text that is an endpoint already stays.
pub fn endpoint(text: &str, port: &str) -> String {
    if text.contains("://") {
        return text.to_owned();
    }
    let (host, given) = split(text);
    format!("tcp://{host}:{}", given.unwrap_or(port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_added_where_there_is_none() {
        for (text, expected) in [
            ("SVR001", "tcp://SVR001:5682"),
            ("SVR001:7", "tcp://SVR001:7"),
            ("*", "tcp://*:5682"),
            ("*:*", "tcp://*:*"),
            ("10.0.0.1", "tcp://10.0.0.1:5682"),
            ("::1", "tcp://[::1]:5682"),
            ("[::1]", "tcp://[::1]:5682"),
            ("[fe80::1]:9", "tcp://[fe80::1]:9"),
            ("ipc:///tmp/x", "ipc:///tmp/x"),
        ] {
            assert_eq!(endpoint(text, "5682"), expected);
        }
    }
}
