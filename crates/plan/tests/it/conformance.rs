//! Runs the vectors of `conformance/` as any other implementation would: from the checked-in files alone. And compares these
//! files with what the generator writes, so that neither drifts.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_plan::approval::{
    ApprovalError, Approver, ApproverRecord, Enrolment, Erasure, Retirement, Settlement, Trust, VerifiedApproval,
    VerifiedRecord,
};
use countersign_plan::digest::Digest;
use countersign_plan::document::{self, Bounds, DocumentError};
use countersign_plan::draft::Draft;
use countersign_plan::envelope::{CountersignedPlan, Envelope, EnvelopeError, TrustRoot, VerifyError};
use countersign_plan::expect::{Expect, check_step};
use countersign_plan::intent::Proposal;
use countersign_plan::permit::{PermitError, VerifiedPermit};
use countersign_plan::pointer::Pointer;
use countersign_plan::resolve::{ResolveError, resolve};
use countersign_plan::text::{HiddenText, check_name, check_visible, escape};
use countersign_plan::value::Expr;
use countersign_plan::{canonical, observation};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

#[path = "../../examples/vectors/files/mod.rs"]
mod files;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}

/// Runs every case of a file of this kind; returns how many there were.
fn run(name: &str, kind: &str, judge: impl Fn(&Value)) -> usize {
    let text = std::fs::read_to_string(folder().join(name)).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&file["schema"], &file["kind"]), (&json!("countersign.conformance/v1"), &json!(kind)), "{name}");
    let cases = file["cases"].as_array().unwrap();
    assert!(!cases.is_empty(), "{name}");
    for case in cases {
        judge(case);
    }
    cases.len()
}

fn input(case: &Value) -> Vec<u8> {
    let input = &case["input"];
    if let Some(text) = input["text"].as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(text) = input["base64"].as_str() {
        return STANDARD.decode(text).unwrap();
    }
    let parts = input["parts"].as_array().unwrap().iter();
    parts.flat_map(|part| part[0].as_str().unwrap().repeat(part[1].as_u64().unwrap() as usize).into_bytes()).collect()
}

fn typed<T: DeserializeOwned>(value: &Value) -> T {
    T::deserialize(value).unwrap_or_else(|e| panic!("{e}: {value}"))
}

fn text<'a>(case: &'a Value, field: &str) -> &'a str {
    case[field].as_str().unwrap_or_else(|| panic!("{field}: {case}"))
}

/// The refusal is expected, and names the place that the vector names.
fn refused(case: &Value, error: &DocumentError) {
    let expected = case.get("refused").unwrap_or_else(|| panic!("refused ({error}): {case}"));
    if let Some(pointer) = expected.get("pointer") {
        assert_eq!(json!(error.pointer), *pointer, "{error}: {case}");
    }
}

fn read(case: &Value, read: fn(&[u8], Bounds) -> Result<Value, DocumentError>) {
    match read(&input(case), Bounds::PLAN) {
        Ok(value) => {
            let bytes = canonical::to_vec(&value);
            assert_eq!(case["canonical_hex"], json!(hex::encode(&bytes)), "{case}");
            assert_eq!(case["digest"], json!(Digest::of(&bytes)), "{case}");
        }
        Err(error) => refused(case, &error),
    }
}

#[test]
fn strict_json_has_these_canonical_bytes() {
    assert!(run("canonical/accepted.json", "json", |case| read(case, document::from_json)) >= 25);
    assert!(run("canonical/refused.json", "json", |case| read(case, document::from_json)) >= 60);
}

#[test]
fn strict_yaml_has_these_canonical_bytes() {
    assert!(run("yaml/accepted.json", "yaml", |case| read(case, document::from_yaml)) >= 25);
    assert!(run("yaml/refused.json", "yaml", |case| read(case, document::from_yaml)) >= 40);
}

