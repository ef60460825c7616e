//! The files of the page.

/// The page itself.
pub const INDEX: &str = include_str!("page/index.html");

/// What it loads: names below `/page/`, types and texts.
pub const FILES: [(&str, &str, &str); 2] = [
    ("style.css", CSS, include_str!("page/style.css")),
    ("main.js", SCRIPT, include_str!("page/main.js")),
];

const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// What a page without a server has instead of its files.
pub const STYLE_TAG: &str = "<link rel=\"stylesheet\" href=\"/page/style.css\">";
pub const SCRIPT_TAG: &str = "<script type=\"module\" src=\"/page/main.js\"></script>";
