//! A case whose budget is spent: what people see of it, and that they sign exactly the question that was shown.

use countersign_plan::approval::{Answer, Approver, VerifiedRecord};
use countersign_plan::budget::{Ask, Budget, Extension, Extra, Shortage};
use countersign_plan::envelope::Envelope;
use countersign_plan::verdict::Decision;
use countersign_wire::operator::to_monitor::Kind;
use serde_json::json;

use crate::fake::{Asked, CASE, PASSPHRASE, Place, Script, answer, case, key, verdict, view};

fn ask(budget: Budget) -> Ask {
    let shortage = Shortage { budget, limit: 400_000, spent: 390_000, wanted: 15_000 };
    Ask { case: CASE.parse().unwrap(), number: 2, shortage }
}

/// A monitor whose case asks this.
fn asking(ask: &Ask) -> Place {
    let mut shown = view(&verdict(Decision::Block), "paused", b"");
    shown.verdict = serde_json::Value::Null;
    shown.asks = serde_json::to_value(ask).unwrap();
    let pending = json!([shown]);
    Place::with(Script {
        propose: Box::new(move |_| vec![case(&shown)]),
        operate: Box::new(move |asked| match asked {
            Kind::Pending(_) => vec![answer(&pending)],
            _ => vec![answer(&json!({"cases": [{"case": CASE, "stage": "planning"}]}))],
        }),
    })
}

fn signed(place: &Place, approver: Approver) -> Vec<Extension> {
    let enrolled = [approver];
    let sent = place.asked().into_iter().filter_map(|asked| match asked {
        Asked::Operate(_, Kind::Extend(extend)) => Some(Envelope::from_json(&extend.envelope).unwrap()),
        Asked::Operate(..) | Asked::Propose(..) => None,
    });
    let verified = sent.map(|envelope| VerifiedRecord::<Extension>::verify(&envelope, &enrolled).unwrap());
    verified.map(|verified| verified.record().clone()).collect()
}

#[test]
fn what_was_spent_of_what_and_what_is_asked_for_is_seen_and_signed() {
    let ask = ask(Budget::CaseTokens);
    let place = asking(&ask);
    let approver = key(&place);
    for told in [place.run(&["pending"]).expect(0).out(), place.run(&["show", CASE]).expect(0).out()] {
        for wanted in
            ["tokens of this case", "390000 of 400000", "15000 for the next inference: 5000 more than is left"]
        {
            assert!(told.contains(wanted), "{wanted}: {told}");
        }
    }
    let told = place.sign(&["resume", CASE, "--tokens", "50000"], PASSPHRASE).expect(0).out();
    assert!(told.contains("390000 of 400000") && told.contains("50000 tokens more"), "{told}");
    place.sign(&["deny", CASE, "--reason", "enough"], PASSPHRASE).expect(0);
    let said = signed(&place, approver);
    assert_eq!(said.len(), 2);
    let (yes, no) = (&said[0], &said[1]);
    assert_eq!((yes.answer, yes.extra), (Answer::Approve, Extra { tokens: 50_000, micro_dollars: 0 }));
    assert_eq!((yes.ask, yes.case.as_str(), yes.approver.as_str()), (ask.digest().unwrap(), CASE, "user:alice"));
    assert_eq!((no.answer, no.extra, no.reason.as_deref()), (Answer::Deny, Extra::default(), Some("enough")));
    assert_ne!(yes.nonce, no.nonce);
}

#[test]
fn money_is_answered_with_money() {
    let place = asking(&ask(Budget::DayMoney));
    let approver = key(&place);
    let told = place.run(&["pending"]).expect(0).out();
    assert!(told.contains("$0.390000 of $0.400000") && told.contains("of this day"), "{told}");
    assert!(place.sign(&["resume", CASE, "--tokens", "5"], PASSPHRASE).expect(2).err().contains("--money DOLLARS"));
    place.sign(&["resume", CASE, "--money", "2.5"], PASSPHRASE).expect(0);
    assert_eq!(signed(&place, approver)[0].extra, Extra { tokens: 0, micro_dollars: 2_500_000 });
}

#[test]
fn nothing_is_sent_without_an_amount_a_passphrase_or_a_question() {
    let place = asking(&ask(Budget::CaseTokens));
    let approver = key(&place);
    for wrong in [
        &["resume", CASE][..],
        &["resume", CASE, "--tokens", "0"],
        &["resume", CASE, "--tokens", "9007199254740992"],
        &["resume", CASE, "--money", "0.0000001"],
        &["resume", CASE, "--money", "1e3"],
        &["resume", CASE, "--money", "-1"],
        &["resume", CASE, "--tokens", "5", "--money", "1"],
        &["resume", CASE, "--tokens", "5", "--happened", "yes"],
    ] {
        place.sign(wrong, PASSPHRASE).expect(2);
    }
    place.sign(&["resume", CASE, "--tokens", "5"], "").expect(20);
    let told = place.sign(&["approve", CASE], PASSPHRASE).expect(20).err();
    assert!(told.contains("resume"), "{told}");
    assert!(signed(&place, approver.clone()).is_empty());
    // What another case asks is not signed, nor what nobody asks.
    let other = Ask { case: "c-other".parse().unwrap(), ..ask(Budget::CaseTokens) };
    let place = asking(&other);
    let approver = key(&place);
    place.sign(&["resume", CASE, "--tokens", "5"], PASSPHRASE).expect(20);
    assert!(signed(&place, approver).is_empty());
}
