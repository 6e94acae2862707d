//! The order of samples: the drift of the machine's speed meets all subjects alike.

use std::fmt::Display;

use anyhow::Result;

/// Samples each subject `repeat_count` times, and returns the samples of each. Every subject is sampled once before any is
/// sampled again. Progress goes to standard error.
pub fn take_turns<T: Display, S>(
    study: &str,
    repeat_count: u32,
    subjects: &[T],
    mut sample: impl FnMut(&T) -> Result<S>,
) -> Result<Vec<Vec<S>>> {
    let mut samples: Vec<Vec<S>> = subjects.iter().map(|_| Vec::new()).collect();
    for repeat in 1..=repeat_count {
        for (subject, samples) in subjects.iter().zip(&mut samples) {
            eprintln!("{study} {repeat}/{repeat_count}: {subject}");
            samples.push(sample(subject)?);
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::take_turns;

    #[test]
    fn every_subject_is_sampled_once_before_any_is_sampled_again() {
        let mut order = Vec::new();
        let samples = take_turns("test", 2, &['a', 'b'], |&subject| {
            order.push(subject);
            Ok(order.len())
        });
        assert_eq!(samples.unwrap(), [[1, 3], [2, 4]]);
        assert_eq!(order, ['a', 'b', 'a', 'b']);
    }
}
