//! `approve` and `deny`: what is signed is what was shown, by the key whose passphrase was given, and nothing else is sent.

use countersign_plan::approval::{Answer, VerifiedApproval};
use countersign_plan::digest::Digest;
use countersign_plan::envelope::Envelope;
use countersign_plan::time::Timestamp;
use countersign_plan::verdict::Decision;
use countersign_wire::operator::to_monitor::Kind;
use serde_json::json;

use crate::fake::{
    Asked, CASE, PASSPHRASE, Place, Script, answer, case, deciding, key, plan, policy_digest, verdict, view,
};

/// A monitor that shows this plan under this verdict's digest and stage.
fn showing(plan: &[u8], digest: Option<Digest>, stage: &str) -> Script {
    let mut verdict = verdict(Decision::RequireApproval);
    verdict.plan_digest = digest;
    let shown = view(&verdict, stage, plan);
    Script {
        propose: Box::new(move |_| vec![case(&shown)]),
        operate: Box::new(|_| vec![answer(&json!({"cases": [{"case": CASE, "stage": "pending"}]}))]),
    }
}

#[test]
fn an_approval_is_a_signature_over_exactly_what_was_shown() {
    let place = Place::with(deciding(Decision::RequireApproval, "completed"));
    let approver = key(&place);
    let ran = place.sign(&["approve", CASE], PASSPHRASE).expect(0);
    assert!(ran.out().contains("2 drop  delete_file  [delete]  IRREVERSIBLE"), "{}", ran.out());
    assert!(ran.out().contains(&Digest::of(&plan()).to_string()), "{}", ran.out());
    let answers = place.answers();
    assert_eq!(answers.len(), 1);
    let envelope = Envelope::from_json(&answers[0]).unwrap();
    let verified = VerifiedApproval::verify(&envelope, &[approver]).unwrap();
    let approval = verified.approval();
    assert_eq!(approval.answer, Answer::Approve);
    assert_eq!(approval.plan_digest, Digest::of(&plan()));
    assert_eq!((approval.version, approval.policy_digest), (3, policy_digest()));
    assert_eq!(approval.case.as_str(), CASE);
    assert_eq!(approval.approver.as_str(), "user:alice");
    assert_eq!(approval.role.as_deref(), Some("finance"));
    assert!(approval.signed_at > Timestamp::EPOCH);
    assert_eq!(approval.expires_at.since(approval.signed_at).as_millis(), 600_000);
    assert_eq!(approval.nonce.len(), 32);
}

#[test]
fn two_approvals_of_one_plan_are_two() {
    let place = Place::with(deciding(Decision::RequireApproval, "completed"));
    key(&place);
    place.sign(&["approve", CASE], PASSPHRASE).expect(0);
    place.sign(&["approve", CASE], PASSPHRASE).expect(0);
    let answers = place.answers();
    assert_ne!(answers[0], answers[1]);
}

#[test]
fn a_wrong_passphrase_and_none_send_nothing() {
    let place = Place::with(deciding(Decision::RequireApproval, "completed"));
    key(&place);
    for wrong in ["correct horse batterz", ""] {
        place.sign(&["approve", CASE], wrong).expect(20);
        place.sign(&["deny", CASE, "--reason", "no"], wrong).expect(20);
    }
    assert!(place.answers().is_empty());
}

#[test]
fn lesson_22_a_prompt_never_goes_without_the_payload_that_was_judged() {
    let digest = Digest::of(&plan());
    let mut altered = plan();
    let at = altered.windows(5).position(|bytes| bytes == b"a.log").unwrap();
    altered[at] = b'b';
    for (shown, judged, stage) in [
        (altered.as_slice(), Some(digest), "pending"),
        (&altered, Some(Digest::of(&altered)), "pending"),
        (b"".as_slice(), Some(digest), "pending"),
        (&plan(), None, "pending"),
        (&plan(), Some(digest), "expired"),
        (&plan(), Some(digest), "denied"),
    ] {
        let place = Place::with(showing(shown, judged, stage));
        key(&place);
        place.sign(&["approve", CASE], PASSPHRASE).expect(20);
        assert!(place.answers().is_empty(), "{stage}");
    }
}

#[test]
fn the_plan_of_another_case_is_not_signed() {
    let place = Place::with(deciding(Decision::RequireApproval, "completed"));
    key(&place);
    let ran = place.sign(&["approve", "c-other"], PASSPHRASE).expect(20);
    assert!(ran.err().contains(CASE), "{}", ran.err());
    assert!(place.answers().is_empty());
}

#[test]
fn an_approval_that_is_not_enough_leaves_the_case_pending() {
    let digest = Digest::of(&plan());
    let place = Place::with(showing(&plan(), Some(digest), "pending"));
    key(&place);
    let ran = place.sign(&["approve", CASE], PASSPHRASE).expect(10);
    assert!(ran.out().contains("further approvals are needed"), "{}", ran.out());
}

#[test]
fn a_denial_is_signed_with_its_reason_and_needs_one() {
    let place = Place::with(deciding(Decision::RequireApproval, "completed"));
    let approver = key(&place);
    place.sign(&["deny", CASE, "--reason", "  "], PASSPHRASE).expect(2);
    place.sign(&["deny", CASE], PASSPHRASE).expect(2);
    assert!(place.answers().is_empty());
    place.sign(&["deny", CASE, "--reason", "backup runs"], PASSPHRASE).expect(0);
    let envelope = Envelope::from_json(&place.answers()[0]).unwrap();
    let verified = VerifiedApproval::verify(&envelope, &[approver]).unwrap();
    assert_eq!(verified.approval().answer, Answer::Deny);
    assert_eq!(verified.approval().reason.as_deref(), Some("backup runs"));
}

#[test]
fn halting_needs_no_key_and_names_one_case_or_all() {
    let place = Place::with(deciding(Decision::Allow, "completed"));
    place.run(&["halt", CASE, "--reason", "wrong branch"]).expect(0);
    place.run(&["halt", "--all"]).expect(0);
    place.run(&["halt"]).expect(2);
    place.run(&["halt", CASE, "--all"]).expect(2);
    let halts: Vec<(String, String)> = place
        .asked()
        .into_iter()
        .filter_map(|asked| match asked {
            Asked::Operate(_, Kind::Halt(halt)) => Some((halt.case, halt.reason)),
            Asked::Operate(..) | Asked::Propose(..) => None,
        })
        .collect();
    assert_eq!(halts[0], (CASE.to_owned(), "wrong branch".to_owned()));
    assert_eq!(halts[1].0, "", "an empty case is all of them, and only --all says so");
}
