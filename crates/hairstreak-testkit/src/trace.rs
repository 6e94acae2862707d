//! `Trace`: the log lines of a simulation.

/// Destination of the lines. Nothing is formatted when the trace is off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trace {
    /// Nowhere.
    #[default]
    Off,
    /// To the output of the test, without a buffer: a world that panics or hangs has printed all lines before.
    Printed,
    /// Into memory, to be compared.
    Kept(Vec<String>),
}

impl Trace {
    pub(crate) fn note(&mut self, now: u64, line: impl FnOnce() -> String) {
        match self {
            Trace::Off => {}
            Trace::Printed => println!("{now:>9} {}", line()),
            Trace::Kept(lines) => lines.push(format!("{now:>9} {}", line())),
        }
    }

    /// The lines that were kept.
    pub fn lines(&self) -> &[String] {
        match self {
            Trace::Kept(lines) => lines,
            Trace::Off | Trace::Printed => &[],
        }
    }
}
