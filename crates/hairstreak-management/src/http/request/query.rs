//! `Query`: the parameters behind the question mark.

use super::path::decode;

/// The parameters of a query string. The first of several with the same name counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query {
    parameters: Vec<(String, String)>,
}

impl Query {
    /// Reads `a=b&c=d`, where `+` is a space. An escape that is none stays as it is, and bytes that are no UTF-8 become the replacement character.
    pub(crate) fn parse(text: &str) -> Query {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let parameters = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode_text(name), decode_text(value))
        });
        Query { parameters: parameters.collect() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(other, _)| other == name).map(|(_, value)| &**value)
    }

    /// All values of a parameter.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.parameters.iter().filter(move |(other, _)| other == name).map(|(_, value)| &**value)
    }

    /// Whether the parameter is there and says `true`.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name) == Some("true")
    }
}

fn decode_text(text: &str) -> String {
    let text = text.replace('+', " ");
    match decode(&text) {
        Some(bytes) => String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_the_first_counts() {
        let query = Query::parse("a=b+c%20d&&x=&flag&a=2&p=%zz&%61b=1&u=%ff");
        let expected =
            [("a", "b c d"), ("x", ""), ("flag", ""), ("p", "%zz"), ("ab", "1"), ("u", "\u{fffd}")];
        for (name, value) in expected {
            assert_eq!(query.get(name), Some(value), "{name}");
        }
        assert_eq!(query.get("b"), None);
        assert_eq!(query.all("a").collect::<Vec<_>>(), ["b c d", "2"]);
        assert!(Query::parse("a=true").is_true("a"));
        assert!(!Query::parse("a=True").is_true("a"));
    }
}