#[test]
fn drafts_are_read_so_or_refused_there() {
    let judge = |case: &Value| match Draft::read(&input(case)) {
        Ok(draft) => {
            let step = |s: &countersign_plan::draft::Step| json!({"id": s.id, "action": s.action, "after": s.after});
            let steps: Vec<Value> = draft.steps().iter().map(step).collect();
            assert_eq!(case["draft_digest"], json!(draft.digest()), "{case}");
            assert_eq!(case["steps"], json!(steps), "{case}");
            assert_eq!(case["expires_in_ms"], json!(draft.expires_in().as_millis()), "{case}");
        }
        Err(error) => refused(case, &error),
    };
    assert!(run("plans/accepted.json", "plan", judge) >= 14);
    assert!(run("plans/refused.json", "plan", judge) >= 80);
}

#[test]
fn an_intent_is_this_plan_of_one_step() {
    run("plans/intents.json", "intent", |case| match Proposal::read(&input(case)) {
        Ok(proposal) => {
            assert_eq!(case["draft"], *proposal.draft().source(), "{case}");
            assert_eq!(case["draft_digest"], json!(proposal.draft().digest()), "{case}");
        }
        Err(error) => refused(case, &error),
    });
}

#[test]
fn expressions_have_these_values() {
    run("expressions/resolve.json", "resolve", |case| {
        let expr = Expr::from_value(&case["expr"]).unwrap();
        match resolve(&expr, &typed(&case["outputs"]), &typed(&case["inputs"])) {
            Ok(value) => assert_eq!(case["value"], value, "{case}"),
            Err(error) => {
                let kind = match error {
                    ResolveError::NoOutput(_) => "no_output",
                    ResolveError::Missing { .. } => "missing",
                    ResolveError::NoInput(_) => "no_input",
                    ResolveError::Join(_) => "join",
                    ResolveError::Forged(_) => "forged",
                };
                assert_eq!(case["refused"]["kind"], json!(kind), "{case}");
            }
        }
    });
}

#[test]
fn expectations_hold_or_stop_the_plan() {
    run("expressions/expect.json", "expect", |case| {
        let expects: Vec<Expect> =
            case["expect"].as_array().unwrap().iter().map(|e| Expect::from_value(e).unwrap()).collect();
        let seen: observation::Observation = typed(&case["observation"]);
        assert_eq!(case["holds"], json!(check_step(&expects, &seen, &|path| path.to_owned()).is_ok()), "{case}");
    });
}

#[test]
fn pointers_are_those_of_rfc_6901() {
    run("pointers/pointers.json", "pointer", |case| {
        let Ok(pointer) = text(case, "pointer").parse::<Pointer>() else {
            assert!(case.get("refused").is_some(), "{case}");
            return;
        };
        assert_eq!(case["segments"], json!(pointer.segments()), "{case}");
        assert_eq!(case["pointer"], json!(pointer.to_string()), "{case}");
        assert_eq!(case.get("value"), pointer.get(&case["document"]), "{case}");
        assert_eq!(case.get("absent").is_some(), case.get("value").is_none(), "{case}");
    });
    run("pointers/patterns.json", "pattern", |case| {
        let pattern: Pointer = text(case, "pattern").parse().unwrap();
        if let Some(covers) = case.get("covers") {
            assert_eq!(*covers, json!(pattern.covers(&text(case, "at").parse().unwrap())), "{case}");
        } else {
            let found: Vec<String> = pattern.matches(&case["document"]).iter().map(|(at, _)| at.to_string()).collect();
            assert_eq!(case["matches"], json!(found), "{case}");
        }
    });
}

#[test]
fn text_that_hides_is_found_and_shown() {
    let kind = |result| match result {
        Ok(()) => "ok",
        Err(HiddenText::Control(_)) => "control",
        Err(HiddenText::Bidirectional(_)) => "bidirectional",
        Err(HiddenText::Invisible(_)) => "invisible",
        Err(HiddenText::MixedScript(_)) => "mixed_script",
    };
    run("text/text.json", "text", |case| {
        let shown = text(case, "text");
        assert_eq!(case["name"], json!(kind(check_name(shown))), "{case}");
        assert_eq!(case["visible"], json!(kind(check_visible(shown))), "{case}");
        assert_eq!(case["escaped"], json!(escape(shown)), "{case}");
    });
}

fn envelope_kind(error: &EnvelopeError) -> &'static str {
    match error {
        EnvelopeError::Document(_) => "document",
        EnvelopeError::Type { .. } => "type",
        EnvelopeError::Unsigned(_) => "unsigned",
        EnvelopeError::Key(_) => "signature",
    }
}

