//! The words that goals are compared with: beginnings of English verbs by what they ask for, and the small words around them.
//!
//! They stand for kinds of acts, and for no tool and no case.

// Beginnings of words by which people ask: to be shown something,
pub(in crate::review) const LOOKING: &str = "read summar find list show explain analy review check look search count compar describ inspect \
    investigat diagnos understand learn examin browse what which who when why how where";

// for something new or changed,
pub(in crate::review) const MAKING: &str = "write creat add make updat chang alter edit fix implement build refactor generat draft prepar save store append jot \
    insert format convert translat correct improv extend schedul plan test run switch adjust rais lower increas decreas reduc rename \
    mark tag label assign enter record flip bump swap replac shorten trim truncat archiv pack bundl split merg sort collect gather \
    compil extract render roll scal substitut";

// and one that is too short to be a beginning.
pub(in crate::review) const SETTING: &str = "set";

// for a message, a request or a publication,
pub(in crate::review) const TELLING: &str = "send sent mail email messag notif inform tell repl respond answer forward shar post publish releas deploy \
    invit announc contact ask remind alert escalat submit upload push deliver distribut broadcast slack chat know report ping \
    call request confirm thank cc writ commit sync webhook book order regist";

// of them, for what everybody may read, with the places where it stands then,
pub(in crate::review) const PUBLISHING: &str = "publish announc broadcast tweet releas post web site page portal public live online wiki blog \
    intranet newsletter press media upload deploy putting put hang display show visible everyone everybody all";

// for a payment,
pub(in crate::review) const PAYING: &str = "pay paid transfer wire send refund buy bought purchas order book reimburs settl invoice bill donat tip \
    subscri charg deposit withdraw split rent";

// for a change of rights, accounts or configuration,
pub(in crate::review) const GOVERNING: &str = "grant revok permi rotat enabl disabl onboard offboard shar block ban promot configur setup set install \
    lock unlock reset delegat authori invit secur";

// by its object alone,
pub(in crate::review) const GOVERNED: &str =
    "access role admin credential password key account user policy secret own member root sudo securi";

// with one of these,
pub(in crate::review) const ACTING: &str = "give let allow assign switch turn open clos take add remov delet creat updat chang edit make put move \
    renew grant revok rotat enabl disabl set reset install";

// for removal, cleaning, publishing or replacement;
pub(in crate::review) const REMOVAL: &str = "unlist delet remov clean purg drop prun discard eras wipe wiping tidy clear retir uninstall publish releas \
    deploy replac swap supersed migrat mov renam obsolet unus stale cancel trash dispos cull expung evict decommission dismantl \
    unlink deregister truncat emptie void annul invalidat pulp shred incinerat binned";

// of them, those that are for what is removed, and not for what takes its place;
pub(in crate::review) const TIDYING: &str = "delet remov clean purg drop prun discard eras wipe wiping tidy clear retir uninstall obsolet unus \
    stale trash dispos cull expung evict decommission dismantl unlink empty emptie strip rid sweep free reset truncat binned";

// the plainest of them;
pub(in crate::review) const DESTROYING: &str =
    "delet remov clean purg drop prun discard eras wipe wiping retir uninstall trash dispos expung";

// what is said of things that are to be gone for good;
pub(in crate::review) const FOR_GOOD: &str = "delet remov purg drop prun discard eras wipe wiping retir uninstall trash dispos expung cancel \
    destroy dismantl decommission scrap pulp shred incinerat clear clean cull evict deregister obsolet unus stale kill terminat forget unsubscrib void annul invalidat";

// for the end of all that a database holds;
pub(in crate::review) const EMPTYING: &str =
    "empty flush drop reset recreat delet remov wipe wiping clear purg eras truncat destroy";

// of them, those that are for what is somewhere else, and not for order in the work itself;
pub(in crate::review) const ERASING: &str =
    "delet remov purg drop prun discard eras wipe wiping uninstall trash dispos expung";

// for something made anew;
pub(in crate::review) const REBUILDING: &str = "rebuil scratch fresh anew reinstall regenerat reset";

// for a push;
pub(in crate::review) const PUSHING: &str = "push publish releas deploy upload sync";

// for what git or a hook runs at a commit or push;
pub(in crate::review) const HOOKS: &str = "hook commit push husky";

// for a program to be started anew or to read its configuration again;
pub(in crate::review) const RELOADING: &str = "restart reload hup bounc";

// to be told what something is, which is not to run it.
pub(in crate::review) const EXPLAINING: &str = "explain describ summar review read understand";

/// Words that name too many tools to mean one.
pub(in crate::review) const PLAIN: &str = "update set change create add make edit put get run database query sql";

/// How far from its "if" a condition says what it takes back, in words.
pub(in crate::review) const BACK: usize = 10;

/// How many words a goal has at most that says nothing of its own.
pub(in crate::review) const UNCLEAR: usize = 5;

/// Words of calls that read, whatever they read.
pub(in crate::review) const READING: &str =
    "read file list search query find fetch show open load select from where path data content with home";

/// Parts of tools' names that say who may do what.
pub(in crate::review) const POWERS: &str =
    "admin admins owner owners role roles key keys root sudo permission permissions access credential token user users";

/// Words before a place, a way or a comparison, which is not what is removed.
pub(in crate::review) const PLACING: &str =
    "in from by per with using via into to than of over under inside across throughout within below on at";
