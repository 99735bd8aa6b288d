//! Workers that run at a time, each replaced when it dies or takes too long.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use oneir::onnx::conformance::Case;

use super::worker::{Ending, Outcome, question};

/// The longest answer that is read, in bytes.
const LONGEST_ANSWER: u64 = 1 << 16;

/// Lines of a worker's standard error that are kept, and bytes of each.
const KEPT_LINES: usize = 6;
const LONGEST_LINE: u64 = 1 << 10;

/// How long a worker that answers no more may take to end, and what it wrote
/// to arrive: a process that it started may hold its streams open.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Runs cases in processes.
pub(super) struct Pool<C> {
    /// What starts a worker, with its three streams piped.
    pub(super) command: C,
    /// Cases that run at a time.
    pub(super) jobs: usize,
    /// How long one case may take.
    pub(super) timeout: Duration,
}

impl<C: Fn() -> Command + Sync> Pool<C> {
    /// The outcomes of cases, in their order. `progress` hears how many are
    /// done.
    ///
    /// # Errors
    /// When a worker cannot be started.
    pub(super) fn run(&self, cases: &[Case], progress: &(dyn Fn(usize) + Sync)) -> io::Result<Vec<Outcome>> {
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let job = || {
            let (mut outcomes, mut worker) = (Vec::new(), None);
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(case) = cases.get(at) else { return Ok(outcomes) };
                match self.outcome(&mut worker, case) {
                    Ok(outcome) => outcomes.push((at, outcome)),
                    Err(why) => {
                        next.store(cases.len(), Ordering::Relaxed);
                        return Err(why);
                    }
                }
                progress(done.fetch_add(1, Ordering::Relaxed) + 1);
            }
        };
        let mut all = Vec::with_capacity(cases.len());
        thread::scope(|scope| {
            let jobs: Vec<_> = (0..self.jobs.min(cases.len())).map(|_| scope.spawn(job)).collect();
            for job in jobs {
                all.extend(job.join().map_err(|_| io::Error::other("a thread of the pool panicked"))??);
            }
            io::Result::Ok(())
        })?;
        all.sort_by_key(|(at, _)| *at);
        Ok(all.into_iter().map(|(_, outcome)| outcome).collect())
    }

    fn outcome(&self, worker: &mut Option<Worker>, case: &Case) -> io::Result<Outcome> {
        let Some(question) = question(case) else {
            return Ok(Outcome::new(Ending::Refused, "the folder's name is not UTF-8"));
        };
        let asked = match worker {
            Some(worker) => worker,
            None => worker.insert(Worker::start((self.command)())?),
        };
        match asked.ask(&question, self.timeout) {
            Ok(outcome) => Ok(outcome),
            Err(end) => {
                let why = asked.end(end, self.timeout);
                *worker = None;
                Ok(Outcome::new(Ending::Crash, &why))
            }
        }
    }
}

/// Why a worker is not asked again.
enum End {
    /// Its output ended.
    Silent,
    /// The time is up.
    Slow,
    /// It wrote something else than an answer.
    Confused(String),
}

struct Worker {
    child: Child,
    questions: ChildStdin,
    answers: Receiver<String>,
    errors: Arc<Mutex<VecDeque<String>>>,
    /// Ends when the standard error does.
    listening: Receiver<()>,
}

