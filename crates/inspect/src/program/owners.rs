//! Tokens whose names say whose they are: each is for the hosts of its own provider, and a secret on its way to any other (the providers'
//! manuals on authentication).

/// Beginnings of names of variables, with the hosts that the token is for and with words by which people name a server of their own of
/// that kind.
const OWNERS: &[(&[&str], &[&str], &[&str])] = &[
    (
        &["GITHUB_TOKEN", "GH_TOKEN", "GITHUB_PAT", "GH_PAT", "GITHUB_API_TOKEN", "GITHUB_ACCESS_TOKEN"],
        &[
            "github.com",
            "githubusercontent.com",
            "ghcr.io",
            "ghe.com",
            "githubcopilot.com",
            "githubapp.com",
            "azure.com",
        ],
        &["github", "ghe"],
    ),
    (
        &["GITLAB_TOKEN", "GITLAB_PRIVATE_TOKEN", "GITLAB_API_TOKEN", "CI_JOB_TOKEN"],
        &["gitlab.com"],
        &["gitlab", "git"],
    ),
    (&["BITBUCKET_TOKEN", "BITBUCKET_ACCESS_TOKEN"], &["bitbucket.org", "atlassian.com"], &["bitbucket", "git"]),
    (
        &["NPM_TOKEN", "NODE_AUTH_TOKEN", "NPM_AUTH_TOKEN"],
        &["npmjs.org", "npmjs.com", "yarnpkg.com", "github.com", "gitlab.com"],
        &["npm", "registry", "nexus", "artifactory", "verdaccio", "packages"],
    ),
    (&["PYPI_TOKEN", "PYPI_API_TOKEN", "TWINE_PASSWORD"], &["pypi.org"], &["pypi", "nexus", "artifactory", "packages"]),
    (&["CARGO_REGISTRY_TOKEN", "CRATES_IO_TOKEN"], &["crates.io"], &[]),
    (&["OPENAI_API_KEY", "OPENAI_KEY"], &["openai.com", "azure.com"], &[]),
    (&["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_API_KEY"], &["anthropic.com", "claude.ai"], &[]),
    (&["GEMINI_API_KEY", "GOOGLE_API_KEY"], &["googleapis.com", "google.com"], &[]),
    (&["MISTRAL_API_KEY"], &["mistral.ai"], &[]),
    (&["GROQ_API_KEY"], &["groq.com"], &[]),
    (&["COHERE_API_KEY"], &["cohere.ai", "cohere.com"], &[]),
    (&["HF_TOKEN", "HUGGINGFACE_TOKEN", "HUGGING_FACE_HUB_TOKEN"], &["huggingface.co", "hf.co"], &[]),
    (&["REPLICATE_API_TOKEN"], &["replicate.com"], &[]),
    (
        &["SLACK_TOKEN", "SLACK_BOT_TOKEN", "SLACK_API_TOKEN", "SLACK_APP_TOKEN", "SLACK_USER_TOKEN"],
        &["slack.com"],
        &[],
    ),
    (&["DISCORD_TOKEN", "DISCORD_BOT_TOKEN"], &["discord.com", "discordapp.com"], &[]),
    (&["TELEGRAM_TOKEN", "TELEGRAM_BOT_TOKEN"], &["telegram.org"], &[]),
    (&["STRIPE_SECRET_KEY", "STRIPE_API_KEY", "STRIPE_KEY", "STRIPE_SECRET"], &["stripe.com"], &[]),
    (&["TWILIO_AUTH_TOKEN", "TWILIO_API_SECRET"], &["twilio.com"], &[]),
    (&["SENDGRID_API_KEY"], &["sendgrid.com"], &[]),
    (&["MAILGUN_API_KEY"], &["mailgun.net", "mailgun.com"], &[]),
    (&["CLOUDFLARE_API_TOKEN", "CLOUDFLARE_API_KEY", "CF_API_TOKEN", "CF_API_KEY"], &["cloudflare.com"], &[]),
    (&["DIGITALOCEAN_TOKEN", "DIGITALOCEAN_ACCESS_TOKEN", "DO_TOKEN", "DO_API_TOKEN"], &["digitalocean.com"], &[]),
    (&["LINODE_TOKEN"], &["linode.com"], &[]),
    (&["HCLOUD_TOKEN", "HETZNER_TOKEN"], &["hetzner.cloud", "hetzner.com"], &[]),
    (&["FLY_API_TOKEN"], &["fly.io", "fly.dev", "machines.dev"], &[]),
    (&["VERCEL_TOKEN"], &["vercel.com"], &[]),
    (&["NETLIFY_AUTH_TOKEN"], &["netlify.com"], &[]),
    (&["HEROKU_API_KEY"], &["heroku.com"], &[]),
    (&["SENTRY_AUTH_TOKEN"], &["sentry.io"], &["sentry"]),
    (&["DATADOG_API_KEY", "DD_API_KEY", "DD_APP_KEY"], &["datadoghq.com", "datadoghq.eu", "ddog-gov.com"], &[]),
    (&["NEW_RELIC_LICENSE_KEY", "NEW_RELIC_API_KEY"], &["newrelic.com", "nr-data.net"], &[]),
    (&["PAGERDUTY_TOKEN", "PAGERDUTY_API_KEY"], &["pagerduty.com"], &[]),
    (&["CODECOV_TOKEN"], &["codecov.io"], &["codecov"]),
    (&["SONAR_TOKEN"], &["sonarcloud.io"], &["sonar", "sonarqube"]),
    (&["SNYK_TOKEN"], &["snyk.io"], &[]),
    (&["CIRCLECI_TOKEN", "CIRCLE_TOKEN"], &["circleci.com"], &[]),
    (&["NOTION_TOKEN", "NOTION_API_KEY"], &["notion.com", "notion.so"], &[]),
    (&["LINEAR_API_KEY"], &["linear.app"], &[]),
    (
        &["ATLASSIAN_TOKEN", "JIRA_API_TOKEN", "JIRA_TOKEN"],
        &["atlassian.net", "atlassian.com"],
        &["jira", "confluence"],
    ),
    (&["DOCKERHUB_TOKEN", "DOCKER_HUB_TOKEN"], &["docker.com", "docker.io"], &[]),
    (
        &["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID"],
        &["amazonaws.com", "amazonaws.com.cn", "aws.amazon.com"],
        &["minio", "s3"],
    ),
    (&["AZURE_CLIENT_SECRET"], &["azure.com", "microsoft.com", "microsoftonline.com", "windows.net"], &[]),
];

