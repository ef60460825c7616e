//! Tree objects: what is accepted is written in the same bytes, and no name in it leads elsewhere.

use checkpoint::model::state::rel_path::RelPath;
use checkpoint::store::trees::tree_codec::{encode, lines, parse};

pub fn check(data: &[u8]) {
    let followed = lines(data).all(|line| line.is_ok());
    let Ok(mut entries) = parse(data) else { return };
    assert!(
        followed,
        "who follows the ids sees all that the strict reader sees"
    );
    assert_eq!(encode(&mut entries), data);
    for entry in &entries {
        let path = RelPath::new(&entry.name).expect("a name is a path");
        assert_eq!(path.components().count(), 1);
    }
}
