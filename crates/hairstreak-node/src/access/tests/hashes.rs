//! Password hashes: RabbitMQ's own, ours, and texts that are none.

use super::*;

/// Hashes that RabbitMQ made, by the guide to passwords, `PUT /api/users` and `rabbit_password:hash`, and logged users in with.
const RABBITMQS: [(HashingAlgorithm, &str, &str); 6] = [
    (HashingAlgorithm::Sha256, "test12", "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR"),
    (HashingAlgorithm::Sha256, "pässwörd €", "JRvX/dBUHJ3FaQX8bVZbo+FpCv+0asb6xvMR4uAA7EXZrVcq"),
    (HashingAlgorithm::Sha256, "guest", "+TGSng+TCsKNZG6WbbL7ePZewcsRSRHvVnyYwiV4e3lBigSt"),
    (
        HashingAlgorithm::Sha512,
        "secret512",
        "Gr+45XG481VcinUTLiZPGCazvDlXOXfIiLKH9CwoYU8HBQblQ2qoSzf+yFzIkgWqaaX8olx6l/3avwEdBeNDQr2Uc7U=",
    ),
    (HashingAlgorithm::Md5, "secretmd5", "r+6Zf5HmEyfn4dT+60b9mnqxM+U="),
    (HashingAlgorithm::Md5, "", "SOkM5UGSClxcfr3ydq8ZAPJZ+b0="),
];

/// The password `password` by the crate `argon2` 0.6, another implementation than ours.
const ARGON2ID: &str =
    "$argon2id$v=19$m=64,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$i6P6cCvSwI/Gp4MO3l8wvjoXUe1JLzHNfXagpIByW1o";

#[test]
fn rabbitmqs_hashes_match_their_passwords_only() {
    for (algorithm, password, text) in RABBITMQS {
        let hash = PasswordHash::from_text(text, algorithm).unwrap();
        assert!(hash.is_of(password.as_bytes()), "{text}");
        assert!(!hash.is_of(b"another") && !hash.is_of(format!("{password} ").as_bytes()), "{text}");
        assert_eq!(
            (hash.to_text(), hash.to_export(), hash.algorithm()),
            (text.into(), text.into(), algorithm)
        );
    }
}

#[test]
fn the_salt_comes_first() {
    let hash = PasswordHash::of_salted([0x90, 0x8D, 0xC6, 0x0A], b"test12");
    assert_eq!(hash.to_text(), RABBITMQS[0].2);
}

#[test]
fn argon2id_is_everybodys() {
    let hash = PasswordHash::from_text(ARGON2ID, HashingAlgorithm::Argon2id).unwrap();
    assert!(hash.is_of(b"password") && !hash.is_of(b"Password") && !hash.is_of(b""));
    assert_eq!(hash.to_text(), ARGON2ID);
}

#[test]
fn a_new_hash_survives_its_texts() {
    for algorithm in HashingAlgorithm::ALL {
        let hash = PasswordHash::of(b"secret", algorithm, cheap()).unwrap();
        for text in [hash.to_text(), hash.to_export(), format!(" {}\n", hash.to_text())] {
            assert_eq!(PasswordHash::from_text(&text, algorithm).unwrap(), hash);
        }
        assert!(hash.is_of(b"secret") && !hash.is_of(b"secret2"));
        assert_eq!(HashingAlgorithm::from_name(algorithm.name()), Some(algorithm));
        // Each has a salt of its own.
        assert_ne!(PasswordHash::of(b"secret", algorithm, cheap()).unwrap(), hash);
    }
}

#[test]
fn exports_are_base64_because_rabbitmq_refuses_definitions_otherwise() {
    let text = hash("secret").to_export();
    assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)), "{text}");
}

#[test]
fn no_hash_is_of_no_password() {
    for algorithm in HashingAlgorithm::ALL {
        let none = PasswordHash::from_text("", algorithm).unwrap();
        assert!(none.is_none() && !none.is_of(b"") && none == PasswordHash::none());
        assert!(PasswordHash::of(b"", algorithm, cheap()).unwrap().is_none());
    }
    assert_eq!(
        (PasswordHash::none().to_text(), PasswordHash::none().to_export()),
        (String::new(), String::new())
    );
}

#[test]
fn texts_that_are_no_hash_are_named() {
    for (algorithm, text, wrong) in [
        (HashingAlgorithm::Sha256, "notb64!!", "a rabbit_password_hashing_sha256 hash is base64"),
        (
            HashingAlgorithm::Sha512,
            "kI3G",
            "a rabbit_password_hashing_sha512 hash is base64 of 68 bytes, 4 of salt and a digest; this has 3",
        ),
        (HashingAlgorithm::Md5, RABBITMQS[0].2, "a rabbit_password_hashing_md5 hash is base64 of 20 bytes"),
        (HashingAlgorithm::Argon2id, "kI3G", "a hairstreak_argon2id hash is $argon2id$v=19$"),
        (HashingAlgorithm::Argon2id, "$argon2i$v=19$m=64,t=2,p=1$AA$AA", "a hairstreak_argon2id hash is"),
        (HashingAlgorithm::Argon2id, &ARGON2ID.replace("p=1", "p=4"), "a hairstreak_argon2id hash is"),
        (
            HashingAlgorithm::Argon2id,
            &ARGON2ID.replace("m=64", "m=4194304"),
            "Argon2id with 4194304 KiB and 2 passes; 8 to",
        ),
        (
            HashingAlgorithm::Argon2id,
            &ARGON2ID.replace("t=2", "t=0"),
            "Argon2id with 64 KiB and 0 passes; 8 to",
        ),
        (
            HashingAlgorithm::Argon2id,
            &ARGON2ID.replace("t=2", "t=11"),
            "Argon2id with 64 KiB and 11 passes; 8 to",
        ),
        (HashingAlgorithm::Argon2id, &ARGON2ID[..ARGON2ID.len() - 4], "a hairstreak_argon2id hash is"),
    ] {
        let said = PasswordHash::from_text(text, algorithm).unwrap_err().to_string();
        assert!(said.starts_with(wrong), "{text}: {said}");
    }
    let long = [b'x'; PASSWORD_SIZE_MAX + 1];
    assert!(PasswordHash::of(&long[1..], HashingAlgorithm::Md5, cheap()).is_ok());
    assert!(PasswordHash::of(&long, HashingAlgorithm::Md5, cheap()).is_err());
}

#[test]
fn hashes_without_an_algorithm_are_of_the_version_that_wrote_them() {
    for (version, algorithm) in [
        (None, HashingAlgorithm::Sha256),
        (Some("3.5.7"), HashingAlgorithm::Md5),
        (Some("3.0.0"), HashingAlgorithm::Md5),
        (Some("3.6.0"), HashingAlgorithm::Sha256),
        (Some("3.13.7"), HashingAlgorithm::Sha256),
        (Some("4.2.0"), HashingAlgorithm::Sha256),
    ] {
        assert_eq!(HashingAlgorithm::of_definitions(version), algorithm, "{version:?}");
    }
    assert_eq!(HashingAlgorithm::from_name("rabbit_password_hashing_scrypt"), None);
}

#[test]
fn the_default_work_is_what_owasp_recommends() {
    let hash =
        PasswordHash::of(b"guest", HashingAlgorithm::default(), Argon2idParameters::default()).unwrap();
    assert!(hash.to_text().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
}
