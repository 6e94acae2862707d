//! `Columns`: the parts of an object that a client asks for, such as `name,message_stats.publish`.

use serde_json::{Map, Value};

/// The columns of `columns=`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Columns {
    paths: Vec<Vec<String>>,
}

impl Columns {
    /// Reads paths with commas between them. Empty ones are passed over.
    pub(crate) fn parse(text: &str) -> Columns {
        let words = |path: &str| path.split('.').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let paths = text.split(',').map(words).filter(|path: &Vec<String>| !path.is_empty()).collect();
        Columns { paths }
    }

    /// The value with these columns only. Of a list each item is cut down.
    pub(crate) fn cut(&self, value: Value) -> Value {
        let paths: Vec<&[String]> = self.paths.iter().map(Vec::as_slice).collect();
        cut(value, &paths)
    }
}

fn cut(value: Value, paths: &[&[String]]) -> Value {
    match value {
        Value::Object(fields) => Value::Object(cut_fields(fields, paths)),
        Value::Array(items) => items.into_iter().map(|item| cut(item, paths)).collect(),
        other => other,
    }
}

fn cut_fields(fields: Map<String, Value>, paths: &[&[String]]) -> Map<String, Value> {
    let wanted = fields.into_iter().filter_map(|(name, value)| {
        let below: Vec<&[String]> =
            paths.iter().filter(|path| path[0] == name).map(|path| &path[1..]).collect();
        if below.is_empty() {
            return None;
        }
        let is_whole = below.iter().any(|path| path.is_empty());
        let value = if is_whole { value } else { cut(value, &below) };
        Some((name, value))
    });
    wanted.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(columns: &str, expected: Value) {
        let value = json!({"name": "q", "messages": 1, "stats": {"a": {"rate": 2, "avg": 3}, "b": 4},
            "list": [{"x": 1, "y": 2}, 5], "none": null});
        assert_eq!(Columns::parse(columns).cut(value), expected, "{columns}");
    }

    #[test]
    fn columns_are_paths() {
        check("name", json!({"name": "q"}));
        check("name,none,nothing", json!({"name": "q", "none": null}));
        check("stats.a.rate,messages", json!({"messages": 1, "stats": {"a": {"rate": 2}}}));
        check("stats.a.rate,stats.a.avg,stats.b", json!({"stats": {"a": {"rate": 2, "avg": 3}, "b": 4}}));
        check("stats.a.rate,stats", json!({"stats": {"a": {"rate": 2, "avg": 3}, "b": 4}}));
        check("list.x", json!({"list": [{"x": 1}, 5]}));
        check("name.x", json!({"name": "q"}));
        check("", json!({}));
        check("..,,", json!({}));
    }
}
