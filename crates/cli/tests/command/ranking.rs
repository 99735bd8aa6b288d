//! The largest values of rows, with and without names.

use crate::model::{FLOAT, identity};
use crate::{Folder, MODEL, printed, refused};

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
