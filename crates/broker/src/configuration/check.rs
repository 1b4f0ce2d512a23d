//! What the types of a configuration cannot say: names that refer to each other, addresses, and what excludes what.

use countersign_plan::document::DocumentError;
use countersign_plan::id::Reference;
use countersign_plan::text;
use url::Url;

use super::{Channel, Configuration, Mail, Mcp, Provider, ProviderKind, SCHEMA, Secret, Source};

type Checked = Result<(), DocumentError>;

pub(super) fn all(configuration: &Configuration) -> Checked {
    if configuration.schema != SCHEMA {
        return Err(at(&["schema"], format!("write `{SCHEMA}`")));
    }
    for (name, provider) in &configuration.providers {
        visible(&["providers", name], name)?;
        provider_holds(configuration, name, provider)?;
    }
    if let Some(name) = &configuration.default {
        if !configuration.providers.contains_key(name) {
            return Err(at(&["default"], "no provider of this name".to_owned()));
        }
    } else if configuration.providers.len() > 1 {
        return Err(at(&["default"], "say which of several providers is the default".to_owned()));
    }
    for (name, secret) in &configuration.secrets {
        let reference: Result<Reference, _> = name.parse();
        reference.map_err(|error| at(&["secrets", name], error.to_string()))?;
        secret_holds(configuration, name, secret)?;
    }
    if let Some(mail) = &configuration.mail {
        mail_holds(configuration, mail)?;
    }
    for (name, channel) in &configuration.channels {
        visible(&["channels", name], name)?;
        channel_holds(configuration, name, channel)?;
    }
    for (name, server) in &configuration.mcp {
        visible(&["mcp", name], name)?;
        mcp_holds(configuration, name, server)?;
    }
    let budget = &configuration.budget;
    for (key, dollars) in [("dollars_per_case", budget.dollars_per_case), ("dollars_per_day", budget.dollars_per_day)] {
        amount(&["budget", key], dollars)?;
    }
    if let Some(path) = &configuration.authorities {
        absolute(&["authorities"], path)?;
    }
    Ok(())
}

fn provider_holds(configuration: &Configuration, name: &str, provider: &Provider) -> Checked {
    let place = |key: &'static str| ["providers", name, key];
    match provider.kind {
        ProviderKind::Scripted => {
            let script = provider
                .script
                .as_deref()
                .ok_or_else(|| at(&place("script"), "a scripted provider needs its file".into()))?;
            absolute(&place("script"), script)?;
            if provider.url.is_some() || provider.key.is_some() {
                return Err(at(&place("url"), "a scripted provider has no address and no key".into()));
            }
        }
        ProviderKind::Openai | ProviderKind::Anthropic => {
            if provider.script.is_some() {
                return Err(at(&place("script"), "only a scripted provider has a script".into()));
            }
            if provider.model.is_empty() {
                return Err(at(&place("model"), "say which model".into()));
            }
            if let Some(url) = &provider.url {
                address(&place("url"), url)?;
            }
        }
    }
    if let Some(prices) = &provider.prices {
        amount(&place("prices"), Some(prices.input_per_million))?;
        amount(&place("prices"), Some(prices.output_per_million))?;
    }
    named(configuration, &place("key"), provider.key.as_deref())
}

