//! What stands before the kata begins.

use roman::NUMERALS;

#[test]
fn the_largest_numeral_comes_first() {
    assert!(NUMERALS.windows(2).all(|pair| pair[0].1 > pair[1].1));
}
