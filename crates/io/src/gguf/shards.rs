//! Files of one model: `NAME-00001-of-00003.gguf` and so on.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::IoError;
use crate::error::Place;

use super::{Contents, Metadata, read};

const NUMBER: &str = "split.no";
const COUNT: &str = "split.count";
const TENSORS: &str = "split.tensors.count";

/// Reads a file with the other shards of its model, if it is one of several: `path` may
/// be any of them. The metadata are those of the first shard; the tensors of all follow
/// one another.
///
/// # Errors
/// As [`read`] for each shard; when the file's name does not tell the others' (it ends
/// in `-00002-of-00003.gguf`, say), when a shard is another than its name says, the
/// shards have more or fewer tensors than they should, or two have one name.
pub fn read_sharded(path: impl AsRef<Path>) -> Result<Contents, IoError> {
    let path = path.as_ref();
    let given = read(path)?;
    let count = match given.metadata.get(COUNT) {
        Some(_) => given.metadata.u64(COUNT)?,
        None => 1,
    };
    if count <= 1 {
        return Ok(given);
    }
    let names = Names::of(path, count)?;
    check(&given.metadata, path, names.given, count)?;
    let mut given = Some(given);
    let mut all: Option<Contents> = None;
    for number in 1..=count {
        let shard = if number == names.given { given.take() } else { None };
        let shard = match shard {
            Some(shard) => shard,
            None => {
                let path = names.path(number);
                let shard = read(&path)?;
                check(&shard.metadata, &path, number, count)?;
                shard
            }
        };
        match &mut all {
            Some(all) => all.tensors.extend(shard.tensors),
            None => all = Some(shard),
        }
    }
    let all = all.unwrap_or(Contents { metadata: Metadata::new(), tensors: Vec::new() });
    let mut seen = HashSet::new();
    if let Some(tensor) = all.tensors.iter().find(|tensor| !seen.insert(&tensor.name)) {
        return Err(IoError::DuplicateName { path: path.to_owned(), name: tensor.name.clone() });
    }
    if all.metadata.get(TENSORS).is_some() {
        let expected = all.metadata.u64(TENSORS)?;
        if expected != all.tensors.len() as u64 {
            let found = format!("{} of {expected}", all.tensors.len());
            return Err(Place::file(path).malformed("tensors of all shards", "as many as it says", found));
        }
    }
    Ok(all)
}

/// Whether a shard is the one that its name says; numbers in files count from 0.
fn check(metadata: &Metadata, path: &Path, number: u64, count: u64) -> Result<(), IoError> {
    let found = (metadata.u64(NUMBER)?, metadata.u64(COUNT)?);
    if found == (number - 1, count) {
        return Ok(());
    }
    let found = format!("number {} of {}, counted from 0, in shard {number} of {count}", found.0, found.1);
    Err(Place::file(path).malformed("shard", "the number that its name says", found))
}

/// How the shards of a model are called.
struct Names {
    folder: PathBuf,
    stem: String,
    count: u64,
    /// The number of the given one, from 1.
    given: u64,
}

impl Names {
    fn of(path: &Path, count: u64) -> Result<Names, IoError> {
        let wrong = || {
            let found = path.file_name().unwrap_or_default().display().to_string();
            let expected =
                "a name that ends in -00001-of-00002.gguf, with the shard's number and their count";
            Place::file(path).malformed("name of a shard", expected, found)
        };
        let parse = || {
            let name = path.file_name()?.to_str()?.strip_suffix(".gguf")?;
            let (rest, total) = name.rsplit_once("-of-")?;
            let (stem, number) = rest.rsplit_once('-')?;
            let digits = |text: &str| text.len() >= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
            if !digits(total) || !digits(number) || total.parse() != Ok(count) {
                return None;
            }
            Some((stem.to_owned(), number.parse().ok().filter(|number| (1..=count).contains(number))?))
        };
        let (stem, given) = parse().ok_or_else(wrong)?;
        Ok(Names { folder: path.parent().unwrap_or(Path::new("")).to_owned(), stem, count, given })
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{}-{number:05}-of-{:05}.gguf", self.stem, self.count))
    }
}
