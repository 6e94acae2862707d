//! How libzmq's parts find out that all workers are there, before the clock starts.

use super::entry::check_size;
use super::error::PartError;
use crate::pipeline::task::WORKER_COUNT;

/// libzmq's parts greet each other before the clock starts, so that all workers are there: the ventilator sends a greeting
/// at a time and hears from the sink, through whichever worker it went to, which one that was. A greeting is shorter than
/// any task; that of a worker has one byte more than there are workers before it.
#[derive(Debug, Default)]
pub(super) struct Greetings {
    heard: [bool; WORKER_COUNT],
}

/// What the ventilator says.
pub(super) const GREETING: &[u8] = &[0];

impl Greetings {
    /// What worker `number` says.
    pub fn of_worker(number: usize) -> &'static [u8] {
        const BYTES: [u8; WORKER_COUNT] = [0; WORKER_COUNT];
        &BYTES[..=number.min(WORKER_COUNT - 1)]
    }

    /// Whether a message of this size is one.
    pub fn includes(size: usize) -> bool {
        (1..=WORKER_COUNT).contains(&size)
    }

    /// Takes the one of this size.
    pub fn hear(&mut self, size: usize) -> Result<(), PartError> {
        match size.checked_sub(1).and_then(|number| self.heard.get_mut(number)) {
            Some(heard) => *heard = true,
            None => check_size("a greeting", size, WORKER_COUNT)?,
        }
        Ok(())
    }

    /// Whether all workers have been heard of.
    pub fn are_complete(&self) -> bool {
        self.heard.iter().all(|&heard| heard)
    }
}

#[cfg(test)]
mod tests {
    use super::Greetings;
    use crate::pipeline::task::{TASK_SIZE, WORKER_COUNT};

    #[test]
    fn greetings_are_complete_when_each_worker_was_heard_of() {
        let mut greetings = Greetings::default();
        for number in [0, 2, 1, 1, 3] {
            assert!(!greetings.are_complete());
            let greeting = Greetings::of_worker(number);
            assert!(Greetings::includes(greeting.len()));
            greetings.hear(greeting.len()).unwrap();
        }
        assert!(greetings.are_complete());
        assert!(greetings.hear(0).is_err() && greetings.hear(WORKER_COUNT + 1).is_err());
    }

    #[test]
    fn no_task_and_no_reply_is_taken_for_a_greeting() {
        assert!(!Greetings::includes(TASK_SIZE) && !Greetings::includes(0));
    }
}