impl Worker {
    fn start(mut command: Command) -> io::Result<Worker> {
        let mut child = command.spawn()?;
        let piped = || io::Error::other("a worker's streams are not piped");
        let questions = child.stdin.take().ok_or_else(piped)?;
        let stdout = child.stdout.take().ok_or_else(piped)?;
        let stderr = child.stderr.take().ok_or_else(piped)?;
        let (answer, answers) = channel();
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            while let Some(line) = line(&mut stdout, LONGEST_ANSWER)
                && answer.send(line).is_ok()
            {}
        });
        let errors = Arc::new(Mutex::new(VecDeque::new()));
        let (listens, listening) = channel();
        let kept = errors.clone();
        thread::spawn(move || {
            let _listens = listens;
            let mut stderr = BufReader::new(stderr);
            while let Some(line) = line(&mut stderr, LONGEST_LINE) {
                let mut kept = lock(&kept);
                if kept.len() == KEPT_LINES {
                    kept.pop_front();
                }
                kept.push_back(line);
            }
        });
        Ok(Worker { child, questions, answers, errors, listening })
    }

    fn ask(&mut self, question: &str, timeout: Duration) -> Result<Outcome, End> {
        lock(&self.errors).clear();
        if self.questions.write_all(question.as_bytes()).is_err() {
            return Err(End::Silent);
        }
        match self.answers.recv_timeout(timeout) {
            Ok(line) => Outcome::from_line(&line).ok_or(End::Confused(line)),
            Err(RecvTimeoutError::Timeout) => Err(End::Slow),
            Err(RecvTimeoutError::Disconnected) => Err(End::Silent),
        }
    }

    /// Ends the process, and says what became of it.
    fn end(&mut self, end: End, timeout: Duration) -> String {
        match end {
            End::Slow => format!("no answer within {timeout:?}"),
            End::Confused(line) => format!("the worker answered {line:?}"),
            End::Silent => {
                let status = self.status().map_or_else(
                    || "the worker closed its output".to_owned(),
                    |status| format!("the worker ended with {status}"),
                );
                _ = self.listening.recv_timeout(LAST_WORDS);
                let errors = lock(&self.errors);
                let words = errors.iter().filter(|line| !line.starts_with("note: run with `RUST_BACKTRACE"));
                words.fold(status, |all, line| format!("{all} {line}"))
            }
        }
    }

    /// How the process ended, if it did by itself.
    fn status(&mut self) -> Option<ExitStatus> {
        let began = Instant::now();
        while began.elapsed() < LAST_WORDS {
            if let Some(status) = self.child.try_wait().ok()? {
                return Some(status);
            }
            thread::sleep(Duration::from_millis(5));
        }
        None
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It waits for a question, or is given up.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// The next line of a stream, cut where it is longer than a limit.
fn line(stream: &mut impl BufRead, limit: u64) -> Option<String> {
    let mut bytes = Vec::new();
    stream.take(limit).read_until(b'\n', &mut bytes).ok()?;
    (!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

fn lock(lines: &Mutex<VecDeque<String>>) -> std::sync::MutexGuard<'_, VecDeque<String>> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, unix))]
mod tests {
    use std::path::PathBuf;
    use std::process::Stdio;

    use super::*;

    /// The outcomes of cases whose folders have these names, from workers that
    /// run a shell script.
    fn outcomes(script: &'static str, names: &[&str], jobs: usize) -> Vec<Outcome> {
        let command = move || {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            command
        };
        let cases: Vec<Case> = names.iter().map(|name| Case::at(PathBuf::from(name))).collect();
        let pool = Pool { command, jobs, timeout: Duration::from_millis(500) };
        pool.run(&cases, &|_| {}).unwrap()
    }

    fn pass() -> Outcome {
        Outcome::new(Ending::Pass, "")
    }

    #[track_caller]
    fn crash(outcome: &Outcome, parts: &[&str]) {
        assert_eq!(outcome.ending, Ending::Crash);
        assert!(parts.iter().all(|part| outcome.detail.contains(part)), "{}", outcome.detail);
    }

    /// Says its process's number, and dies, hangs or babbles when told to.
    const SCRIPT: &str = r#"
        while read -r case; do
            case $case in
                *kill*) echo "last words" >&2; kill -9 $$ ;;
                *exit*) echo "thread 'main' panicked at x.rs:1:2:" >&2; echo "no way" >&2
                        echo "note: run with \`RUST_BACKTRACE=1\`" >&2; exit 101 ;;
                *hang*) sleep 60 ;;
                *close*) exec >&-; sleep 60 ;;
                *babble*) echo "hello" ;;
                *flood*) head -c 1000000 /dev/zero ;;
                *) echo "[\"random\", \"$$\"]" ;;
            esac
        done"#;

    #[test]
    fn a_dead_worker_is_a_crash_and_is_replaced() {
        let found = outcomes(SCRIPT, &["a", "b", "kill", "c", "exit", "hang", "d", "babble", "e"], 1);
        let same = |a: usize, b: usize| found[a].detail == found[b].detail;
        assert!([0, 1, 3, 6, 8].iter().all(|&i| found[i].ending == Ending::Random), "{found:?}");
        assert!(same(0, 1) && !same(1, 3) && !same(3, 6) && !same(6, 8), "{found:?}");
        crash(&found[2], &["signal: 9 (SIGKILL)", "last words"]);
        crash(&found[4], &["exit status: 101 thread 'main' panicked at x.rs:1:2: no way"]);
        assert!(!found[4].detail.contains("note"), "{found:?}");
        crash(&found[5], &["no answer within 500ms"]);
        crash(&found[7], &["answered \"hello\""]);
    }

    #[test]
    fn a_worker_that_closes_its_output_or_never_ends_a_line_is_given_up() {
        let found = outcomes(SCRIPT, &["close", "flood", "a"], 2);
        crash(&found[0], &["closed its output"]);
        crash(&found[1], &["answered"]);
        assert!(found[1].detail.len() < 8000);
        assert_eq!(found[2].ending, Ending::Random);
    }

    #[test]
    fn outcomes_stand_in_the_order_of_the_cases() {
        let script = r#"while read -r case; do
            case $case in *slow*) sleep 0.1; echo '["refused", "slow"]' ;; *) echo '["pass", ""]' ;; esac
        done"#;
        let found = outcomes(script, &["slow", "b", "c", "slow", "e"], 4);
        let slow = Outcome::new(Ending::Refused, "slow");
        assert_eq!(found, [slow.clone(), pass(), pass(), slow, pass()]);
    }

    #[test]
    fn a_worker_that_cannot_start_is_an_error() {
        let command = || Command::new("no-such-program-at-all");
        let pool = Pool { command, jobs: 2, timeout: Duration::from_secs(1) };
        assert!(pool.run(&[Case::at("a")], &|_| {}).is_err());
        // It must at least have streams.
        let command = || Command::new("true");
        let pool = Pool { command, jobs: 2, timeout: Duration::from_secs(1) };
        assert!(pool.run(&[Case::at("a")], &|_| {}).is_err());
    }
}