#[test]
fn inv_3_a_countersigned_plan_holds_only_whole() {
    let verify = |case: &Value| -> Result<Digest, &'static str> {
        let envelope = Envelope::from_json(text(case, "envelope").as_bytes()).map_err(|_| "document")?;
        let signed = CountersignedPlan { plan: text(case, "plan").as_bytes().to_vec(), envelope };
        let root = TrustRoot { gate: typed(&case["gate"]), epoch: case["epoch"].as_u64() };
        signed.verify(&root, typed(&case["now"])).map(|verified| verified.digest()).map_err(|error| match error {
            VerifyError::Envelope(e) => envelope_kind(&e),
            VerifyError::Statement(_) => "statement",
            VerifyError::Kind => "kind",
            VerifyError::Altered { .. } => "altered",
            VerifyError::Plan(_) => "plan",
            VerifyError::Mismatch => "mismatch",
            VerifyError::Epoch { .. } => "epoch",
            VerifyError::Time { .. } => "time",
        })
    };
    run("envelopes/plans.json", "countersigned_plan", |case| match verify(case) {
        Ok(digest) => assert_eq!(case["verified"]["plan_digest"], json!(digest), "{case}"),
        Err(kind) => assert_eq!(case["refused"]["kind"], json!(kind), "{case}"),
    });
}

#[test]
fn inv_6_a_permit_holds_only_whole() {
    run("envelopes/permits.json", "permit", |case| {
        let envelope = Envelope::from_json(text(case, "envelope").as_bytes()).unwrap();
        match VerifiedPermit::verify(&envelope, &typed(&case["gate"]), case["epoch"].as_u64().unwrap()) {
            Ok(permit) => assert_eq!(case["verified"]["claims"], json!(permit.claims()), "{case}"),
            Err(error) => {
                let kind = match &error {
                    PermitError::Envelope(e) => envelope_kind(e),
                    PermitError::Claims(_) => "claims",
                    PermitError::Epoch { .. } => "epoch",
                };
                assert_eq!(case["refused"]["kind"], json!(kind), "{case}");
            }
        }
    });
}

fn record_digest<R: ApproverRecord>(envelope: &Envelope, enrolled: &[Approver]) -> Result<Digest, ApprovalError> {
    VerifiedRecord::<R>::verify(envelope, enrolled).map(|verified| verified.digest())
}

#[test]
fn inv_7_a_record_counts_only_by_its_enrolled_signer() {
    run("envelopes/approvals.json", "approval", |case| {
        let envelope = Envelope::from_json(text(case, "envelope").as_bytes()).unwrap();
        let enrolled: Vec<Approver> = typed(&case["enrolled"]);
        let result = match text(case, "record") {
            "approval" => VerifiedApproval::verify(&envelope, &enrolled).map(|verified| verified.digest()),
            "enrolment" => record_digest::<Enrolment>(&envelope, &enrolled),
            "trust" => record_digest::<Trust>(&envelope, &enrolled),
            "retirement" => record_digest::<Retirement>(&envelope, &enrolled),
            "erasure" => record_digest::<Erasure>(&envelope, &enrolled),
            "settlement" => record_digest::<Settlement>(&envelope, &enrolled),
            other => panic!("unknown record {other}"),
        };
        match result {
            Ok(digest) => assert_eq!(case["verified"]["digest"], json!(digest), "{case}"),
            Err(error) => {
                let kind = match &error {
                    ApprovalError::Envelope(e) => envelope_kind(e),
                    ApprovalError::Record(_) => "record",
                    ApprovalError::NotEnrolled(_) => "not_enrolled",
                    ApprovalError::Impersonation { .. } => "impersonation",
                    ApprovalError::Role(..) => "role",
                };
                assert_eq!(case["refused"]["kind"], json!(kind), "{case}");
            }
        }
    });
}

#[test]
fn the_checked_in_files_are_what_the_generator_writes() {
    for (name, generated) in files::all().unwrap() {
        let stored = std::fs::read_to_string(folder().join(name)).unwrap_or_default();
        assert!(stored == generated, "{name} differs; run `cargo run -p countersign-plan --example vectors` and look");
    }
}
