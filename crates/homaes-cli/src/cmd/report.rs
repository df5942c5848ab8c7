//! `homaes report`: tables and pictures of measured runs.

use super::{at, refuse_own_input, write};
use crate::args::Report;
use crate::console::{self, Failure, fail, refuse};
use crate::table;
use homaes::{Error, Output};
use homaes_lab::{Lab, Machine, html, markdown, pictures};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Bytes; a run of a million batches has less.
const MAX_BYTES: u64 = 1 << 26;

pub(crate) fn run(args: &Report) -> Result<(), Failure> {
    let inputs: Vec<&Path> = args.input.iter().map(AsRef::as_ref).collect();
    let lab = lab(&inputs)?;
    let pictures = pictures(&lab).map_err(|error| Failure::system("pictures", error))?;
    let mut files = Vec::new();
    if let Some(out) = &args.out {
        files.push((out.clone(), html(&lab, &pictures)));
    }
    if let Some(folder) = &args.svg {
        let all = pictures.iter();
        files.extend(all.map(|picture| (folder.join(&picture.file), picture.on_white())));
    }
    if let Some(out) = &args.md {
        let folder = args.svg.as_deref().map(|folder| relative(out, folder));
        files.push((out.clone(), markdown(&lab, &pictures, folder.as_deref())));
    }
    if files.is_empty() && args.svg.is_none() {
        return console::print(&table::lab(&lab));
    }
    if let Some(folder) = &args.svg {
        fs::create_dir_all(folder).map_err(at(folder))?;
    }
    let outputs: Vec<Output> = files
        .iter()
        .map(|(path, _)| Output::create(path, args.force))
        .collect::<Result<_, Error>>()?;
    for (i, output) in outputs.iter().enumerate() {
        refuse_own_input(&files[i].0, &inputs)?;
        if outputs[..i].iter().any(|other| other.is_same(output)) {
            let path = files[i].0.display();
            return refuse(format!(
                "{path}: is the name of two outputs; choose another name for one"
            ));
        }
    }
    for (output, (path, text)) in outputs.into_iter().zip(&files) {
        write(output, text)?;
        console::print_done(&path.display().to_string());
    }
    Ok(())
}

/// All runs of the documents, each with its machine if known; the other fields come from the first `bench all`.
fn lab(paths: &[&Path]) -> Result<Lab, Failure> {
    let mut all = Lab::default();
    for path in paths {
        let mut lab = read_document(path)?;
        let machine = Some(&lab.machine).filter(|_| paths.len() > 1);
        let machine = machine.filter(|machine| **machine != Machine::default());
        for run in &mut lab.runs {
            run.machine = run.machine.take().or_else(|| machine.cloned());
        }
        all.runs.append(&mut lab.runs);
        all.skipped.append(&mut lab.skipped);
        if all.date.is_empty() {
            let Lab { runs, skipped, .. } = all;
            all = Lab {
                runs,
                skipped,
                ..lab
            };
        }
    }
    if all.version.is_empty() {
        all.version = env!("CARGO_PKG_VERSION").to_owned();
    }
    Ok(all)
}

fn relative(out: &Path, folder: &Path) -> String {
    let parent = out.parent().unwrap_or(Path::new(""));
    let folder = folder.strip_prefix(parent).unwrap_or(folder);
    folder.display().to_string().replace('\\', "/")
}

pub(crate) fn read_document(path: &Path) -> Result<Lab, Failure> {
    let name = path.display();
    let failed = |error| Failure::Work(format!("{name}: {error}; give a readable file"));
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    if read.map_err(failed)? as u64 > MAX_BYTES {
        return fail(format!(
            "{name}: more than {MAX_BYTES} bytes; give a document of 'homaes bench --json'"
        ));
    }
    homaes_lab::read(&bytes).map_err(|error| {
        Failure::Work(format!(
            "{name}: {error}; give an unchanged file that this version of 'homaes bench … --json' or \
             'homaes transcipher --report' wrote"
        ))
    })
}
