//! Arrays of more than 2^31 and 2^32 elements: as views, which have few bytes, and, where
//! `ONEIR_LARGE` is set, as bytes of which there are that many (which takes 5 GB of memory
//! and half a minute).

use oneir_array::{Array, DType, SearchSide, clear_cache, eval};
use oneir_cpu as _;
use oneir_runtime::Runtime;

/// More places than u32 counts.
const MANY: usize = (1 << 32) + 5;

/// The numbers 10, 20, 30 in each of many rows.
fn rows() -> Array {
    Array::from_slice(&[10i32, 20, 30], &[3]).broadcast_to(&[MANY, 3])
}

fn ints(array: &Array) -> Vec<i32> {
    array.to_vec().unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn parts_of_many_rows() {
    let x = rows();
    assert_eq!((x.size(), x.shape().to_vec()), (3 * MANY, vec![MANY, 3]));
    assert_eq!(ints(&x.narrow(0, MANY - 2, 2)), [10, 20, 30, 10, 20, 30]);
    assert_eq!(ints(&x.index(-1)), [10, 20, 30]);
    assert_eq!(ints(&x.flip(..).narrow(0, MANY - 1, 1)), [30, 20, 10]);
    assert_eq!(ints(&x.strided_slice(&[MANY - 1, 2], &[-(1 << 32), -2], &[2, 2])), [30, 10, 30, 10]);
    assert_eq!(x.strided_slice(&[0, 0], &[3, 1], &[MANY / 3, 3]).shape(), [MANY / 3, 3]);
    assert_eq!(ints(&x.t().narrow(1, 1 << 31, 1)), [10, 20, 30]);
    assert_eq!(ints(&x.expand_dims(1).squeeze(1).narrow(0, MANY - 1, 1)), [10, 20, 30]);
}

#[test]
fn places_past_what_32_bits_count() {
    let x = rows();
    let far = Array::from_slice(&[0i64, 1 << 31, 1 << 32, MANY as i64 - 1, -(MANY as i64)], &[5]);
    assert_eq!(ints(&x.take(&far, 0)), [10, 20, 30].repeat(5));
    assert_eq!(
        ints(&x.take_along_axis(&far.expand_dims(1).broadcast_to(&[5, 3]), 0)),
        [10, 20, 30].repeat(5)
    );
    let start = Array::from_slice(&[MANY as i64 - 2, 1], &[2]);
    assert_eq!(ints(&x.slice(&start, [0, 1], &[2, 2])), [20, 30, 20, 30]);
    let counted = Array::arange((1i64 << 32) + 1..(1i64 << 32) + 4, DType::I64);
    assert_eq!(counted.to_vec::<i64>().unwrap(), [(1 << 32) + 1, (1 << 32) + 2, (1 << 32) + 3]);
    // Along the short axis of parts that lie far away.
    let part = x.narrow(0, MANY - 3, 3);
    assert_eq!(part.argmax(1, false).to_vec::<u32>().unwrap(), [2, 2, 2]);
    assert_eq!(ints(&part.sum(0, false)), [30, 60, 90]);
    assert_eq!(
        ints(&Array::concatenate(&[part, x.narrow(0, 1 << 31, 1)], 0).cumsum(0, true, true).index(0)),
        [40, 80, 120]
    );
}

#[test]
fn what_has_no_room_is_refused_and_the_process_goes_on() {
    let large =
        Array::ones(&[1], DType::F64).broadcast_to(&[1 << 44]) + Array::iota(&[1 << 44], 0, DType::F64);
    assert!(large.check().is_ok());
    let told = eval(&[large]).unwrap_err().to_string();
    assert!(told.contains("out of memory"), "{told}");
    assert_eq!(ints(&(rows().index(0) + 1)), [11, 21, 31]);
    for bad in [rows().reshape(&[-1, 7]), rows().narrow(0, MANY, 1)] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
    // Places are u32: a line that is longer has none for some of its elements.
    let line = Array::ones(&[1], DType::U8).broadcast_to(&[MANY]);
    let first = line.narrow(0, 0, 1);
    for places in [line.argmax(0, false), line.argsort(0), line.searchsorted(&first, SearchSide::Left)] {
        let told = places.check().unwrap_err().to_string();
        assert!(told.contains("2^32") || told.contains("u32"), "{told}");
    }
}

/// Bytes of which there are more than 2^31, zeros but for one past there.
#[test]
fn bytes_past_what_31_bits_count() {
    if std::env::var_os("ONEIR_LARGE").is_none() {
        eprintln!("skipped: ONEIR_LARGE asks for tests of gigabytes");
        return;
    }
    const COUNT: usize = (1 << 31) + 10;
    const PLACE: usize = (1 << 31) + 7;
    let one = Array::from_slice(&[7u8], &[1]);
    let x = Array::zeros(&[COUNT], DType::U8).strided_slice_update(&one, &[PLACE], &[1]);
    eval(std::slice::from_ref(&x)).unwrap();
    let byte = |a: Array| a.item::<u8>().unwrap();
    assert_eq!(byte(x.narrow(0, PLACE, 1)), 7);
    assert_eq!(byte(x.take(PLACE as i64, 0)), 7);
    assert_eq!(byte(x.take(-3, 0)), 7);
    assert_eq!(byte(x.index(PLACE as isize - 1)), 0);
    // Arithmetic, a turned copy, a join and a matrix of the same bytes, each looked at
    // around the place where the one must be. What a step took is given back before the
    // next one.
    let device = Runtime::global().default_device().unwrap();
    let step = |made: Array, place: usize, around: [u8; 3]| {
        eval(std::slice::from_ref(&made)).unwrap();
        assert_eq!(made.narrow(0, place - 1, 3).to_vec::<u8>().unwrap(), around);
        drop(made);
        clear_cache(&device);
    };
    step(&x + 1, PLACE, [1, 8, 1]);
    step(x.flip(0).contiguous(), COUNT - 1 - PLACE, [0, 7, 0]);
    step(Array::concatenate(&[x.narrow(0, 0, 5), x.clone()], 0), PLACE + 5, [0, 7, 0]);
    let square = x.narrow(0, COUNT - (1 << 31), 1 << 31).reshape(&[1 << 16, 1 << 15]);
    let at = PLACE - (COUNT - (1 << 31));
    let turned = (at % (1 << 15)) * (1 << 16) + at / (1 << 15);
    step(square.t().contiguous().reshape(&[-1]), turned, [0, 7, 0]);
}
