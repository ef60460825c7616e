//! What a terminal shows after some output.

use unicode_width::UnicodeWidthChar as _;

/// Stands for the second half of a wide character.
const HALF: char = '\0';

#[derive(Default)]
struct Cells {
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
}

/// The lines of both screens of a terminal, without empty ones at the end.
pub struct Screens {
    pub usual: Vec<String>,
    /// The other screen when it was left last, if there was one.
    pub other: Vec<String>,
}

/// The lines on the usual screen after this output.
pub fn screen(written: &str) -> Vec<String> {
    screens(written).usual
}

pub fn screens(written: &str) -> Screens {
    let (mut cells, mut aside, mut other) = (Cells::default(), Cells::default(), Vec::new());
    let mut rest = written.chars();
    while let Some(sign) = rest.next() {
        match sign {
            '\r' => cells.column = 0,
            '\n' => (cells.row, cells.column) = (cells.row + 1, 0),
            '\x1b' => {
                assert_eq!(rest.next(), Some('['), "a terminal code that is not known");
                let mut argument = String::new();
                let letter = rest.by_ref().find(|sign| {
                    argument.extend((!sign.is_ascii_alphabetic()).then_some(*sign));
                    sign.is_ascii_alphabetic()
                });
                match (argument.as_str(), letter.expect("a whole code")) {
                    ("?1049", 'h') => (cells, aside) = (Cells::default(), cells),
                    ("?1049", 'l') => {
                        other = cells.shown();
                        cells = std::mem::take(&mut aside);
                    }
                    ("?25", 'h' | 'l') | (_, 'm') => {}
                    (argument, letter) => cells.obey(argument, letter),
                }
            }
            sign => cells.put(sign),
        }
    }
    Screens {
        usual: cells.shown(),
        other,
    }
}

/// The names and texts of pictures of screens, each below a line with `=== ` and its name.
pub fn pictures(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let parts = text.split("=== ").filter_map(|part| part.split_once('\n'));
    parts.map(|(name, picture)| (name, picture.trim_end()))
}

impl Cells {
    fn line(&mut self) -> &mut Vec<char> {
        let wanted = self.lines.len().max(self.row + 1);
        self.lines.resize(wanted, Vec::new());
        &mut self.lines[self.row]
    }

    fn put(&mut self, sign: char) {
        let (column, width) = (self.column, sign.width().unwrap_or_default());
        let line = self.line();
        line.resize(line.len().max(column + width), ' ');
        if width > 0 {
            line[column] = sign;
        }
        if width == 2 {
            line[column + 1] = HALF;
        } else if let Some(rest) = line.get_mut(column + 1).filter(|next| **next == HALF) {
            *rest = ' ';
        }
        self.column += width;
    }

    fn obey(&mut self, argument: &str, letter: char) {
        let column = self.column;
        match (argument, letter) {
            ("2", 'K') => self.line().clear(),
            ("", 'K') => self.line().truncate(column),
            ("", 'J') => {
                self.line().truncate(column);
                self.lines.truncate(self.row + 1);
            }
            ("2", 'J') => self.lines.clear(),
            ("1", 'A') => self.row = self.row.saturating_sub(1),
            (place, 'H') => {
                let mut numbers = place.split(';').map(|number| number.parse().unwrap_or(1));
                let mut next = || numbers.next().unwrap_or(1_usize) - 1;
                (self.row, self.column) = (next(), next());
            }
            other => panic!("a terminal code that is not known: {other:?}"),
        }
    }

    fn shown(&self) -> Vec<String> {
        let text = |line: &Vec<char>| {
            let signs = line.iter().filter(|sign| **sign != HALF);
            signs.collect::<String>().trim_end().to_owned()
        };
        let mut lines: Vec<String> = self.lines.iter().map(text).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }
}
