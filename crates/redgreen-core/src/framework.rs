//! (placeholder)
pub struct Framework {
    pub is_test_file: fn(&str) -> bool,
    pub is_runner_config: fn(&str) -> bool,
}
