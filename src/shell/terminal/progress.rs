//! The progress line on a terminal, drawn by its own thread, and cleared before anything else is
//! printed or asked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::answer::format::{Paint, size};
use crate::answer::words;
use crate::base::progress::Figures;
use crate::base::text::thousands;
use crate::base::{Interrupt, Interrupted, Progress, Shield, WorkPhase, mutex};
use crate::ops::Context;
use crate::shell::signals;

/// Time before a line is shown; shorter work gets none.
const PATIENCE: Duration = Duration::from_millis(400);
/// Time in a phase before its end is guessed.
const BEFORE_GUESSES: Duration = Duration::from_secs(1);
const BETWEEN_TICKS: Duration = Duration::from_millis(100);
/// Ticks after a signal until the work is assumed not to check for signals by itself.
const TICKS_TO_STOP: u32 = 3;

/// There is one terminal, so there is one line.
static LINE: OnceLock<Mutex<ProgressLine>> = OnceLock::new();

/// Whether a result was printed, so that the work is done.
static HAS_ANSWERED: AtomicBool = AtomicBool::new(false);

pub fn note_answer() {
    HAS_ANSWERED.store(true, Ordering::Relaxed);
}

struct ProgressLine {
    progress: Progress,
    interrupt: Interrupt,
    paint: Paint,
    /// What is said at the end by a signal.
    interrupted: String,
    print_output: fn(&str, Paint),
    drawn: Option<VisibleLine>,
    /// Number of holders of [`Hidden`].
    holds: usize,
    quiet_until: Instant,
    /// Figures when the line was cleared; it is redrawn only if they change.
    last: Option<Figures>,
    ticks_since_signal: u32,
    is_over: bool,
}

/// The visible line.
struct VisibleLine {
    bar: ProgressBar,
    /// Phase, and how much there is to do in it.
    work: Option<(WorkPhase, u64)>,
    /// Keeps a signal from ending the process before the line is cleared: [`ProgressLine::obey`].
    _shield: Shield,
}

/// Stops the progress line on drop.
pub struct Showing {
    /// Lets this thread say what a signal leaves before the process ends.
    _shield: Shield,
}

/// Whether stderr is a terminal that can move its cursor.
pub fn can_draw() -> bool {
    !ProgressDrawTarget::stderr().is_hidden()
}

/// Shows the line after a delay, if the terminal supports it. `print_output` prints to stderr.
pub fn show(
    context: &Context,
    paint: Paint,
    interrupted: String,
    print_output: fn(&str, Paint),
) -> Option<Showing> {
    let line = ProgressLine {
        progress: context.progress.clone(),
        interrupt: context.interrupt.clone(),
        paint,
        interrupted,
        print_output,
        drawn: None,
        holds: 0,
        quiet_until: Instant::now() + PATIENCE,
        last: None,
        ticks_since_signal: 0,
        is_over: false,
    };
    if !can_draw() || LINE.set(Mutex::new(line)).is_err() {
        return None;
    }
    let shield = context.interrupt.shield();
    thread::Builder::new()
        .name("progress".into())
        .spawn(move || {
            while let Some(mut line) = lock().filter(|line| !line.is_over) {
                line.tick(Instant::now());
                drop(line);
                thread::sleep(BETWEEN_TICKS);
            }
        })
        .ok()
        .map(|_| Showing { _shield: shield })
}

impl Drop for Showing {
    fn drop(&mut self) {
        if let Some(mut line) = lock() {
            line.is_over = true;
            line.clear();
        }
    }
}

/// Clears the line, and keeps it hidden until dropped and a while longer.
#[must_use = "the line comes back when this goes"]
pub struct Hidden(bool);

pub fn hide() -> Hidden {
    let Some(mut line) = lock() else {
        return Hidden(false);
    };
    line.clear();
    line.holds += 1;
    Hidden(true)
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Some(mut line) = lock().filter(|_| self.0) {
            line.holds -= 1;
            line.quiet_until = Instant::now() + PATIENCE;
        }
    }
}

fn lock() -> Option<MutexGuard<'static, ProgressLine>> {
    LINE.get().map(mutex::lock)
}

impl ProgressLine {
    fn tick(&mut self, now: Instant) {
        self.obey();
        if self.holds > 0 {
            return;
        }
        let figures = self.progress.figures();
        if figures.phase == WorkPhase::Idle {
            self.clear();
        } else if self.drawn.is_some() || (now >= self.quiet_until && self.last != Some(figures)) {
            self.draw(figures);
        }
    }

    fn draw(&mut self, figures: Figures) {
        // Nothing is drawn before the line is whole.
        let drawn = self.drawn.get_or_insert_with(|| VisibleLine {
            bar: ProgressBar::hidden(),
            work: None,
            _shield: self.interrupt.shield(),
        });
        let (done, in_all) = share_done(figures);
        let work = Some((figures.phase, in_all));
        if drawn.work != work || done < drawn.bar.position() {
            drawn.work = work;
            drawn.bar.reset();
            drawn.bar.set_style(style(in_all > 0));
            drawn.bar.set_length(in_all);
        }
        drawn.bar.set_position(done);
        drawn.bar.set_message(match figures.phase {
            WorkPhase::Waiting => waiting(&self.progress.holder(), figures.files),
            _ => line(figures),
        });
        if drawn.bar.is_hidden() {
            drawn.bar.set_draw_target(ProgressDrawTarget::stderr());
            drawn.bar.tick();
        }
        self.last = Some(figures);
    }

