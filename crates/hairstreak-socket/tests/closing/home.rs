//! `Home`: where a sender lives, in a thread or in a process of its own, and what it says.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use hairstreak_testkit::BoundedChild;

use crate::LONG;
use crate::run::Run;
use crate::sender::{MARK, RUN, send};

pub enum Home {
    Thread(mpsc::Receiver<String>, JoinHandle<()>),
    Process(Child, BufReader<ChildStdout>),
}

impl Home {
    pub fn thread(run: &Run) -> Home {
        let (run, (say, hear)) = (run.clone(), mpsc::channel());
        Home::Thread(hear, thread::spawn(move || send(&run, |line| say.send(line).unwrap())))
    }

    pub fn process(run: &Run) -> Home {
        let mut sender = Command::new(std::env::current_exe().unwrap());
        let sender = sender.args(["sender::the_sender", "--exact", "--nocapture"]).env(RUN, run.to_words());
        let mut sender = sender.stdout(Stdio::piped()).spawn().unwrap();
        let output = sender.stdout.take().unwrap();
        Home::Process(sender, BufReader::new(output))
    }

    /// The rest of the sender's next line, which begins with `word`.
    pub fn hear(&mut self, word: &str) -> String {
        let line = match self {
            Home::Thread(hear, _) => hear.recv_timeout(LONG * 10).unwrap(),
            Home::Process(_, output) => {
                let mut lines = output.lines().map(Result::unwrap);
                let line = lines.find_map(|line| line.strip_prefix(MARK).map(str::to_owned));
                line.unwrap_or_else(|| panic!("the sender ended before it was {word}"))
            }
        };
        let rest = line.strip_prefix(word).unwrap_or_else(|| panic!("{line:?} instead of {word}"));
        rest.trim_start().to_owned()
    }

    /// How many messages were sent, and their tally.
    pub fn hear_closed(&mut self) -> (u64, String) {
        let line = self.hear("closed");
        let (count, tally) = line.split_once(' ').unwrap();
        (count.parse().unwrap(), tally.to_owned())
    }

    /// Waits for the sender's end, which must be a good one.
    pub fn finish(self) {
        match self {
            Home::Thread(_, thread) => thread.join().unwrap(),
            Home::Process(mut child, mut output) => {
                // So that the harness can say its last lines.
                std::io::copy(&mut output, &mut std::io::sink()).unwrap();
                assert!(child.end().success());
            }
        }
    }
}
