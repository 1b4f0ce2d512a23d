//! One mail of a step, from the configured account to exactly the granted recipients.

use std::time::Duration;

use countersign_plan::text;
use countersign_wire::egress::ask;
use lettre::message::header::ContentType;
use lettre::message::{Attachment, Mailbox, Mailboxes, MultiPart, SinglePart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{CertificateStore, Tls, TlsParameters};
use lettre::{Address, AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};

use crate::address::Reach;
use crate::configuration::{Mail, MailTls};
use crate::grant::Grant;
use crate::refusal::Refusal;
use crate::secrets::Value;
use crate::serve::Parts;

/// How long a server may take for each of its answers.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most attachments.
const ATTACHMENTS: usize = 20;

/// Sends a mail; returns its `Message-ID`.
///
/// # Errors
/// Not granted, not configured, malformed, not reachable, or refused by the server.
pub(crate) async fn send(parts: &Parts, grant: &Grant, mail: ask::Mail) -> Result<String, Refusal> {
    let account = parts.configuration.mail.as_ref().ok_or_else(|| Refusal::refused("no mail account is configured"))?;
    no_secret_in(parts, &mail)?;
    let to = recipients(&mail)?;
    let named: Vec<String> = to.iter().map(ToString::to_string).collect();
    let (message, id) = compose(account, to, &mail)?;
    grant.mail(&named)?;
    let password = match &account.password {
        Some(name) => Some((name, parts.secrets.value(name, "").await?)),
        None => None,
    };
    let transport = transport(parts, account, password.as_ref().map(|(_, value)| value)).await?;
    match transport.send(message).await {
        Ok(_) => Ok(id),
        Err(error) => {
            // The server's words are kept; whether it took the mail is unknown unless it said no.
            let said_no = error.is_permanent() || error.is_transient() || error.is_client();
            if let Some((name, _)) = password.filter(|_| error.is_permanent()) {
                parts.secrets.stale(name, "");
            }
            let message = format!("the mail was not taken: {}", text::escape(&describe(&error)));
            Err(if said_no { Refusal::refused(message) } else { Refusal::indeterminate(message) })
        }
    }
}

/// The addresses alone: what people call themselves is not what was judged.
fn recipients(mail: &ask::Mail) -> Result<Vec<Address>, Refusal> {
    let mut all = Vec::new();
    for text in &mail.to {
        let none = |_| Refusal::refused(format!("`{}` is no list of mail addresses", text::escape(text)));
        let list: Mailboxes = text.parse().map_err(none)?;
        all.extend(list.into_iter().map(|mailbox| mailbox.email));
    }
    if all.is_empty() {
        return Err(Refusal::violation("a mail without recipients"));
    }
    Ok(all)
}

fn compose(account: &Mail, to: Vec<Address>, mail: &ask::Mail) -> Result<(Message, String), Refusal> {
    if mail.subject.chars().any(char::is_control) {
        return Err(Refusal::refused("the subject holds a line break or another control character"));
    }
    if mail.attachments.len() > ATTACHMENTS {
        return Err(Refusal::refused(format!("at most {ATTACHMENTS} files go with a mail")));
    }
    let malformed = |error: &dyn std::fmt::Display| Refusal::refused(format!("the mail: {error}"));
    let from: Mailbox =
        account.from.parse().map_err(|_| Refusal::refused("the configured sender is no mail address"))?;
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| malformed(&error))?;
    let id = format!("<{}@{}>", hex::encode(random), from.email.domain());
    let mut builder = Message::builder().from(from).subject(&mail.subject).message_id(Some(id.clone()));
    for address in to {
        builder = builder.to(Mailbox::new(None, address));
    }
    let body = SinglePart::plain(mail.body.clone());
    let message = if mail.attachments.is_empty() {
        builder.singlepart(body)
    } else {
        let kind = ContentType::parse("application/octet-stream").map_err(|error| malformed(&error))?;
        let mut all = MultiPart::mixed().singlepart(body);
        for file in &mail.attachments {
            if file.name.chars().any(char::is_control) {
                return Err(Refusal::refused("the name of a file holds a control character"));
            }
            all = all.singlepart(Attachment::new(file.name.clone()).body(file.content.clone(), kind.clone()));
        }
        builder.multipart(all)
    };
    Ok((message.map_err(|error| malformed(&error))?, id))
}

async fn transport(
    parts: &Parts,
    account: &Mail,
    password: Option<&Value>,
) -> Result<AsyncSmtpTransport<Tokio1Executor>, Refusal> {
    let addresses = parts.client.pin(&account.server, account.port, Reach::Private).await;
    let addresses = addresses.map_err(|error| Refusal::exchange(&error, true))?;
    let address = addresses.first().ok_or_else(|| Refusal::refused("the mail server has no address"))?;
    let tls = match account.tls {
        MailTls::None if address.ip().is_loopback() => Tls::None,
        MailTls::None => return Err(Refusal::refused("mail without TLS goes to a loopback address only")),
        MailTls::Starttls => Tls::Required(parameters(parts, &account.server)?),
        MailTls::Implicit => Tls::Wrapper(parameters(parts, &account.server)?),
    };
    // The connection goes to the address that was judged; the certificate has to be the name's.
    let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(address.ip().to_string())
        .port(address.port())
        .tls(tls)
        .timeout(Some(PATIENCE));
    if let Some(password) = password {
        let text = password.text().ok_or_else(|| Refusal::refused("the password of the mail account is no text"))?;
        let user = account
            .username
            .clone()
            .or_else(|| account.from.parse::<Mailbox>().ok().map(|from| from.email.to_string()));
        builder = builder.credentials(Credentials::new(user.unwrap_or_default(), text.to_owned()));
    }
    Ok(builder.build())
}

fn parameters(parts: &Parts, server: &str) -> Result<TlsParameters, Refusal> {
    let mut builder = TlsParameters::builder(server.to_owned()).certificate_store(CertificateStore::WebpkiRoots);
    if let Some(pem) = &parts.authorities {
        let certificate = lettre::transport::smtp::client::Certificate::from_pem(pem);
        builder = builder.add_root_certificate(certificate.map_err(|error| Refusal::refused(describe(&error)))?);
    }
    builder.build().map_err(|error| Refusal::refused(describe(&error)))
}

fn describe(error: &lettre::transport::smtp::Error) -> String {
    use std::error::Error as _;
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}

fn no_secret_in(parts: &Parts, mail: &ask::Mail) -> Result<(), Refusal> {
    let redactor = parts.secrets.redactor();
    let files = mail.attachments.iter().flat_map(|file| [file.name.as_bytes(), &file.content]);
    if files.chain([mail.subject.as_bytes(), mail.body.as_bytes()]).any(|part| redactor.finds(part)) {
        return Err(Refusal {
            alert: true,
            ..Refusal::refused("the mail holds the value of a secret: it was not sent")
        });
    }
    Ok(())
}
