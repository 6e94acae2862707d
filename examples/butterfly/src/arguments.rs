//! What the programs are called with: `<host> [interface ...] [number]`.
//!
//! The host is that of the directory, with `:port` unless it is 5682. Interfaces may be left out, all
//! of them: then a program listens on every one and any free port.

/// What a program takes.
#[derive(Clone, Copy, Debug)]
pub struct Usage<const INTERFACES: usize> {
    /// Its name.
    pub program: &'static str,
    /// What its interfaces are for.
    pub interfaces: [&'static str; INTERFACES],
    /// What its number is, if it takes one.
    pub number: Option<&'static str>,
    /// The least that may be.
    pub number_min: u64,
}

/// What a program was called with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments<const INTERFACES: usize> {
    /// Where the directory is.
    pub host: String,
    /// Where to listen.
    pub interfaces: [String; INTERFACES],
    /// 1 if the program takes none.
    pub number: u64,
}

impl<const INTERFACES: usize> Usage<INTERFACES> {
    /// `None` if they make no sense.
    pub fn parse(&self, words: &[String]) -> Option<Arguments<INTERFACES>> {
        let (number, words) = match self.number {
            None => (1, words),
            Some(_) => {
                let (number, words) = words.split_last()?;
                (number.parse().ok().filter(|&number| number >= self.number_min)?, words)
            }
        };
        let (host, interfaces) = words.split_first()?;
        let interfaces = match interfaces {
            [] => std::array::from_fn(|_| "*".to_owned()),
            given => given.to_vec().try_into().ok()?,
        };
        Some(Arguments { host: host.clone(), interfaces, number })
    }

    /// The line that says how it is meant.
    pub fn line(&self) -> String {
        let interfaces: Vec<String> = self.interfaces.iter().map(|name| format!("<{name}>")).collect();
        let mut line = format!("usage: {} <host>", self.program);
        if !interfaces.is_empty() {
            line += &format!(" [{}]", interfaces.join(" "));
        }
        if let Some(number) = self.number {
            line += &format!(" <{number}>");
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEND_REQUESTS: Usage<2> = Usage {
        program: "send_requests",
        interfaces: ["out-interface", "sync-interface"],
        number: Some("transaction-count"),
        number_min: 1,
    };
    const INTERMEDIATE: Usage<2> = Usage {
        program: "intermediate",
        interfaces: ["in-interface", "out-interface"],
        number: None,
        number_min: 0,
    };
    const COMPONENT1: Usage<0> =
        Usage { program: "component1", interfaces: [], number: Some("processing-time-ms"), number_min: 0 };

    fn parse<const N: usize>(usage: Usage<N>, words: &str) -> Option<(String, Vec<String>, u64)> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let arguments = usage.parse(&words)?;
        Some((arguments.host, arguments.interfaces.into(), arguments.number))
    }

    fn parsed(host: &str, interfaces: &[&str], number: u64) -> Option<(String, Vec<String>, u64)> {
        Some((host.to_owned(), interfaces.iter().map(|text| text.to_string()).collect(), number))
    }

    #[test]
    fn interfaces_are_all_given_or_none_is() {
        assert_eq!(parse(SEND_REQUESTS, "SVR001 100"), parsed("SVR001", &["*", "*"], 100));
        assert_eq!(
            parse(SEND_REQUESTS, "SVR001:7 eth0 lo:5 100"),
            parsed("SVR001:7", &["eth0", "lo:5"], 100)
        );
        assert_eq!(parse(INTERMEDIATE, "SVR001"), parsed("SVR001", &["*", "*"], 1));
        assert_eq!(parse(INTERMEDIATE, "SVR001 eth0 eth1"), parsed("SVR001", &["eth0", "eth1"], 1));
        assert_eq!(parse(COMPONENT1, "SVR001 500"), parsed("SVR001", &[], 500));
        assert_eq!(parse(COMPONENT1, "SVR001 0"), parsed("SVR001", &[], 0), "no work to do is a time too");
        for wrong in ["", "SVR001", "SVR001 eth0 100", "SVR001 100 200 300 400", "SVR001 many", "SVR001 0"] {
            assert_eq!(parse(SEND_REQUESTS, wrong), None, "{wrong}");
        }
        assert_eq!(parse(INTERMEDIATE, "SVR001 eth0"), None);
        assert_eq!(parse(COMPONENT1, "SVR001 eth0 500"), None);
    }

    #[test]
    fn the_usage_line_says_it() {
        let line = "usage: send_requests <host> [<out-interface> <sync-interface>] <transaction-count>";
        assert_eq!(SEND_REQUESTS.line(), line);
        assert_eq!(COMPONENT1.line(), "usage: component1 <host> <processing-time-ms>");
    }
}
