//! Records without newlines as their ends, and records that are too large.

use crate::harness::map;

fn sized(records: &[&[u8]]) -> Vec<u8> {
    records.iter().flat_map(|record| [&(record.len() as u32).to_be_bytes(), *record].concat()).collect()
}

#[test]
fn records_that_end_with_a_nul_may_have_lines() {
    let input = b"one\nline\0\0two";
    assert_eq!(map(&["-k", "-0", "--", "cat"], input).stdout, b"one\nline\0\0two\0");
    assert_eq!(map(&["-k", "--null", "--", "printf", "%s;", "{}"], input).stdout, b"one\nline;;two;");
    assert_eq!(map(&["-k", "-j2", "-0", "--", "sed", "-z", "s/n/m/g"], input).stdout, b"ome\nlime\0\0two\0");
}

#[test]
fn records_behind_their_length_may_be_anything() {
    let records: [&[u8]; 4] = [b"a\0b\n", b"", b"\xff", &[7; 100_000]];
    let input = sized(&records);
    for jobs in ["-j1", "-j2"] {
        let outcome = map(&["-k", jobs, "--length", "--", "cat"], input.clone());
        assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
        assert!(outcome.stdout == input, "{} bytes", outcome.stdout.len());
    }
    let counted = map(&["-k", "--length", "--each", "--", "wc", "-c"], input).stdout;
    assert_eq!(counted, sized(&[b"4\n", b"0\n", b"1\n", b"100000\n"]));
}

#[test]
fn a_record_that_is_too_large_ends_the_input_with_one_line() {
    let limit = ["-k", "--record-bytes", "10"];
    let outcome = map(&[&limit[..], &["--", "cat"]].concat(), "0123456789\n0123456789a\nb\n");
    assert_eq!(outcome.stderr, "hairstreak: record 2 cannot be taken: it has more than 10 bytes\n");
    assert_eq!((outcome.status, outcome.text().as_str()), (255, "0123456789\n"), "earlier ones are done");
    let outcome = map(&[&limit[..], &["--length", "--", "cat"]].concat(), [0, 0, 0, 11]);
    assert_eq!(outcome.stderr, "hairstreak: record 1 cannot be taken: it has more than 10 bytes\n");
    let outcome = map(&["--length", "--", "cat"], [0, 0, 0, 2, 7]);
    assert_eq!(outcome.stderr, "hairstreak: record 1 cannot be taken: the input ends inside it\n");
}

#[test]
fn a_result_that_is_too_large_is_refused_too() {
    let filter = ["-j1", "--record-bytes", "10", "--", "sed", "s/$/0123456789/"];
    let outcome = map(&filter, "a\n");
    assert_eq!(outcome.stderr, "hairstreak: an answer cannot be taken: it has more than 10 bytes\n");
    assert_eq!(outcome.status, 255);
    let outcome =
        map(&["-k", "--record-bytes", "10", "--", "sh", "-c", "[ {} = 1 ] && yes || echo {}"], "1\n2\n");
    assert_eq!(outcome.stderr, "hairstreak: record 1 failed: its output has more than 10 bytes\n");
    assert_eq!((outcome.status, outcome.text().as_str()), (1, "2\n"));
}
