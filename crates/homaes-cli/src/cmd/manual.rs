//! `homaes completions` and `homaes man`, from the definition of the command line.

use super::at;
use crate::args::{Args, Completions, Man};
use crate::console::{self, Failure};
use clap::{Command, CommandFactory};
use homaes::Output;
use std::fs;
use std::io::Write;

const NAME: &str = "homaes";

pub(crate) fn completions(args: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), NAME, &mut script);
    console::print(&String::from_utf8_lossy(&script))
}

pub(crate) fn man(args: &Man) -> Result<(), Failure> {
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    let Some(folder) = &args.out else {
        return console::print(&page(command)?);
    };
    fs::create_dir_all(folder).map_err(at(folder))?;
    let mut pages = Vec::new();
    collect(command, NAME.to_owned(), &mut pages);
    let mut written = Vec::new();
    for (name, command) in pages {
        let text = page(command)?;
        let path = folder.join(format!("{name}.1"));
        let mut output = Output::create(&path, args.force)?;
        output.write_all(text.as_bytes()).map_err(at(&path))?;
        written.push((output, path));
    }
    for (output, path) in written {
        output.commit()?;
        console::print_done(&path.display().to_string());
    }
    Ok(())
}

/// A command and its subcommands, with the names of their pages.
fn collect(command: Command, name: String, pages: &mut Vec<(String, Command)>) {
    for below in command.get_subcommands() {
        let name = format!("{name}-{}", below.get_name());
        collect(below.clone(), name, pages);
    }
    pages.push((name, command));
}

fn page(command: Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    let made = clap_mangen::Man::new(command).render(&mut page);
    made.map_err(|error| Failure::system("manual page", error))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
