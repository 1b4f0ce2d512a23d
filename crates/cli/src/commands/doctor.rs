//! `doctor`: what this machine can enforce, in words, and which models and services the broker can reach. Asks the program that
//! would confine, and the monitor if one runs, so that nothing is guessed here.

use std::process::{Command, Stdio};

use countersign_wire::operator::{BrokerView, to_monitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::{Operator, Start};
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::paths::{self, Paths};
use crate::render::line::{Line, Tone};

/// What the zygote reports about this machine (`countersign_sandbox::probe::Probe`).
#[derive(Debug, Serialize, Deserialize)]
struct Probe {
    findings: Vec<Finding>,
    level: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Finding {
    feature: String,
    available: bool,
    found: String,
    meaning: String,
}

pub(super) fn doctor(out: &Out) -> Result<Exit, Failure> {
    let program = paths::program("countersign-zygote")?;
    let mut command = Command::new(&program);
    command.arg("--probe").env_clear().stdin(Stdio::null());
    let ran = command.output().map_err(|error| Failure::internal(format!("start {}: {error}", program.display())))?;
    if !ran.status.success() {
        let said = String::from_utf8_lossy(&ran.stderr).trim().to_owned();
        return Err(Failure::internal(format!("{} --probe ended with {}\n{said}", program.display(), ran.status)));
    }
    let probe: Probe = serde_json::from_slice(&ran.stdout)?;
    let broker = broker()?;
    let mut value = serde_json::to_value(&probe)?;
    if let Value::Object(members) = &mut value {
        members.insert("broker".to_owned(), serde_json::to_value(&broker)?);
    }
    out.value(&value)?;
    out.lines(&[lines(&probe), broker_lines(&broker)].concat())?;
    Ok(if probe.level == "insufficient" { Exit::Blocked } else { Exit::Done })
}

/// What the broker's configuration holds, if a monitor runs that can be asked.
fn broker() -> Result<BrokerView, Failure> {
    let paths = Paths::of_environment()?;
    match Operator::connect(&paths, Start::Never) {
        Ok(mut operator) => operator.ask(to_monitor::Kind::Broker(to_monitor::Broker {})),
        Err(_) => {
            let file = paths.broker();
            let configured = file.exists();
            let error = if configured { "no monitor runs that would read it: `countersign up`" } else { "" };
            Ok(BrokerView {
                file: file.display().to_string(),
                configured,
                error: error.to_owned(),
                ..BrokerView::default()
            })
        }
    }
}

fn broker_lines(view: &BrokerView) -> Vec<Line> {
    let mut lines = vec![Line::at(0).tone(Tone::Bold, "broker").plain(format!("  {}", view.file))];
    if !view.configured {
        lines.push(Line::of(
            1,
            "not written: no model provider, so that `run --goal` plans nothing; plans run without one",
        ));
    }
    if !view.error.is_empty() {
        lines.push(Line::at(1).tone(Tone::Bad, "! ").plain(&view.error));
    }
    let facts = &view.facts;
    if !facts.confinement.is_empty() {
        lines.push(Line::field(1, "confined", &facts.confinement));
    }
    lines.extend(facts.providers.iter().enumerate().map(|(place, provider)| {
        let at = if provider.host.is_empty() { "no network".to_owned() } else { format!("at {}", provider.host) };
        let first = if place == 0 { ", asked by default" } else { "" };
        let text = format!("{} {} {at}; sees up to {} data{first}", provider.kind, provider.model, provider.clearance);
        Line::field(1, "provider", format!("{}: {text}", provider.name))
    }));
    lines.extend(facts.mcp.iter().map(|server| {
        let at = if server.argv.is_empty() { format!("at {}", server.host) } else { server.argv.join(" ") };
        Line::field(1, "mcp server", format!("{}: {at}", server.name))
    }));
    if !facts.secrets.is_empty() {
        lines.push(Line::field(1, "secrets", format!("{} (names only)", facts.secrets.join(", "))));
    }
    if facts.mail {
        lines.push(Line::field(1, "mail", "an account is configured"));
    }
    if !facts.channels.is_empty() {
        lines.push(Line::field(1, "channels", facts.channels.join(", ")));
    }
    lines
}

fn lines(probe: &Probe) -> Vec<Line> {
    let mut lines = Vec::new();
    for finding in &probe.findings {
        let (tone, word) = if finding.available { (Tone::Good, "yes") } else { (Tone::Bad, "NO ") };
        lines.push(
            Line::at(0).tone(tone, word).tone(Tone::Bold, format!("  {:<22} ", finding.feature)).plain(&finding.found),
        );
        lines.push(Line::of(3, &finding.meaning));
    }
    let (tone, meaning) = match probe.level.as_str() {
        "full" => (Tone::Good, "every layer can be had: all steps run"),
        "no_userns" => (
            Tone::Warn,
            "no namespaces: only built-in file tools run, and only where the deployment says `sandbox: {minimum: no_userns}`",
        ),
        _ => (Tone::Bad, "nothing is run on this machine"),
    };
    lines.push(Line::at(0).tone(tone, format!("level {}", probe.level)).plain(format!("  {meaning}")));
    lines.push(Line::of(
        0,
        "In a user install other processes of the same user are outside the sandbox: the boundary is the step's.",
    ));
    lines
}

#[cfg(test)]
mod tests {
    use countersign_wire::broker::{Facts, Provider};
    use countersign_wire::operator::BrokerView;

    use super::{Finding, Probe, broker_lines, lines};

    #[test]
    fn what_the_broker_can_reach_is_said_by_name() {
        let provider = Provider {
            name: "local".to_owned(),
            kind: "openai".to_owned(),
            model: "small".to_owned(),
            host: "127.0.0.1:8000".to_owned(),
            clearance: "confidential".to_owned(),
            max_context: 0,
        };
        let facts = Facts { providers: vec![provider], secrets: vec!["key".to_owned()], ..Facts::default() };
        let view = BrokerView { file: "/c/broker.yaml".to_owned(), configured: true, facts, error: String::new() };
        let text: Vec<String> = broker_lines(&view).iter().map(super::Line::text).collect();
        assert!(text[1].contains("local: openai small at 127.0.0.1:8000; sees up to confidential data"), "{text:?}");
        let none = BrokerView { file: "/c/broker.yaml".to_owned(), ..BrokerView::default() };
        assert!(broker_lines(&none)[1].text().contains("no model provider"));
    }

    #[test]
    fn what_is_missing_is_said_with_what_it_means() {
        let finding = Finding {
            feature: "user namespaces".to_owned(),
            available: false,
            found: "refused".to_owned(),
            meaning: "programs cannot be confined".to_owned(),
        };
        let text: Vec<String> = lines(&Probe { findings: vec![finding], level: "insufficient".to_owned() })
            .iter()
            .map(super::Line::text)
            .collect();
        assert!(text[0].starts_with("NO   user namespaces"), "{text:?}");
        assert!(text[1].contains("programs cannot be confined"));
        assert!(text[2].contains("nothing is run"));
    }
}
