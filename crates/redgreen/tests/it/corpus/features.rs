//! Made from the `.steps` files; `every_feature_is_a_test` says how.

feature! { honest_go_golden_golden_recorded_in_green, "honest/go/golden", "golden-recorded-in-green" }
session! { session_honest_go_golden_golden_recorded_in_green, "honest/go/golden", "golden-recorded-in-green", ignored }
feature! { honest_go_golden_golden_read_first, "honest/go/golden", "golden-read-first" }
feature! { honest_go_golden_embed, "honest/go/golden", "embed", ignored }
feature! { honest_go_kit_undefined, "honest/go/kit", "undefined" }
session! { session_honest_go_kit_undefined, "honest/go/kit", "undefined", ignored }
feature! { honest_go_kit_panicking_stub, "honest/go/kit", "panicking-stub" }
feature! { honest_go_kit_zero_stub, "honest/go/kit", "zero-stub", ignored }
feature! { honest_go_kit_signature_grows, "honest/go/kit", "signature-grows", ignored }
feature! { honest_go_kit_bugfix_panics, "honest/go/kit", "bugfix-panics", ignored }
feature! { honest_go_packages_new_package, "honest/go/packages", "new-package" }
session! { session_honest_go_packages_new_package, "honest/go/packages", "new-package", ignored }
feature! { honest_go_packages_example_output, "honest/go/packages", "example-output" }
feature! { honest_go_packages_fuzz_seeds, "honest/go/packages", "fuzz-seeds", ignored }
feature! { honest_go_packages_testmain, "honest/go/packages", "testmain", ignored }
feature! { honest_go_packages_skip_short_and_extra, "honest/go/packages", "skip-short-and-extra", ignored }
feature! { honest_go_packages_refactor_moves, "honest/go/packages", "refactor-moves", ignored }
feature! { honest_node_corners_commonjs, "honest/node/corners", "commonjs" }
session! { session_honest_node_corners_commonjs, "honest/node/corners", "commonjs", ignored }
feature! { honest_node_corners_title_from_variable, "honest/node/corners", "title-from-variable" }
feature! { honest_node_corners_subtests_and_mock_timers, "honest/node/corners", "subtests-and-mock-timers", ignored }
feature! { honest_node_corners_json_fixture, "honest/node/corners", "json-fixture", ignored }
feature! { honest_node_corners_table_in_describe, "honest/node/corners", "table-in-describe", ignored }
feature! { honest_node_corners_program_and_module, "honest/node/corners", "program-and-module", ignored }
feature! { honest_node_corners_environment, "honest/node/corners", "environment", ignored }
feature! { honest_node_corners_files, "honest/node/corners", "files", ignored }
feature! { honest_python_bare_change, "honest/python/bare", "change" }
session! { session_honest_python_bare_change, "honest/python/bare", "change", ignored }
feature! { honest_python_bare_refusal, "honest/python/bare", "refusal" }
feature! { honest_python_corners_fixture_data_file, "honest/python/corners", "fixture-data-file" }
session! { session_honest_python_corners_fixture_data_file, "honest/python/corners", "fixture-data-file", ignored }
squash! { squashed_honest_python_corners_fixture_data_file, "honest/python/corners", "fixture-data-file", ignored }
feature! { honest_python_corners_cli_subprocess_test, "honest/python/corners", "cli-subprocess-test" }
feature! { honest_python_corners_constant_added, "honest/python/corners", "constant-added", ignored }
feature! { honest_python_corners_protocol_abc_and_error_type, "honest/python/corners", "protocol-abc-and-error-type", ignored }
feature! { honest_python_corners_refactor_extract_module, "honest/python/corners", "refactor-extract-module", ignored }
feature! { honest_python_corners_constant_of_a_module, "honest/python/corners", "constant-of-a-module", ignored }
feature! { honest_python_corners_state_that_tests_share, "honest/python/corners", "state-that-tests-share", ignored }
feature! { honest_python_corners_module_that_finds_itself, "honest/python/corners", "module-that-finds-itself", ignored }
feature! { honest_python_corners_what_is_there, "honest/python/corners", "what-is-there", ignored }
feature! { honest_python_fixtures_price, "honest/python/fixtures", "price" }
session! { session_honest_python_fixtures_price, "honest/python/fixtures", "price", ignored }
squash! { squashed_honest_python_fixtures_price, "honest/python/fixtures", "price", ignored }
feature! { honest_python_fixtures_repr, "honest/python/fixtures", "repr" }
feature! { honest_python_ledger_invoice_in_a_folder, "honest/python/ledger", "invoice in a folder" }
session! { session_honest_python_ledger_invoice_in_a_folder, "honest/python/ledger", "invoice in a folder", ignored }
squash! { squashed_honest_python_ledger_invoice_in_a_folder, "honest/python/ledger", "invoice in a folder", ignored }
feature! { honest_python_ledger_status, "honest/python/ledger", "status" }
feature! { honest_python_library_index, "honest/python/library", "index" }
session! { session_honest_python_library_index, "honest/python/library", "index", ignored }
feature! { honest_python_library_command, "honest/python/library", "command" }
feature! { honest_python_mocks_ring, "honest/python/mocks", "ring" }
session! { session_honest_python_mocks_ring, "honest/python/mocks", "ring", ignored }
feature! { honest_python_parcel_postage, "honest/python/parcel", "postage" }
session! { session_honest_python_parcel_postage, "honest/python/parcel", "postage", ignored }
squash! { squashed_honest_python_parcel_postage, "honest/python/parcel", "postage", ignored }
feature! { honest_python_parcel_shared_items, "honest/python/parcel", "shared items" }
feature! { honest_python_parcel_heavier_items, "honest/python/parcel", "heavier items", ignored }
feature! { honest_python_parcel_sum_of_weights, "honest/python/parcel", "sum of weights", ignored }
feature! { honest_python_parcel_fetched_rates, "honest/python/parcel", "fetched rates", ignored }
feature! { honest_python_parcel_tracking, "honest/python/parcel", "tracking", ignored }
feature! { honest_python_parcel_words_by_pattern, "honest/python/parcel", "words by pattern", ignored }
feature! { honest_python_parcel_better_name, "honest/python/parcel", "better name", ignored }
feature! { honest_python_parcel_round_trip, "honest/python/parcel", "round trip", ignored }
feature! { honest_python_plain_pop, "honest/python/plain", "pop" }
session! { session_honest_python_plain_pop, "honest/python/plain", "pop" }
squash! { squashed_honest_python_plain_pop, "honest/python/plain", "pop" }
feature! { honest_python_plain_length_and_truth, "honest/python/plain", "length and truth" }
feature! { honest_python_prepared_price, "honest/python/prepared", "price" }
session! { session_honest_python_prepared_price, "honest/python/prepared", "price", ignored }
squash! { squashed_honest_python_prepared_price, "honest/python/prepared", "price", ignored }
feature! { honest_python_shop_equal_money, "honest/python/shop", "equal money" }
session! { session_honest_python_shop_equal_money, "honest/python/shop", "equal money", ignored }
feature! { honest_python_shop_without_old_rounding, "honest/python/shop", "without old rounding" }
feature! { honest_python_shop_basket, "honest/python/shop", "basket", ignored }
feature! { honest_python_shop_discount, "honest/python/shop", "discount", ignored }
feature! { honest_python_shop_checkout, "honest/python/shop", "checkout", ignored }
feature! { honest_python_shop_opening_hours, "honest/python/shop", "opening hours", ignored }
feature! { honest_python_shop_stock, "honest/python/shop", "stock", ignored }
feature! { honest_python_shop_countries, "honest/python/shop", "countries", ignored }
feature! { honest_python_shop_order_numbers, "honest/python/shop", "order numbers", ignored }
feature! { honest_python_shop_log, "honest/python/shop", "log", ignored }
feature! { honest_python_shop_retry, "honest/python/shop", "retry", ignored }
feature! { honest_python_state_two_answers, "honest/python/state", "two answers" }
session! { session_honest_python_state_two_answers, "honest/python/state", "two answers", ignored }
squash! { squashed_honest_python_state_two_answers, "honest/python/state", "two answers", ignored }
feature! { honest_python_state_kept_answers, "honest/python/state", "kept answers" }
feature! { honest_python_state_rows_of_a_set, "honest/python/state", "rows of a set", ignored }
feature! { honest_python_textkit_slug, "honest/python/textkit", "slug" }
session! { session_honest_python_textkit_slug, "honest/python/textkit", "slug", ignored }
feature! { honest_python_textkit_slug_of_other_alphabets, "honest/python/textkit", "slug of other alphabets" }
feature! { honest_python_textkit_longest_words, "honest/python/textkit", "longest words", ignored }
feature! { honest_python_textkit_known_words, "honest/python/textkit", "known words", ignored }
feature! { honest_python_textkit_settings_file, "honest/python/textkit", "settings file", ignored }
feature! { honest_python_textkit_language_of_the_environment, "honest/python/textkit", "language of the environment", ignored }
feature! { honest_python_textkit_chunks, "honest/python/textkit", "chunks", ignored }
feature! { honest_python_textkit_doctest_first, "honest/python/textkit", "doctest first", ignored }
feature! { honest_python_textkit_capitals_bug, "honest/python/textkit", "capitals bug", ignored }
feature! { honest_python_textkit_shouting_changed, "honest/python/textkit", "shouting changed", ignored }
feature! { honest_python_textkit_command_line, "honest/python/textkit", "command line", ignored }
feature! { honest_python_textkit_table_report, "honest/python/textkit", "table report", ignored }
feature! { honest_python_textkit_moved_words, "honest/python/textkit", "moved words", ignored }
feature! { honest_python_textkit_syllables, "honest/python/textkit", "syllables", ignored }
feature! { honest_python_textkit_vowels_beyond_ascii, "honest/python/textkit", "vowels beyond ascii", ignored }
feature! { honest_python_textkit_whispering, "honest/python/textkit", "whispering", ignored }
feature! { honest_python_waiting_slow, "honest/python/waiting", "slow" }
session! { session_honest_python_waiting_slow, "honest/python/waiting", "slow", ignored }
feature! { honest_python_waiting_slow_beside_stub, "honest/python/waiting", "slow-beside-stub" }
feature! { honest_python_waiting_golden_first, "honest/python/waiting", "golden-first", ignored }
feature! { honest_python_waiting_golden_first_stub, "honest/python/waiting", "golden-first-stub", ignored }
feature! { honest_rust_clock_noon, "honest/rust/clock", "noon" }
session! { session_honest_rust_clock_noon, "honest/rust/clock", "noon", ignored }
feature! { honest_rust_clock_greeting, "honest/rust/clock", "greeting" }
feature! { honest_rust_clock_zones, "honest/rust/clock", "zones", ignored }
feature! { honest_rust_clock_alarm, "honest/rust/clock", "alarm", ignored }
feature! { honest_rust_clock_language, "honest/rust/clock", "language", ignored }
feature! { honest_rust_corners_macro_rules, "honest/rust/corners", "macro-rules" }
session! { session_honest_rust_corners_macro_rules, "honest/rust/corners", "macro-rules", ignored }
feature! { honest_rust_corners_red_stub_todo, "honest/rust/corners", "red-stub-todo" }
feature! { honest_rust_corners_iterator_impl, "honest/rust/corners", "iterator-impl", ignored }
feature! { honest_rust_corners_generic_trait_mock, "honest/rust/corners", "generic-trait-mock", ignored }
feature! { honest_rust_corners_places, "honest/rust/corners", "places", ignored }
feature! { honest_rust_examples_example_reworded, "honest/rust/examples", "example-reworded" }
session! { session_honest_rust_examples_example_reworded, "honest/rust/examples", "example-reworded", ignored }
feature! { honest_rust_examples_example_renamed, "honest/rust/examples", "example-renamed" }
feature! { honest_rust_golden_golden_stub_read_first, "honest/rust/golden", "golden-stub-read-first" }
session! { session_honest_rust_golden_golden_stub_read_first, "honest/rust/golden", "golden-stub-read-first", ignored }
feature! { honest_rust_golden_bug_golden_read_first, "honest/rust/golden", "bug-golden-read-first" }
feature! { honest_rust_money_equality, "honest/rust/money", "equality" }
session! { session_honest_rust_money_equality, "honest/rust/money", "equality", ignored }
feature! { honest_rust_money_table_of_shares, "honest/rust/money", "table of shares" }
feature! { honest_rust_money_checked_shares, "honest/rust/money", "checked shares", ignored }
feature! { honest_rust_money_tests_of_their_own, "honest/rust/money", "tests of their own", ignored }
feature! { honest_rust_money_wallet, "honest/rust/money", "wallet", ignored }
feature! { honest_rust_money_sums, "honest/rust/money", "sums", ignored }
feature! { honest_rust_money_currencies, "honest/rust/money", "currencies", ignored }
feature! { honest_rust_money_better_name, "honest/rust/money", "better name", ignored }
feature! { honest_rust_money_round_trip, "honest/rust/money", "round trip", ignored }
feature! { honest_rust_panics_should_panic, "honest/rust/panics", "should-panic" }
session! { session_honest_rust_panics_should_panic, "honest/rust/panics", "should-panic", ignored }
feature! { honest_rust_panics_should_panic_otherwise, "honest/rust/panics", "should-panic-otherwise" }
feature! { honest_rust_queue_priorities, "honest/rust/queue", "priorities" }
session! { session_honest_rust_queue_priorities, "honest/rust/queue", "priorities", ignored }
feature! { honest_rust_queue_urgent_first, "honest/rust/queue", "urgent first" }
feature! { honest_rust_queue_waiting, "honest/rust/queue", "waiting", ignored }
feature! { honest_rust_queue_report, "honest/rust/queue", "report", ignored }
feature! { honest_rust_queue_numbers, "honest/rust/queue", "numbers", ignored }
feature! { honest_rust_queue_limits, "honest/rust/queue", "limits", ignored }
feature! { honest_rust_shapes_area, "honest/rust/shapes", "area" }
session! { session_honest_rust_shapes_area, "honest/rust/shapes", "area", ignored }
feature! { honest_rust_shapes_without_legacy, "honest/rust/shapes", "without legacy" }
feature! { honest_rust_shapes_square, "honest/rust/shapes", "square", ignored }
feature! { honest_rust_shapes_parsing, "honest/rust/shapes", "parsing", ignored }
feature! { honest_rust_shapes_spiral, "honest/rust/shapes", "spiral", ignored }
feature! { honest_rust_shapes_macro, "honest/rust/shapes", "macro", ignored }
feature! { honest_rust_shapes_random_squares, "honest/rust/shapes", "random squares", ignored }
feature! { honest_rust_wordkit_slug, "honest/rust/wordkit", "slug" }
session! { session_honest_rust_wordkit_slug, "honest/rust/wordkit", "slug", ignored }
feature! { honest_rust_wordkit_palindrome, "honest/rust/wordkit", "palindrome" }
feature! { honest_rust_wordkit_counting, "honest/rust/wordkit", "counting", ignored }
feature! { honest_rust_wordkit_shared_documentation, "honest/rust/wordkit", "shared documentation", ignored }
feature! { honest_rust_wordkit_hyphens, "honest/rust/wordkit", "hyphens", ignored }
feature! { honest_rust_wordkit_louder, "honest/rust/wordkit", "louder", ignored }
feature! { honest_rust_wordkit_whispering, "honest/rust/wordkit", "whispering", ignored }
feature! { honest_rust_workspace_limit, "honest/rust/workspace", "limit" }
session! { session_honest_rust_workspace_limit, "honest/rust/workspace", "limit", ignored }
feature! { honest_rust_workspace_in_file, "honest/rust/workspace", "in-file" }
feature! { honest_typescript_bank_deposit, "honest/typescript/bank", "deposit" }
session! { session_honest_typescript_bank_deposit, "honest/typescript/bank", "deposit", ignored }
feature! { honest_typescript_bank_interest, "honest/typescript/bank", "interest" }
feature! { honest_typescript_bank_iban, "honest/typescript/bank", "iban", ignored }
feature! { honest_typescript_bank_currencies, "honest/typescript/bank", "currencies", ignored }
feature! { honest_typescript_bank_result, "honest/typescript/bank", "result", ignored }
feature! { honest_typescript_bank_history, "honest/typescript/bank", "history", ignored }
feature! { honest_typescript_bank_transfer, "honest/typescript/bank", "transfer", ignored }
feature! { honest_typescript_bank_rates, "honest/typescript/bank", "rates", ignored }
feature! { honest_typescript_bank_limits, "honest/typescript/bank", "limits", ignored }
feature! { honest_typescript_bank_exchange, "honest/typescript/bank", "exchange", ignored }
feature! { honest_typescript_board_slug, "honest/typescript/board", "slug" }
session! { session_honest_typescript_board_slug, "honest/typescript/board", "slug", ignored }
feature! { honest_typescript_board_slug_of_other_alphabets, "honest/typescript/board", "slug of other alphabets" }
feature! { honest_typescript_board_card, "honest/typescript/board", "card", ignored }
feature! { honest_typescript_board_equal_cards, "honest/typescript/board", "equal cards", ignored }
feature! { honest_typescript_board_column, "honest/typescript/board", "column", ignored }
feature! { honest_typescript_board_storage, "honest/typescript/board", "storage", ignored }
feature! { honest_typescript_board_reminder, "honest/typescript/board", "reminder", ignored }
feature! { honest_typescript_board_page, "honest/typescript/board", "page", ignored }
feature! { honest_typescript_board_hyphens, "honest/typescript/board", "hyphens", ignored }
feature! { honest_typescript_board_louder, "honest/typescript/board", "louder", ignored }
feature! { honest_typescript_board_moved_text, "honest/typescript/board", "moved text", ignored }
feature! { honest_typescript_board_moved_tests, "honest/typescript/board", "moved tests", ignored }
feature! { honest_typescript_corners_describe_each_fake_timers, "honest/typescript/corners", "describe-each-fake-timers" }
session! { session_honest_typescript_corners_describe_each_fake_timers, "honest/typescript/corners", "describe-each-fake-timers", ignored }
feature! { honest_typescript_corners_refactor_extract_and_rename_in_tests, "honest/typescript/corners", "refactor-extract-and-rename-in-tests" }
feature! { honest_typescript_corners_discriminated_union, "honest/typescript/corners", "discriminated-union", ignored }
feature! { honest_typescript_corners_vi_mock_collaborator, "honest/typescript/corners", "vi-mock-collaborator", ignored }
feature! { honest_typescript_corners_counted_assertions, "honest/typescript/corners", "counted-assertions", ignored }
feature! { honest_typescript_shell_counting_words, "honest/typescript/shell", "counting words" }
session! { session_honest_typescript_shell_counting_words, "honest/typescript/shell", "counting words", ignored }
feature! { honest_typescript_shell_program, "honest/typescript/shell", "program" }
feature! { honest_typescript_shell_greeting_by_number, "honest/typescript/shell", "greeting by number", ignored }
feature! { honest_typescript_timers_reverse_polish, "honest/typescript/timers", "reverse polish" }
session! { session_honest_typescript_timers_reverse_polish, "honest/typescript/timers", "reverse polish", ignored }
feature! { honest_typescript_timers_debounce, "honest/typescript/timers", "debounce" }
feature! { honest_typescript_timers_retry, "honest/typescript/timers", "retry", ignored }
feature! { honest_typescript_timers_own_keys, "honest/typescript/timers", "own keys", ignored }
feature! { honest_typescript_timers_better_name, "honest/typescript/timers", "better name", ignored }
feature! { honest_typescript_timers_round_trip, "honest/typescript/timers", "round trip", ignored }
feature! { cheats_go_kit_wrong_reasons, "cheats/go/kit", "wrong-reasons" }
session! { session_cheats_go_kit_wrong_reasons, "cheats/go/kit", "wrong-reasons", ignored }
squash! { squashed_cheats_go_kit_wrong_reasons, "cheats/go/kit", "wrong-reasons", ignored }
feature! { cheats_go_kit_roman, "cheats/go/kit", "roman" }
session! { session_cheats_go_kit_roman, "cheats/go/kit", "roman", ignored }
squash! { squashed_cheats_go_kit_roman, "cheats/go/kit", "roman", ignored }
feature! { cheats_go_kit_late, "cheats/go/kit", "late", ignored }
session! { session_cheats_go_kit_late, "cheats/go/kit", "late", ignored }
squash! { squashed_cheats_go_kit_late, "cheats/go/kit", "late", ignored }
feature! { cheats_go_state_who_asks, "cheats/go/state", "who asks" }
session! { session_cheats_go_state_who_asks, "cheats/go/state", "who asks", ignored }
squash! { squashed_cheats_go_state_who_asks, "cheats/go/state", "who asks", ignored }
feature! { cheats_go_state_exits, "cheats/go/state", "exits" }
session! { session_cheats_go_state_exits, "cheats/go/state", "exits", ignored }
squash! { squashed_cheats_go_state_exits, "cheats/go/state", "exits", ignored }
feature! { cheats_go_state_toggles, "cheats/go/state", "toggles", ignored }
session! { session_cheats_go_state_toggles, "cheats/go/state", "toggles", ignored }
squash! { squashed_cheats_go_state_toggles, "cheats/go/state", "toggles", ignored }
feature! { cheats_node_calls_account, "cheats/node/calls", "account" }
session! { session_cheats_node_calls_account, "cheats/node/calls", "account", ignored }
squash! { squashed_cheats_node_calls_account, "cheats/node/calls", "account", ignored }
feature! { cheats_node_calls_rank, "cheats/node/calls", "rank" }
session! { session_cheats_node_calls_rank, "cheats/node/calls", "rank", ignored }
squash! { squashed_cheats_node_calls_rank, "cheats/node/calls", "rank", ignored }
feature! { cheats_node_calls_total, "cheats/node/calls", "total", ignored }
session! { session_cheats_node_calls_total, "cheats/node/calls", "total", ignored }
squash! { squashed_cheats_node_calls_total, "cheats/node/calls", "total", ignored }
feature! { cheats_node_kit_wrong_reasons, "cheats/node/kit", "wrong-reasons" }
session! { session_cheats_node_kit_wrong_reasons, "cheats/node/kit", "wrong-reasons" }
squash! { squashed_cheats_node_kit_wrong_reasons, "cheats/node/kit", "wrong-reasons", ignored }
feature! { cheats_node_kit_wrap, "cheats/node/kit", "wrap" }
session! { session_cheats_node_kit_wrap, "cheats/node/kit", "wrap", ignored }
squash! { squashed_cheats_node_kit_wrap, "cheats/node/kit", "wrap" }
feature! { cheats_node_kit_initials, "cheats/node/kit", "initials", ignored }
session! { session_cheats_node_kit_initials, "cheats/node/kit", "initials", ignored }
squash! { squashed_cheats_node_kit_initials, "cheats/node/kit", "initials", ignored }
feature! { cheats_node_kit_money, "cheats/node/kit", "money", ignored }
session! { session_cheats_node_kit_money, "cheats/node/kit", "money", ignored }
squash! { squashed_cheats_node_kit_money, "cheats/node/kit", "money", ignored }
feature! { cheats_node_language_json, "cheats/node/language", "json" }
session! { session_cheats_node_language_json, "cheats/node/language", "json", ignored }
squash! { squashed_cheats_node_language_json, "cheats/node/language", "json", ignored }
feature! { cheats_node_language_fixture, "cheats/node/language", "fixture" }
session! { session_cheats_node_language_fixture, "cheats/node/language", "fixture", ignored }
squash! { squashed_cheats_node_language_fixture, "cheats/node/language", "fixture", ignored }
feature! { cheats_node_oracle_helper, "cheats/node/oracle", "helper" }
session! { session_cheats_node_oracle_helper, "cheats/node/oracle", "helper", ignored }
squash! { squashed_cheats_node_oracle_helper, "cheats/node/oracle", "helper", ignored }
feature! { cheats_node_oracle_table, "cheats/node/oracle", "table" }
session! { session_cheats_node_oracle_table, "cheats/node/oracle", "table", ignored }
squash! { squashed_cheats_node_oracle_table, "cheats/node/oracle", "table", ignored }
feature! { cheats_node_state_exits, "cheats/node/state", "exits" }
session! { session_cheats_node_state_exits, "cheats/node/state", "exits", ignored }
squash! { squashed_cheats_node_state_exits, "cheats/node/state", "exits", ignored }
feature! { cheats_node_state_toggles, "cheats/node/state", "toggles" }
session! { session_cheats_node_state_toggles, "cheats/node/state", "toggles", ignored }
squash! { squashed_cheats_node_state_toggles, "cheats/node/state", "toggles", ignored }
feature! { cheats_python_bodies_retry, "cheats/python/bodies", "retry" }
session! { session_cheats_python_bodies_retry, "cheats/python/bodies", "retry", ignored }
squash! { squashed_cheats_python_bodies_retry, "cheats/python/bodies", "retry", ignored }
feature! { cheats_python_bodies_command, "cheats/python/bodies", "command" }
session! { session_cheats_python_bodies_command, "cheats/python/bodies", "command", ignored }
squash! { squashed_cheats_python_bodies_command, "cheats/python/bodies", "command", ignored }
feature! { cheats_python_calls_account, "cheats/python/calls", "account" }
session! { session_cheats_python_calls_account, "cheats/python/calls", "account", ignored }
squash! { squashed_cheats_python_calls_account, "cheats/python/calls", "account", ignored }
feature! { cheats_python_calls_rank, "cheats/python/calls", "rank" }
session! { session_cheats_python_calls_rank, "cheats/python/calls", "rank", ignored }
squash! { squashed_cheats_python_calls_rank, "cheats/python/calls", "rank", ignored }
feature! { cheats_python_equality_money, "cheats/python/equality", "money" }
session! { session_cheats_python_equality_money, "cheats/python/equality", "money", ignored }
squash! { squashed_cheats_python_equality_money, "cheats/python/equality", "money", ignored }
feature! { cheats_python_equality_conf, "cheats/python/equality", "conf" }
session! { session_cheats_python_equality_conf, "cheats/python/equality", "conf", ignored }
squash! { squashed_cheats_python_equality_conf, "cheats/python/equality", "conf", ignored }
feature! { cheats_python_equality_prices, "cheats/python/equality", "prices", ignored }
session! { session_cheats_python_equality_prices, "cheats/python/equality", "prices", ignored }
squash! { squashed_cheats_python_equality_prices, "cheats/python/equality", "prices", ignored }
feature! { cheats_python_kit_wrong_reasons, "cheats/python/kit", "wrong-reasons" }
session! { session_cheats_python_kit_wrong_reasons, "cheats/python/kit", "wrong-reasons" }
squash! { squashed_cheats_python_kit_wrong_reasons, "cheats/python/kit", "wrong-reasons", ignored }
feature! { cheats_python_kit_wrap, "cheats/python/kit", "wrap" }
session! { session_cheats_python_kit_wrap, "cheats/python/kit", "wrap", ignored }
squash! { squashed_cheats_python_kit_wrap, "cheats/python/kit", "wrap" }
feature! { cheats_python_kit_initials, "cheats/python/kit", "initials", ignored }
session! { session_cheats_python_kit_initials, "cheats/python/kit", "initials", ignored }
squash! { squashed_cheats_python_kit_initials, "cheats/python/kit", "initials", ignored }
feature! { cheats_python_language_isclose, "cheats/python/language", "isclose" }
session! { session_cheats_python_language_isclose, "cheats/python/language", "isclose", ignored }
squash! { squashed_cheats_python_language_isclose, "cheats/python/language", "isclose", ignored }
feature! { cheats_python_language_hook, "cheats/python/language", "hook" }
session! { session_cheats_python_language_hook, "cheats/python/language", "hook", ignored }
squash! { squashed_cheats_python_language_hook, "cheats/python/language", "hook", ignored }
feature! { cheats_python_memory_remembers, "cheats/python/memory", "remembers" }
session! { session_cheats_python_memory_remembers, "cheats/python/memory", "remembers", ignored }
squash! { squashed_cheats_python_memory_remembers, "cheats/python/memory", "remembers", ignored }
feature! { cheats_python_memory_caches, "cheats/python/memory", "caches" }
session! { session_cheats_python_memory_caches, "cheats/python/memory", "caches", ignored }
squash! { squashed_cheats_python_memory_caches, "cheats/python/memory", "caches", ignored }
feature! { cheats_python_numbers_comparisons, "cheats/python/numbers", "comparisons" }
session! { session_cheats_python_numbers_comparisons, "cheats/python/numbers", "comparisons", ignored }
squash! { squashed_cheats_python_numbers_comparisons, "cheats/python/numbers", "comparisons", ignored }
feature! { cheats_python_numbers_parity, "cheats/python/numbers", "parity" }
session! { session_cheats_python_numbers_parity, "cheats/python/numbers", "parity", ignored }
squash! { squashed_cheats_python_numbers_parity, "cheats/python/numbers", "parity", ignored }
feature! { cheats_python_oracle_helper, "cheats/python/oracle", "helper" }
session! { session_cheats_python_oracle_helper, "cheats/python/oracle", "helper", ignored }
squash! { squashed_cheats_python_oracle_helper, "cheats/python/oracle", "helper", ignored }
feature! { cheats_python_oracle_table, "cheats/python/oracle", "table" }
session! { session_cheats_python_oracle_table, "cheats/python/oracle", "table", ignored }
squash! { squashed_cheats_python_oracle_table, "cheats/python/oracle", "table", ignored }
feature! { cheats_python_state_exits, "cheats/python/state", "exits" }
session! { session_cheats_python_state_exits, "cheats/python/state", "exits", ignored }
squash! { squashed_cheats_python_state_exits, "cheats/python/state", "exits", ignored }
feature! { cheats_python_state_toggles, "cheats/python/state", "toggles" }
session! { session_cheats_python_state_toggles, "cheats/python/state", "toggles", ignored }
squash! { squashed_cheats_python_state_toggles, "cheats/python/state", "toggles", ignored }
feature! { cheats_python_state_toggle_in_one_test, "cheats/python/state", "toggle in one test", ignored }
session! { session_cheats_python_state_toggle_in_one_test, "cheats/python/state", "toggle in one test", ignored }
squash! { squashed_cheats_python_state_toggle_in_one_test, "cheats/python/state", "toggle in one test", ignored }
feature! { cheats_python_state_answers_in_a_row, "cheats/python/state", "answers in a row", ignored }
session! { session_cheats_python_state_answers_in_a_row, "cheats/python/state", "answers in a row", ignored }
squash! { squashed_cheats_python_state_answers_in_a_row, "cheats/python/state", "answers in a row", ignored }
feature! { cheats_rust_examples_weakened_example, "cheats/rust/examples", "weakened-example" }
session! { session_cheats_rust_examples_weakened_example, "cheats/rust/examples", "weakened-example", ignored }
squash! { squashed_cheats_rust_examples_weakened_example, "cheats/rust/examples", "weakened-example", ignored }
feature! { cheats_rust_examples_renamed_and_broken, "cheats/rust/examples", "renamed-and-broken" }
session! { session_cheats_rust_examples_renamed_and_broken, "cheats/rust/examples", "renamed-and-broken", ignored }
squash! { squashed_cheats_rust_examples_renamed_and_broken, "cheats/rust/examples", "renamed-and-broken", ignored }
feature! { cheats_rust_kit_wrong_reasons, "cheats/rust/kit", "wrong-reasons" }
session! { session_cheats_rust_kit_wrong_reasons, "cheats/rust/kit", "wrong-reasons", ignored }
squash! { squashed_cheats_rust_kit_wrong_reasons, "cheats/rust/kit", "wrong-reasons", ignored }
feature! { cheats_rust_kit_wrap, "cheats/rust/kit", "wrap" }
session! { session_cheats_rust_kit_wrap, "cheats/rust/kit", "wrap", ignored }
squash! { squashed_cheats_rust_kit_wrap, "cheats/rust/kit", "wrap", ignored }
feature! { cheats_rust_kit_money, "cheats/rust/kit", "money", ignored }
session! { session_cheats_rust_kit_money, "cheats/rust/kit", "money", ignored }
squash! { squashed_cheats_rust_kit_money, "cheats/rust/kit", "money", ignored }
feature! { cheats_rust_state_who_asks, "cheats/rust/state", "who asks" }
session! { session_cheats_rust_state_who_asks, "cheats/rust/state", "who asks", ignored }
squash! { squashed_cheats_rust_state_who_asks, "cheats/rust/state", "who asks", ignored }
feature! { cheats_rust_state_exits, "cheats/rust/state", "exits" }
session! { session_cheats_rust_state_exits, "cheats/rust/state", "exits", ignored }
squash! { squashed_cheats_rust_state_exits, "cheats/rust/state", "exits", ignored }
feature! { cheats_rust_state_toggles, "cheats/rust/state", "toggles", ignored }
session! { session_cheats_rust_state_toggles, "cheats/rust/state", "toggles", ignored }
squash! { squashed_cheats_rust_state_toggles, "cheats/rust/state", "toggles", ignored }
feature! { cheats_typescript_kit_wrong_reasons, "cheats/typescript/kit", "wrong-reasons" }
session! { session_cheats_typescript_kit_wrong_reasons, "cheats/typescript/kit", "wrong-reasons", ignored }
squash! { squashed_cheats_typescript_kit_wrong_reasons, "cheats/typescript/kit", "wrong-reasons", ignored }
feature! { cheats_typescript_kit_wrap, "cheats/typescript/kit", "wrap" }
session! { session_cheats_typescript_kit_wrap, "cheats/typescript/kit", "wrap", ignored }
squash! { squashed_cheats_typescript_kit_wrap, "cheats/typescript/kit", "wrap", ignored }
