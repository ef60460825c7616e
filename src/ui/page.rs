//! The files of the page.

/// The page itself.
pub const INDEX: &str = include_str!("page/index.html");

/// What it loads: names below `/page/`, types and texts. A module comes after those that it imports.
pub const FILES: [(&str, &str, &str); 11] = [
    ("style.css", CSS, include_str!("page/style.css")),
    ("api.js", SCRIPT, include_str!("page/api.js")),
    ("dom.js", SCRIPT, include_str!("page/dom.js")),
    ("diff.js", SCRIPT, include_str!("page/diff.js")),
    ("store.js", SCRIPT, include_str!("page/store.js")),
    ("timeline.js", SCRIPT, include_str!("page/timeline.js")),
    ("at.js", SCRIPT, include_str!("page/at.js")),
    ("back.js", SCRIPT, include_str!("page/back.js")),
    ("file.js", SCRIPT, include_str!("page/file.js")),
    ("room.js", SCRIPT, include_str!("page/room.js")),
    ("main.js", SCRIPT, include_str!("page/main.js")),
];

const CSS: &str = "text/css; charset=utf-8";
pub const SCRIPT: &str = "text/javascript; charset=utf-8";

/// What a page without a server has instead of its files.
pub const STYLE_TAG: &str = "<link rel=\"stylesheet\" href=\"/page/style.css\">";
pub const SCRIPT_TAG: &str = "<script type=\"module\" src=\"/page/main.js\"></script>";