fn secret_holds(configuration: &Configuration, name: &str, secret: &Secret) -> Checked {
    let place = ["secrets", name, "from"];
    match &secret.from {
        Source::Env(variable) if variable.is_empty() || variable.contains(['=', '\0']) => {
            Err(at(&place, "no name of an environment variable".into()))
        }
        Source::Env(_) => Ok(()),
        Source::File(path) => absolute(&place, path),
        Source::Keyring { service, account } if service.is_empty() || account.is_empty() => {
            Err(at(&place, "name service and account".into()))
        }
        Source::Keyring { .. } => Ok(()),
        Source::Command(argv) => {
            let program = argv.first().ok_or_else(|| at(&place, "name a program".into()))?;
            absolute(&place, program)
        }
        Source::Vault(vault) => {
            address(&place, &vault.address)?;
            let parts = vault.path.split('/').chain(vault.mount.iter().flat_map(|mount| mount.split('/')));
            if parts.into_iter().any(|part| part.is_empty() || part == "." || part == "..") {
                return Err(at(
                    &place,
                    "`path` and `mount` are written without leading, trailing or double slashes and dots".into(),
                ));
            }
            if vault.kind == super::VaultKind::Dynamic && vault.mount.is_none() {
                return Err(at(&place, "a dynamic engine has to say its `mount`".into()));
            }
            if vault.field.all().is_empty() {
                return Err(at(&place, "name a field".into()));
            }
            named(configuration, &place, Some(&vault.token))?;
            // A token that is itself in Vault would make a circle possible; one level is enough for everybody.
            match configuration.secrets.get(&vault.token).map(|token| &token.from) {
                Some(Source::Vault(_)) => Err(at(&place, "the token of Vault cannot itself be in Vault".into())),
                _ => Ok(()),
            }
        }
    }
}

fn mail_holds(configuration: &Configuration, mail: &Mail) -> Checked {
    if url::Host::parse(&mail.server).is_err() {
        return Err(at(&["mail", "server"], "not the name or address of a host".into()));
    }
    if mail.from.parse::<lettre::message::Mailbox>().is_err() {
        return Err(at(&["mail", "from"], "not a mail address".into()));
    }
    if mail.username.is_some() && mail.password.is_none() {
        return Err(at(&["mail", "password"], "a user name without a password".into()));
    }
    named(configuration, &["mail", "password"], mail.password.as_deref())
}

fn channel_holds(configuration: &Configuration, name: &str, channel: &Channel) -> Checked {
    let place = ["channels", name, "webhook"];
    if channel.webhook.contains("://") {
        address(&place, &channel.webhook)
    } else {
        named(configuration, &place, Some(&channel.webhook))
    }
}

fn mcp_holds(configuration: &Configuration, name: &str, server: &Mcp) -> Checked {
    match (&server.url, server.argv.first()) {
        (Some(url), None) => {
            address(&["mcp", name, "url"], url)?;
            named(configuration, &["mcp", name, "key"], server.key.as_deref())
        }
        (None, Some(program)) if server.key.is_none() => absolute(&["mcp", name, "argv"], program),
        (None, Some(_)) => Err(at(&["mcp", name, "key"], "a server that runs in the step gets no key".into())),
        (Some(_), Some(_)) | (None, None) => Err(at(&["mcp", name], "write either `url` or `argv`".into())),
    }
}

fn named(configuration: &Configuration, place: &[&str], name: Option<&str>) -> Checked {
    match name {
        Some(name) if !configuration.secrets.contains_key(name) => {
            Err(at(place, format!("no secret is called `{}`", text::escape(name))))
        }
        _ => Ok(()),
    }
}

fn address(place: &[&str], url: &str) -> Checked {
    let parsed = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let parsed = parsed.ok_or_else(|| at(place, "not an http or https address".into()))?;
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(at(place, "credentials do not belong into an address: name a secret".into()));
    }
    if parsed.fragment().is_some() {
        return Err(at(place, "an address has no fragment".into()));
    }
    Ok(())
}

fn absolute(place: &[&str], path: &str) -> Checked {
    if path.starts_with('/') && !path.contains('\0') { Ok(()) } else { Err(at(place, "write an absolute path".into())) }
}

fn amount(place: &[&str], dollars: Option<f64>) -> Checked {
    match dollars {
        Some(value) if !value.is_finite() || value < 0.0 => Err(at(place, "an amount is not negative".into())),
        _ => Ok(()),
    }
}

fn visible(place: &[&str], name: &str) -> Checked {
    if name.is_empty() || name.len() > 128 {
        return Err(at(place, "a name has 1 to 128 bytes".into()));
    }
    text::check_name(name).map_err(|hidden| at(place, hidden.to_string()))
}

fn at(place: &[&str], what: String) -> DocumentError {
    let pointer =
        place.iter().map(|part| format!("/{}", part.replace('~', "~0").replace('/', "~1"))).collect::<String>();
    DocumentError::at(pointer, what)
}