/// Whether a name tells whose the token is.
pub(crate) fn has_owner(name: &str) -> bool {
    OWNERS.iter().any(|(names, ..)| names.contains(&name))
}

/// Whether a token of this name is none of the host's that it goes to; nothing is said of names that tell no owner, and of hosts of
/// this machine.
pub(crate) fn is_of_another(variable: &str, host: &str) -> bool {
    let name = variable.trim_end_matches([':', '-', '?', '=', '+']);
    let Some((_, hosts, own)) = OWNERS.iter().find(|(names, ..)| names.contains(&name)) else { return false };
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host).to_ascii_lowercase();
    if host == "?" || !host.contains('.') || crate::host::is_local(&host) {
        return false;
    }
    let below = |owner: &&str| host.strip_suffix(*owner).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let first = host.split('.').next().unwrap_or("");
    !hosts.iter().any(below) && !own.contains(&first)
}

#[cfg(test)]
mod tests {
    use super::is_of_another;

    #[test]
    fn a_token_is_for_its_own_provider() {
        for (name, host) in [
            ("GITHUB_TOKEN", "api.github.com:443"),
            ("GITLAB_TOKEN", "gitlab.firm.example:443"),
            ("OPENAI_API_KEY", "api.openai.com:443"),
            ("GITHUB_TOKEN", "127.0.0.1:8080"),
            ("API_TOKEN", "h.example:443"),
        ] {
            assert!(!is_of_another(name, host), "{name} {host}");
        }
        for (name, host) in [
            ("GITHUB_TOKEN", "api.github.com.h.example:443"),
            ("GH_TOKEN:-", "notgithub.com:443"),
            ("AWS_SECRET_ACCESS_KEY", "h.example:443"),
            ("OPENAI_API_KEY", "api.anthropic.com:443"),
        ] {
            assert!(is_of_another(name, host), "{name} {host}");
        }
    }
}
