//! Vectors of AWS's published Signature Version 4 test suite and of its S3 examples.

use url::Url;

use super::{Signer, Unsigned};
use crate::secrets::Value;

fn authorization(signer: &Signer<'_>, request: &Unsigned<'_>) -> String {
    signer.sign(request).into_iter().find(|(name, _)| name == "authorization").unwrap().1
}

/// 30 August 2015, 12:36:00 UTC.
const AT: i64 = 1_440_938_160;

fn suite(method: &str, url: &str, body: &[u8], headers: &[(&str, &str)]) -> String {
    let credentials = Value::new(b"AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_vec());
    let signer = Signer::new(&credentials, "us-east-1", "service", AT).unwrap();
    let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let url = Url::parse(url).unwrap();
    let request = Unsigned { method, url: &url, host: "example.amazonaws.com", headers: &headers, body };
    let text = authorization(&signer, &request);
    text.rsplit_once("Signature=").unwrap().1.to_owned()
}

#[test]
fn the_signature_of_the_published_suite_comes_out() {
    assert_eq!(
        suite("GET", "https://example.amazonaws.com/", b"", &[]),
        "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
    );
    assert_eq!(
        suite("GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1", b"", &[]),
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
    );
    assert_eq!(
        suite("POST", "https://example.amazonaws.com/", b"", &[]),
        "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
    );
    assert_eq!(
        suite(
            "POST",
            "https://example.amazonaws.com/",
            b"Param1=value1",
            &[("content-type", "application/x-www-form-urlencoded")]
        ),
        "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"
    );
}

#[test]
fn the_signature_of_the_s3_example_comes_out() {
    let credentials = Value::new(b"AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_vec());
    // 24 May 2013, 00:00:00 UTC.
    let signer = Signer::new(&credentials, "us-east-1", "s3", 1_369_353_600).unwrap();
    let url = Url::parse("https://examplebucket.s3.amazonaws.com/test.txt").unwrap();
    let headers = [("range".to_owned(), "bytes=0-9".to_owned())];
    let host = "examplebucket.s3.amazonaws.com";
    let request = Unsigned { method: "GET", url: &url, host, headers: &headers, body: b"" };
    assert_eq!(
        authorization(&signer, &request),
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, \
         SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, \
         Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
    );
}

#[test]
fn a_session_token_is_sent_and_signed() {
    let credentials = Value::new(b"ID:SECRET:TOKEN:WITH:COLONS".to_vec());
    let signer = Signer::new(&credentials, "eu-west-1", "rds", AT).unwrap();
    let url = Url::parse("https://rds.eu-west-1.amazonaws.com/").unwrap();
    let request = Unsigned { method: "GET", url: &url, host: "rds.eu-west-1.amazonaws.com", headers: &[], body: b"" };
    let signed = signer.sign(&request);
    assert!(signed.contains(&("x-amz-security-token".to_owned(), "TOKEN:WITH:COLONS".to_owned())));
    assert!(authorization(&signer, &request).contains("SignedHeaders=host;x-amz-date;x-amz-security-token"));
    assert!(Signer::new(&Value::new(b"no colon".to_vec()), "r", "s", AT).is_none());
}
