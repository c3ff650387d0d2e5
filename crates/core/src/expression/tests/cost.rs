//! Hostile texts: they end quickly, within a small stack, and with a clear error.

use std::time::Duration;

use super::computing::compute;
use crate::expression::{EvaluationError, ExpressionErrorKind, parse_form};

/// Far more time than any case takes, even unoptimised on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Runs `work` with the stack size of a runtime's worker thread.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(work)
        .expect("a thread can be started")
        .join()
        .expect("the work does not panic");
}

/// Measures the duration of `work`.
#[expect(
    clippy::disallowed_methods,
    reason = "that it ends soon is what is tested"
)]
fn time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = std::time::Instant::now();
    let result = work();
    (result, start.elapsed())
}

fn check_too_costly(text: impl Into<String>) {
    let text = text.into();
    on_a_small_stack(move || {
        let (result, elapsed) = time(|| compute(&text));
        assert_eq!(
            result,
            Err(EvaluationError::TooCostly { limit: 1_000_000 }),
            "{text}"
        );
        assert!(elapsed < TIMEOUT, "{text}: {elapsed:?}");
    });
}

fn check_too_large(text: String) {
    on_a_small_stack(move || {
        let error = parse_form(&text).expect_err("it is too large");
        assert_eq!(
            error.kind,
            ExpressionErrorKind::TooLarge,
            "{}",
            error.message
        );
    });
}

#[test]
fn texts_that_grow() {
    let double = ".map(a, a + a)".repeat(40);
    check_too_costly(format!("['0123456789']{double}"));
    check_too_costly(format!("[[1, 2, 3]]{double}"));
    check_too_costly(format!("'ab'{}", ".replace('a', 'aaaaaaaaaab')".repeat(20)));
    check_too_costly(format!("[lists.range(1000)]{double}"));
    check_too_costly(format!(
        "'0123456789'{}",
        ".split('').map(x, '0123456789').join()".repeat(9)
    ));
}

#[test]
fn loops_in_loops() {
    let list = "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]";
    let loops = ["a", "b", "c", "d", "e", "f", "g", "h"]
        .map(|name| format!("{list}.all({name}, "))
        .concat();
    check_too_costly(format!("{loops}true{}", ")".repeat(8)));
    check_too_costly("lists.range(100000).all(a, lists.range(100000).exists(b, b < 0) == false)");
    check_too_costly("lists.range(10000).map(a, string(a)).distinct()");
    check_too_costly("lists.range(50000).map(a, lists.range(50000)[*])");
    check_too_costly("[lists.range(90000).map(a, [])].map(e, lists.range(90000).map(i, e[*][0]?))");
    check_too_costly("lists.range(5000).all(i, ('a' + string(i)).matches('a' + string(i)))");
    check_too_costly(
        "false && lists.range(100000).all(a, a >= 0 && a >= 0 && a >= 0) || lists.range(100000).all(a, a >= 0 && a >= 0 && a >= 0) ",
    );
}

#[test]
fn patterns() {
    let pattern = "a|".repeat(60);
    check_too_costly(format!(
        "lists.range(60000).map(i, 'aaaaaaaaaaaaaaaaa').join().matches('({pattern}a)*b')"
    ));
    let error = parse_form("a.matches('((a{100}){100}){100}')").expect_err("it is too large");
    assert_eq!(error.message, "the pattern is too large");
    assert!(
        parse_form(&format!(
            "a.matches('{}a{}')",
            "(".repeat(500),
            ")".repeat(500)
        ))
        .is_err()
    );
}

#[test]
fn deep_texts() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("size(", ")"),
        ("{'a': ", "}"),
        ("a[", "]"),
    ] {
        let max_depth = 31;
        let text = format!("{}1{}", open.repeat(max_depth), close.repeat(max_depth));
        on_a_small_stack(move || {
            parse_form(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        });
        check_too_large(format!("{}1{}", open.repeat(400), close.repeat(400)));
        check_too_large(open.repeat(400));
    }
    check_too_large("(".repeat(10_000));
    check_too_large("a ? ".repeat(500));
    check_too_large("a.map(x, ".repeat(100));
    check_too_large("x".repeat(4001));
    check_too_large("ä".repeat(4001));
}

#[test]
fn long_texts() {
    for text in [
        format!("a{}", ".b".repeat(1999)),
        format!("a{}", "[*]".repeat(1300)),
        format!("1{}", " + 1".repeat(999)),
        format!("true{}", " && true".repeat(499)),
        format!("{}1", "false ? 0 : ".repeat(333)),
        format!("'a'{}", ".trim()".repeat(569)),
        format!("{}true", "!".repeat(3996)),
        format!("{}a.n", "-".repeat(3996)),
        format!("a{}", " ?? a".repeat(799)),
        format!("[{}1]", "1, ".repeat(1332)),
        format!("1 == 1{}", " == true".repeat(499)),
    ] {
        on_a_small_stack(move || {
            // The expression may fail, but it must end.
            let (_, elapsed) = time(|| compute(&text));
            assert!(elapsed < TIMEOUT, "{text}");
        });
    }
    assert_eq!(
        compute(&format!("1{}", " + 1".repeat(999))),
        Ok(1000_i64.into())
    );
}

#[test]
fn a_small_loop_is_cheap() {
    assert_eq!(
        compute("lists.range(20000).filter(i, i % 2 == 0).map(i, i * 2).size() + 0"),
        Ok(10_000_i64.into())
    );
}
