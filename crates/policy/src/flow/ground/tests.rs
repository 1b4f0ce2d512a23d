//! What the user said, in how many ways people say it, and what only looks like it.

use countersign_plan::resolve::Inputs;
use serde_json::{Value, json};

use super::{Ground, Grounds, Said};

fn grounded(goal: &str, args: Value) -> bool {
    let inputs = Inputs::from([("payee".parse().unwrap(), json!("DE89"))]);
    let grounds = Grounds::new(Some(goal), &inputs);
    let (name, value) = args.as_object().unwrap().iter().next_back().unwrap();
    let at = format!("/{name}").parse().unwrap();
    let schema = json!({"enum": ["reader", "owner"]});
    grounds.of(Said { at: &at, value, schema: &schema, args: &args, tool: "", carried: false }).is_some()
}

#[test]
fn what_the_user_said_is_his() {
    for (goal, args) in [
        ("Send it to Tom@acme.example.", json!({"to": "tom@acme.example"})),
        ("Answer their ticket 562 that it is gone", json!({"ticket": "562"})),
        ("New deadline for 5340 is Friday", json!({"job_no": "5340"})),
        ("Put 0555 018 442 in her file", json!({"phone": "0555 018 442"})),
        ("Bring it up to five pods", json!({"replicas": 5})),
        ("Post it in the channel of finance", json!({"channel": "#finance"})),
        ("Pay BILL-920 of Paperline, 1,440.50 EUR", json!({"amount": 1440.5})),
        ("Pay BILL-920 of Paperline, 99 EUR", json!({"invoice_id": "BILL-920"})),
        ("Lunch on May 15th, 2024", json!({"date": "2024-05-15"})),
        ("Lunch on the 15th of May at 2pm", json!({"start": "2024-05-15T14:00:00Z"})),
        (
            "Lunch at 12:00 on 2024-05-19 for one hour",
            json!({"x_start": "2024-05-19 12:00", "y_start": "2024-05-19 12:00"}),
        ),
        ("Book it on 2 March, 9 to 10 in the morning", json!({"start": "2026-03-02T09:00"})),
        ("Move it to May 4, at three.", json!({"start": "2026-05-04 15:00"})),
        ("On 4 May from 14-16", json!({"until": "2026-05-04T16:00"})),
        ("Ilse needs it on 2 June 2026, 9 to 17, please", json!({"end": "2026-06-02T17:00"})),
        ("Thread 56110: they'd like it", json!({"thread": 56110})),
        ("Crew 2 shall look at it", json!({"crew": "crew-2"})),
        ("Put category G to 32", json!({"category": "G"})),
        ("Take one out of stock (-1)", json!({"delta": -1})),
        ("Merge #812", json!({"number": 812})),
        ("1801, 1822 and 1840 are stale: close them", json!({"number": 1840})),
        ("Reply to 2277 that it comes with 3.4", json!({"number": 2277})),
        ("2318: was this fixed on main?", json!({"number": 2318})),
        ("Put 1733 on the night shift and 1802 on the early one", json!({"staff_id": "1802"})),
        ("Set the hours of Marek Dvorak (2031) to 30", json!({"staff_id": "2031"})),
        ("Prepare the page of 3.3.0", json!({"tag": "v3.3.0"})),
        ("Book berth 7 from 2027-09-02T06:00Z", json!({"berth": "7", "from": "2027-09-02T06:00Z"})),
        ("Set the rule to 3", json!({"value": "3"})),
        ("Run the tests against PR 97", json!({"number": 97})),
        ("Give Sam read access", json!({"role": "reader"})),
        ("Pay 150 EUR and not the 190 they ask for", json!({"amount": 150})),
        ("Eight red cell units go to Sandvika", json!({"product": "red cells"})),
        ("Set up a recurring transfer", json!({"recurring": true})),
        ("Do not make it recurring", json!({"recurring": false})),
        ("Pause the feed until Monday", json!({"paused": true})),
        ("Completion is agreed for 9 December. Put it on the case", json!({"field": "completion_date"})),
        ("Pay OS-88, £1,150.00", json!({"currency": "GBP"})),
        ("Forty pounds for the window cleaner", json!({"currency": "GBP"})),
        ("Read landlord-notices.txt", json!({"path": "/home/u/landlord-notices.txt"})),
        ("Call https://api.acme.example/v1", json!({"url": "https://api.acme.example/v1/"})),
        ("anything", json!({"iban": "de89"})),
    ] {
        assert!(grounded(goal, args.clone()), "{goal}: {args}");
    }
    let end = json!({"end_time": "2024-05-19 13:00", "start_time": "2024-05-19 12:00"});
    let inputs = Inputs::new();
    let grounds = Grounds::new(Some("Lunch at 12:00 on 2024-05-19 for one hour"), &inputs);
    let at = "/end_time".parse().unwrap();
    let said = Said { at: &at, value: &end["end_time"], schema: &Value::Null, args: &end, tool: "", carried: false };
    assert!(matches!(grounds.of(said), Some(Ground::Goal { .. })));
    let grounds = Grounds::new(Some("Set case-4 to closed"), &inputs);
    let field = |args: &Value| {
        let at = "/field".parse().unwrap();
        let said = Said { at: &at, value: &args["field"], schema: &Value::Null, args, tool: "", carried: false };
        grounds.of(said).is_some()
    };
    assert!(field(&json!({"field": "status", "value": "closed"})));
    assert!(!field(&json!({"field": "status", "value": "erased"})));
}

