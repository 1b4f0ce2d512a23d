//! Notes as the specifications have them, and notes as an attacker has them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::{Checkpoint, CheckpointError, Head, KeyName, LedgerId, SignCheckpoint, VerifyingKeyInfo, parse_signature};
use ed25519_dalek::{Signer as _, SigningKey};

struct Key(&'static str, u8);

impl Key {
    fn secret(&self) -> SigningKey {
        SigningKey::from_bytes(&[self.1; 32])
    }
}

impl SignCheckpoint for Key {
    fn key(&self) -> VerifyingKeyInfo {
        VerifyingKeyInfo { name: self.0.parse().unwrap(), key: self.secret().verifying_key() }
    }

    fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.secret().sign(message).to_bytes()
    }
}

fn head() -> Head {
    Head { ledger: "4f1d".parse().unwrap(), size: 42, root: [7; 32], previous: 40 }
}

fn note() -> String {
    head().sign(&Key("gate", 1).key(), &Key("gate", 1))
}

#[test]
fn keys_ids_and_signatures_are_those_of_signed_note() {
    // The example of the package golang.org/x/mod/sumdb/note, from which the specification comes.
    let key: VerifyingKeyInfo = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW".parse().unwrap();
    assert_eq!(key.key_id(), [0xc7, 0x4f, 0x20, 0xa3]);
    assert_eq!(key.to_string(), "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW");
    let text = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
    let line = "\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=";
    let signature = parse_signature(line).unwrap();
    assert_eq!(signature.key_id, key.key_id());
    let bytes: [u8; 64] = signature.bytes.try_into().unwrap();
    key.check(text.as_bytes(), &bytes).unwrap();
    key.check(b"another text", &bytes).unwrap_err();
}

#[test]
fn a_head_reads_back_as_it_was_signed() {
    let text = note();
    let checkpoint = Checkpoint::parse(&text).unwrap();
    assert_eq!(*checkpoint.claimed(), head());
    assert_eq!(*checkpoint.verify(&Key("gate", 1).key()).unwrap().head(), head());
    let lines: Vec<&str> = text.split('\n').collect();
    assert_eq!(
        lines[..5],
        ["countersign/4f1d", "42", "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=", "previous 40", ""]
    );
    assert!(lines[5].starts_with("\u{2014} gate "));
    assert_eq!(lines[6..], [""]);
}

#[test]
fn another_key_another_name_and_a_borrowed_signature_are_refused() {
    let checkpoint = Checkpoint::parse(&note()).unwrap();
    let verify = |key: Key| checkpoint.verify(&key.key()).map(drop);
    assert!(matches!(verify(Key("gate", 2)), Err(CheckpointError::NotSigned { size: 42, .. })));
    assert!(matches!(verify(Key("other", 1)), Err(CheckpointError::NotSigned { size: 42, .. })));
    // The signature of one head under another.
    let other = Head { size: 43, ..head() }.sign(&Key("gate", 1).key(), &Key("gate", 1));
    let signature = note().rsplit_once("\n\n").unwrap().1.to_owned();
    let forged = format!("{}\n\n{signature}", other.rsplit_once("\n\n").unwrap().0);
    let forged = Checkpoint::parse(&forged).unwrap();
    assert!(matches!(forged.verify(&Key("gate", 1).key()), Err(CheckpointError::BadSignature { size: 43, .. })));
}

#[test]
fn other_extensions_and_other_signatures_are_allowed_in_bounds() {
    let extended = head().body() + "witness 7\n";
    let signer = Key("gate", 1);
    let signed = |body: &str| {
        let mut bytes = signer.key().key_id().to_vec();
        bytes.extend_from_slice(&signer.sign(body.as_bytes()));
        format!("{body}\n\u{2014} gate {}\n", STANDARD.encode(bytes))
    };
    let note = signed(&extended);
    Checkpoint::parse(&note).unwrap().verify(&signer.key()).unwrap();
    let witness = "\u{2014} witness AAAAAAA=\n";
    let two = Checkpoint::parse(&(note.clone() + witness)).unwrap();
    assert_eq!(two.signatures().len(), 2);
    two.verify(&signer.key()).unwrap();
    Checkpoint::parse(&(note.clone() + &witness.repeat(16))).unwrap_err();
    Checkpoint::parse(&signed(&(head().body() + &"x\n".repeat(17)))).unwrap_err();
    Checkpoint::parse(&signed(&(head().body() + &"x".repeat(20_000) + "\n"))).unwrap_err();
    Checkpoint::parse(&signed(&(head().body() + "previous 3\n"))).unwrap_err();
}

#[test]
fn what_is_no_checkpoint_is_refused() {
    let good = note();
    let bad = [
        String::new(),
        "\n".to_owned(),
        "\n\n".to_owned(),
        good.replace("countersign/", "example.com/"),
        good.replace("countersign/4f1d", "countersign/"),
        good.replace("countersign/4f1d", "countersign/4F1D"),
        good.replace("\n42\n", "\n042\n"),
        good.replace("\n42\n", "\n+42\n"),
        good.replace("\n42\n", "\n-1\n"),
        good.replace("\n42\n", "\n18446744073709551616\n"),
        good.replace("\n42\n", "\n\n"),
        good.replace("Bwc=", "Bwd="),
        good.replace("Bwc=", "Bwc"),
        good.replace("BwcHBwcH", "Bwc"),
        good.replace("previous 40\n", ""),
        good.replace("previous 40", "previous x"),
        good.replace("\n\n", "\n"),
        good.replace("\n\n", "\n\n\n"),
        good.replace('\u{2014}', "-"),
        good.replace(" gate ", " gate"),
        good.replace(" gate ", " ga+te "),
        good.replace('\n', "\r\n"),
        good.trim_end().to_owned(),
        format!("{good}\n"),
        format!("\u{0}{good}"),
    ];
    for text in bad {
        assert_ne!(text, good);
        assert!(Checkpoint::parse(&text).is_err(), "{text:?}");
    }
}

#[test]
fn names_and_keys_are_of_their_form() {
    for text in ["", "a b", "a+b", "a\n", "ä", &"a".repeat(65)] {
        assert!(text.parse::<KeyName>().is_err(), "{text:?}");
    }
    for text in ["", "A", "a/b", "a\n", &"a".repeat(65)] {
        assert!(text.parse::<LedgerId>().is_err(), "{text:?}");
    }
    assert_ne!(LedgerId::generate().unwrap(), LedgerId::generate().unwrap());
    let good = Key("gate", 1).key().to_string();
    good.parse::<VerifyingKeyInfo>().unwrap();
    for text in [
        good.replace("gate", "other"),
        good.replace("+AY", "+AZ"),
        good.replace('+', "-"),
        format!("{good}A"),
        String::new(),
    ] {
        assert_ne!(text, good);
        assert!(text.parse::<VerifyingKeyInfo>().is_err(), "{text:?}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "(countersign/[a-f0-9]{0,3}\n?)?([0-9]{1,3}\n)?.{0,40}\n{0,3}(\u{2014} )?.{0,20}\n?") {
        drop(Checkpoint::parse(&text));
        drop(text.parse::<VerifyingKeyInfo>());
    }
}
