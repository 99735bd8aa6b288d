//! The largest values of rows, with and without names.

use crate::model::{FLOAT, INT64, identity};
use crate::{Folder, MODEL, oneir, printed, refused};

#[test]
fn the_largest_of_each_row_are_named() {
    let folder = Folder::new("ranking");
    let model = identity(&folder, FLOAT, &[0, 3]);
    let labels = folder.file("labels.txt");
    std::fs::write(&labels, "cat\ndog\n").unwrap();
    let run = |flags: &[&str]| printed(&[&["run", &model, "--input", "[[1,3,2],[0,-1,-2]]"], flags].concat());
    assert_eq!(
        run(&["--top", "2", "--labels", &labels]),
        "y: f32[2, 3]\n  [0]\n      3.000000       1  dog\n      2.000000       2\n\
         \u{20} [1]\n      0.000000       0  cat\n     -1.000000       1  dog\n"
    );
    let all = run(&["--labels", &labels]);
    assert_eq!(all.lines().count(), 9, "{all}");
    // e³ / (e + e² + e³), and so on.
    let odds = run(&["--softmax", "--top", "1"]);
    assert_eq!(odds.matches("0.665241").count(), 2, "{odds}");
    std::fs::write(&labels, r#"{"id2label": {"1": "bird"}}"#).unwrap();
    let within = format!("{labels}#id2label");
    assert!(run(&["--top", "1", "--labels", &within]).contains("3.000000       1  bird\n"));
    std::fs::write(&labels, r#"{"1": "bird"}"#).unwrap();
    assert!(run(&["--top", "1", "--labels", &labels]).contains("3.000000       1  bird\n"));
}

#[test]
fn rows_are_read_as_text() {
    let folder = Folder::new("ctc");
    let model = identity(&folder, FLOAT, &[1, 0, 4]);
    // Places 1, 1, 0, 1, 3, 2 with the letters a and b that the file brings.
    let steps = "[[0,1,0,0],[0,1,0,0],[1,0,0,0],[0,1,0,0],[0,0,0,1],[0,0,1,0]]";
    let shown =
        printed(&["run", &model, "--input", &format!("[{steps}]"), "--labels", "metadata:letters", "--ctc"]);
    assert_eq!(shown, "y: f32[1, 6, 4]\n  aa b  (mean 1.000)\n");
}

#[test]
fn labels_that_are_none_are_refused() {
    let folder = Folder::new("labels");
    let model = identity(&folder, FLOAT, &[3]);
    let says = |labels: &str, part: &str| {
        let message = refused(&["run", &model, "--input", "1", "--labels", labels], 1);
        assert!(message.contains(part) && message.contains("help: "), "{message}");
    };
    says("no/such.txt", "no/such.txt: No such file");
    says(&folder.0.display().to_string(), "not a regular file");
    says("metadata:classes", "no such key; it has letters");
    let wrong = folder.file("wrong.json");
    std::fs::write(&wrong, r#"["a", 3]"#).unwrap();
    says(&wrong, "expected a list of names, found `3` at 1");
    for args in [&["--top", "0"][..], &["--ctc"], &["--ctc", "--labels", "x", "--top", "1"]] {
        refused(&[&["run", MODEL][..], args].concat(), 2);
    }
}

#[test]
fn labels_that_are_too_few_or_too_many_are_told() {
    let folder = Folder::new("counted");
    let labels = folder.file("labels.txt");
    let notes = |model: &str, input: &str, lines: &str, flags: &[&str]| {
        std::fs::write(&labels, lines).unwrap();
        let output = oneir(&[&["run", model, "--input", input, "--labels", &labels], flags].concat());
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let scores = identity(&folder, FLOAT, &[0, 3]);
    let row = "[[1,3,2]]";
    let few = notes(&scores, row, "cat\ndog\n", &[]);
    assert!(few.starts_with("note: ") && few.contains("names for 2 of the 3 places in rows of `y`"), "{few}");
    assert!(few.contains("place 2 is the first without") && few.lines().count() == 1, "{few}");
    assert!(notes(&scores, row, r#"{"1": "dog"}"#, &[]).contains("names for 1 of the 3 places"));
    assert_eq!(notes(&scores, row, "a\nb\nc\n", &[]), "");
    let many = notes(&scores, row, "a\nb\nc\nd\n", &[]);
    assert!(many.contains("names up to place 3, and rows have 3 places at most"), "{many}");
    assert_eq!(notes(&scores, row, "a\n", &["--quiet"]), "");
    let answers = identity(&folder, INT64, &[0]);
    assert_eq!(notes(&answers, "[0,1]", "a\nb\n", &[]), "");
    assert!(notes(&answers, "[0,2]", "a\nb\n", &[]).contains("no name for the answer 2 in `y`"));
    // Of a text: the blank, the letters, and a space.
    let letters = identity(&folder, FLOAT, &[1, 0, 4]);
    let steps = "[[[0,1,0,0],[0,0,1,0]]]";
    assert_eq!(notes(&letters, steps, "a\nb\n", &["--ctc"]), "");
    let short = notes(&letters, steps, "a\n", &["--ctc"]);
    assert!(short.contains("names for 1 of the 3 places in rows of `y`; place 2 is the first"), "{short}");
}
