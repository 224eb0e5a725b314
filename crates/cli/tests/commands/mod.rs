//! The commands that need no server, as users call them: output, files and errors.

mod advice;
mod advising;
mod bad_input;
mod calibrating;
mod comparing;
mod drive_tests;
mod every_key;
mod explaining;
mod first_steps;
mod html;
mod html_for_all;
mod html_saving;
mod measured_trace;
mod page_in_browser;
mod pictures;
mod places;
mod probing;
mod real_drives;
mod report;
mod sizing;
mod studies;
mod torture;
mod waiting;
mod without_effect;
mod workload_input;
