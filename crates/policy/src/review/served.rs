//! What the project keeps to itself, put where its web server gives it to everybody.

use countersign_plan::tool::Effect;
use countersign_plan::verdict::{Code, Reason};

use super::Request;
use super::prepare::Prepared;
use crate::effects::{By, Touch};
use crate::lists::has;
use crate::paths::fold;

/// Folders whose files web servers hand out (the manuals of Rails, Django, Express, Apache, nginx, IIS, Jekyll).
const SERVED: &str = "public static www htdocs wwwroot public_html _site webroot";

/// Folders of settings, data and records.
const KEPT: &str = "config conf db database secrets private credentials log logs backup backups dump dumps .git migrations var storage";

/// Endings of the same.
const KEPT_ENDINGS: &str = "sql sqlite sqlite3 db dump log env key pem bak";

/// Words of a goal that wants something given out.
const GIVING: &str =
    "publish public serv host deploy upload expos shar download site website web page downloadable share";

pub(super) fn check(request: &Request<'_>, prepared: &Prepared<'_>) -> Option<Reason> {
    let below = |path: &str| {
        let inside = |root: &String| path.strip_prefix(root.as_str()).and_then(|rest| rest.strip_prefix('/'));
        request.deployment.workspace().iter().find_map(inside).map(|path| fold(path).into_owned())
    };
    let served = |touch: &Touch| {
        let path = below(&touch.name)?;
        let (folders, _) = path.rsplit_once('/')?;
        folders.split('/').any(|folder| has(SERVED, folder)).then_some(path)
    };
    let kept = |touch: &Touch| {
        let path = below(&touch.name)?;
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
        let private = path.split('/').any(|part| has(KEPT, part)) || has(KEPT_ENDINGS, ending);
        let shown = ["example", "sample", "template"].iter().any(|word| path.contains(word));
        (private && !shown && served(touch).is_none()).then_some(path)
    };
    let mut touches = prepared.derived.touches.iter().filter(|touch| touch.by != By::View);
    let put =
        touches.clone().filter(|touch| matches!(touch.effect, Effect::Create | Effect::Update)).find_map(served)?;
    let dumped = || {
        let line = prepared.given.get("command").and_then(|line| line.as_str().map(str::to_owned));
        let dumps = ["pg_dump", "mysqldump", "mariadb-dump", "mongodump", "mongoexport", "sqlite3 + .dump"];
        line.is_some_and(|line| dumps.iter().any(|dump| dump.split(" + ").all(|part| line.contains(part))))
            .then(|| "a dump of the database".to_owned())
    };
    let from = touches.find_map(|touch| (touch.effect == Effect::Read).then(|| kept(touch)).flatten());
    let from = from.or_else(dumped)?;
    if prepared.goal.speak_of(GIVING) && prepared.goal.share_a_word(&from) {
        return None;
    }
    let message = format!("{from} would be put into {put}, which everybody may fetch, and the goal does not say so");
    Some(Reason::ask(Code::GoalUnasked, message).fix("put it where only the project reads it"))
}
