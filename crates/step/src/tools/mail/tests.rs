//! Mail and messages.

use countersign_wire::egress::{ask, reply};
use serde_json::json;

use crate::failure::Failure;
use crate::tools::testing::{Fake, Scene, refused};

fn sent() -> reply::Kind {
    reply::Kind::Sent(reply::Sent { message_id: "m-1".to_owned() })
}

#[test]
fn a_mail_carries_the_files_that_the_step_may_read_and_no_other() {
    let scene = Scene::new();
    let path = scene.write("d/report.txt", "figures");
    let mut fake = Fake::always(sent());
    let mail = |attachments| json!({"to": "a@b.example", "subject": "s", "body": "t", "attachments": attachments});
    let seen = scene.ordered(&scene.order("send_email", mail(json!([path])), None), &mut fake.channel).unwrap();
    assert_eq!(seen.output, json!({"message_id": "m-1"}));
    let outside = scene.outside.join("secret");
    std::fs::write(&outside, "s").unwrap();
    let order = scene.order("send_email", mail(json!([outside.to_str().unwrap()])), None);
    assert!(matches!(scene.ordered(&order, &mut fake.channel), Err(Failure::Violation(_))));
    std::fs::write(scene.work.join("large"), vec![0; 6 << 20]).unwrap();
    let order = scene.order("send_email", mail(json!([scene.path("d/report.txt"), scene.path("large")])), None);
    assert!(matches!(scene.ordered(&order, &mut fake.channel), Err(Failure::Failed(_))));
    let asks = fake.told().asks;
    let attachments = vec![ask::Attachment { name: "report.txt".to_owned(), content: b"figures".to_vec() }];
    let (to, subject, body) = (vec!["a@b.example".to_owned()], "s".to_owned(), "t".to_owned());
    assert_eq!(asks.len(), 1);
    assert_eq!(asks[0].kind, Some(ask::Kind::Mail(ask::Mail { to, subject, body, attachments })));
}

#[test]
fn a_message_that_may_have_gone_is_unknown() {
    let scene = Scene::new();
    let order = scene.order("send_message", json!({"channel": "#c", "body": "b"}), None);
    let mut fake = Fake::always(sent());
    assert_eq!(scene.ordered(&order, &mut fake.channel).unwrap().output["message_id"], "m-1");
    let mut fake = Fake::always(refused(false, true));
    assert!(matches!(scene.ordered(&order, &mut fake.channel), Err(Failure::Unknown(_))));
}
