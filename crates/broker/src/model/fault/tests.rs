//! Which failures may pass, and what is told of them.

use std::time::Duration;

use countersign_wire::infer::FailureKind::{self, Garbage, RateLimited, Rejected, Unavailable};

use super::{Again, of_status};

fn again(status: u16, body: &str) -> (FailureKind, bool) {
    let fault = of_status(status, None, body.as_bytes());
    (fault.kind, matches!(fault.again, Again::Later(_)))
}

#[test]
fn only_a_status_that_may_pass_is_tried_again() {
    for status in [408, 409, 500, 502, 503, 504, 529] {
        assert_eq!(again(status, ""), (Unavailable, true), "{status}");
    }
    assert_eq!(again(429, ""), (RateLimited, true));
    for status in [301, 307, 400, 401, 402, 403, 404, 413, 422, 451, 501, 505] {
        assert_eq!(again(status, ""), (Rejected, false), "{status}");
    }
    for status in [100, 201, 204, 206, 600] {
        assert_eq!(again(status, ""), (Garbage, false), "{status}");
    }
}

#[test]
fn spent_credit_is_no_rate_limit() {
    let body = r#"{"error": {"message": "You exceeded your current quota", "type": "insufficient_quota",
        "code": "insufficient_quota"}}"#;
    assert_eq!(again(429, body), (Rejected, false));
}

#[test]
fn a_refusal_costs_nothing_and_a_failure_may_have() {
    assert!(!of_status(429, None, b"").worked);
    assert!(!of_status(400, None, b"").worked);
    assert!(of_status(500, None, b"").worked);
}

#[test]
fn the_wait_that_is_asked_for_is_kept() {
    let wait = Duration::from_secs(7);
    for status in [429, 503] {
        assert_eq!(of_status(status, Some(wait), b"").again, Again::Later(Some(wait)));
    }
}

#[test]
fn every_shape_of_an_error_is_told() {
    for body in [
        r#"{"error": {"message": "no such model"}}"#,
        r#"{"error": "no such model"}"#,
        r#"{"type": "error", "error": {"type": "not_found_error", "message": "no such model"}}"#,
        r#"{"detail": "no such model"}"#,
        r#"{"message": "no such model"}"#,
        "no such model\n",
    ] {
        let fault = of_status(404, None, body.as_bytes());
        assert!(fault.message.ends_with("it says: `no such model`"), "{body}: {}", fault.message);
    }
}