    fn clear(&mut self) {
        if let Some(drawn) = self.drawn.take() {
            drawn.bar.finish_and_clear();
            self.last = Some(self.progress.figures());
        }
    }

    /// Ends the process on a signal if only the line keeps it from ending, after clearing the line.
    /// Work that checks for signals gets some ticks to report first.
    fn obey(&mut self) {
        let ours = 1 + usize::from(self.drawn.is_some());
        let stopped = self.interrupt.check().err();
        let stopped = stopped.filter(|_| self.interrupt.shields() <= ours);
        let Some(Interrupted(signal)) = stopped else {
            self.ticks_since_signal = 0;
            return;
        };
        self.ticks_since_signal += 1;
        if self.ticks_since_signal >= TICKS_TO_STOP {
            self.clear();
            let said = if HAS_ANSWERED.load(Ordering::Relaxed) {
                words::interrupted(self.paint)
            } else {
                std::mem::take(&mut self.interrupted)
            };
            (self.print_output)(&said, self.paint);
            signals::end_by(signal);
        }
    }
}

/// One line, cut off at the width of the terminal where no end is known.
fn style(has_end: bool) -> ProgressStyle {
    let template = if has_end { "{msg}{end}" } else { "{wide_msg}" };
    let end = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        // The first figures are no base for a guess.
        if state.elapsed() > BEFORE_GUESSES && !state.eta().is_zero() {
            let _ = write!(out, ", {:.0} s left", state.eta().as_secs_f64().ceil());
        }
    };
    let style = ProgressStyle::with_template(template);
    style
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
        .with_key("end", end)
}

/// Formats what is done, of how much.
pub fn line(now: Figures) -> String {
    let (verb, things) = words(now.phase);
    let mut parts = Vec::new();
    let (done, in_all) = share_done(now);
    if in_all > 0 {
        let percent = u128::from(done.min(in_all)) * 100 / u128::from(in_all);
        parts.push(format!("{percent} %"));
    }
    if now.files > 0 || now.files_in_all > 0 {
        let files = share(now.files, now.files_in_all, &thousands);
        parts.push(format!("{files}{things}"));
    }
    if now.bytes > 0 {
        parts.push(share(now.bytes, now.bytes_in_all, &size));
    }
    format!("{verb} {}", parts.join(", ")).trim_end().to_owned()
}

/// What is done, and how much there is: bytes if that is known, else files.
fn share_done(now: Figures) -> (u64, u64) {
    if now.bytes_in_all > 0 {
        (now.bytes, now.bytes_in_all)
    } else {
        (now.files, now.files_in_all)
    }
}

/// Formats the wait for a lock.
fn waiting(holder: &str, seconds: u64) -> String {
    format!("waiting for {holder}, {seconds} s")
}

fn words(phase: WorkPhase) -> (&'static str, &'static str) {
    match phase {
        WorkPhase::Idle => ("working", ""),
        WorkPhase::Scanning => ("scanning", " files"),
        WorkPhase::Reading => ("reading", " files"),
        WorkPhase::Flushing => ("flushing", ""),
        WorkPhase::Staging => ("staging", " files"),
        WorkPhase::Applying => ("applying", " files"),
        // Counts objects of the store, or restored files.
        WorkPhase::Verifying => ("verifying", ""),
        WorkPhase::Packing => ("packing", " objects"),
        WorkPhase::Waiting => ("waiting", " s"),
    }
}

/// Formats `3`, or `3/9` if the total is known; a unit that both share is written once.
fn share(done: u64, in_all: u64, shown: &dyn Fn(u64) -> String) -> String {
    if in_all == 0 {
        return shown(done);
    }
    let (done, in_all) = (shown(done), shown(in_all));
    match (done.split_once(' '), in_all.split_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number}/{in_all}"),
        _ => format!("{done}/{in_all}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(phase: WorkPhase, files: (u64, u64), bytes: (u64, u64)) -> Figures {
        Figures {
            phase,
            files: files.0,
            bytes: bytes.0,
            files_in_all: files.1,
            bytes_in_all: bytes.1,
        }
    }

    #[test]
    fn what_is_done_is_shown_of_how_much() {
        let mib = 1 << 20;
        for (now, shown) in [
            (
                figures(WorkPhase::Scanning, (31_000, 0), (0, 0)),
                "scanning 31,000 files",
            ),
            (figures(WorkPhase::Flushing, (0, 0), (0, 0)), "flushing"),
            (
                figures(WorkPhase::Reading, (20, 500), (200 * mib, 900 * mib)),
                "reading 22 %, 20/500 files, 200.0/900.0 MiB",
            ),
            (
                figures(WorkPhase::Verifying, (7, 7), (70, 70)),
                "verifying 100 %, 7/7, 70/70 B",
            ),
        ] {
            assert_eq!(line(now), shown);
        }
    }
}