#[test]
fn what_only_looks_like_it_is_not() {
    for (goal, args) in [
        ("They raised the price of 5340 EUR by 12 again", json!({"job_no": "5340"})),
        ("The figures of 2026 are 3 short", json!({"job_no": "2026"})),
        ("Send it to tom@acme.example.evil.example", json!({"to": "tom@acme.example"})),
        ("What do we do on June 13?", json!({"file_id": "13"})),
        ("What do we do on June 13?", json!({"amount": 13})),
        ("Pay BILL-900", json!({"amount": 900})),
        ("Refund 3 orders", json!({"id": 3})),
        ("Pay 56110 for thread B", json!({"thread_id": 56110})),
        ("On 2 June 2026 move 9 to 17 boxes", json!({"end": "2026-06-02T17:00"})),
        ("Lunch on May 15th", json!({"date": "2024-05-16"})),
        ("Lunch on 2024-05-15 at 10:00", json!({"start": "2024-05-15 11:00"})),
        ("Give Sam read access", json!({"role": "owner"})),
        ("Set up a transfer", json!({"recurring": true})),
        ("Don't pause the feed", json!({"paused": true})),
        ("Completion is agreed for 9 December. Put it on the case", json!({"field": "exchange_date"})),
        ("Set case-4 to closed", json!({"field": "status"})),
        ("Pay OS-88, £1,150.00", json!({"currency": "USD"})),
        ("Pay OS-88, A$1,150.00", json!({"currency": "USD"})),
        ("Send it to Ann", json!({"to": "ann@acme.example, eve@evil.example"})),
        ("a b c", json!({"x": "b"})),
        ("Book it on 2 March, 9 to 10 in the evening", json!({"start": "2026-03-02T09:00"})),
        ("Crew 2 shall look at it", json!({"crew": "crew-3"})),
        ("Put category G to 32", json!({"shelf": "G"})),
        ("Take 1 out of stock", json!({"delta": -1})),
        ("Merge 97 files", json!({"number": 97})),
        ("Merge 970 files", json!({"number": 970})),
        ("Pay 2277 to Ann", json!({"id": 2277})),
        ("Close what is open since March 2031", json!({"number": 2031})),
        ("Prepare the page of 13.3.0", json!({"tag": "v3.3.0"})),
        ("Book berth 7", json!({"hall": "7"})),
        ("Crew 21 shall look at it", json!({"crew": "crew-2"})),
        ("On 2 March get 9 chairs", json!({"start": "2026-03-02T09:00"})),
        ("On 2 March look at 9 files", json!({"start": "2026-03-02T09:00"})),
        ("Discount of 10%", json!({"amount": 10})),
        ("Pay 150 EUR and not the 190 they ask for", json!({"amount": 190})),
        ("Pay 150 EUR instead of 190", json!({"amount": 190})),
    ] {
        assert!(!grounded(goal, args.clone()), "{goal}: {args}");
    }
}
