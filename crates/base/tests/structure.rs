//! Structural metrics of the workspace, counted in its source: module cycles, long files, visible fields, and
//! functions with two adjacent bare integers. A count may fall, but not rise: lower its ceiling in `CEILINGS`
//! when it has fallen.
//!
//!     cargo test --package tailcut-base structure -- --nocapture
//!
//! prints the counts by crate; with `STRUCTURE=ssd` also the findings in that crate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// A file with more lines is long.
const LONG: usize = 500;

/// Ceilings by crate: top-level modules in an import cycle, files with more than [`LONG`] lines, fields that
/// are accessible outside of their module, functions with two adjacent parameters of the same bare integer
/// type.
const CEILINGS: &[(&str, [usize; 4])] = &[
    ("base", [0, 0, 63, 5]),
    ("bench", [0, 0, 21, 0]),
    ("capi", [0, 0, 31, 1]),
    ("cli", [0, 0, 623, 17]),
    ("disk", [0, 0, 0, 0]),
    ("host", [0, 0, 855, 0]),
    ("path", [0, 0, 20, 1]),
    ("pts", [0, 0, 55, 0]),
    ("py", [0, 0, 1, 1]),
    ("rt", [0, 0, 374, 13]),
    ("sim", [0, 0, 655, 26]),
    ("ssd", [0, 0, 361, 0]),
    ("study", [0, 0, 100, 5]),
    ("torture", [0, 0, 118, 0]),
    ("workload", [0, 0, 487, 31]),
];

#[test]
fn no_count_has_risen() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates have a folder");
    let detail = std::env::var("STRUCTURE").unwrap_or_default();
    println!("crate  in cycles  long files  visible fields  bare pairs");
    let mut risen = Vec::new();
    for &(name, ceilings) in CEILINGS {
        let source = Source::read(&crates.join(name).join("src"));
        let findings = source.findings();
        if detail == name {
            findings.iter().flatten().for_each(|finding| println!("  {finding}"));
        }
        let counts = findings.map(|found| found.len());
        let [in_cycles, long_files, visible_fields, bare_pairs] = counts;
        println!("{name:5}  {in_cycles:9}  {long_files:10}  {visible_fields:14}  {bare_pairs:10}");
        if counts.iter().zip(ceilings).any(|(&count, most)| count > most) {
            risen.push(format!("{name}: {counts:?}, at most {ceilings:?}"));
        }
    }
    assert!(risen.is_empty(), "{risen:#?}");
}

/// The input of `docs/pictures/modules`: a line for each top-level module of the crates in the folder
/// `MODULES`, with its lines of source and its imports.
#[test]
#[ignore = "prints the input of docs/pictures/modules"]
fn module_graph() {
    let crates = PathBuf::from(std::env::var_os("MODULES").expect("MODULES names a folder with crates"));
    let folders = std::fs::read_dir(&crates).expect("a folder").map(|entry| entry.expect("an entry").path());
    for folder in folders.filter(|folder| folder.join("src").is_dir()) {
        let source = Source::read(&folder.join("src"));
        let name = folder.file_name().expect("a name").to_string_lossy();
        for (module, imports) in source.imports() {
            let own = source.files.iter().filter(|file| file.module.first().is_some_and(|own| own == module));
            let lines: usize = own.map(|file| file.lines).sum();
            println!("module {name} {module} {lines} {}", Vec::from_iter(imports).join(" "));
        }
    }
}

/// The files of a crate.
struct Source {
    files: Vec<File>,
    /// Top-level modules.
    modules: BTreeSet<String>,
}

struct File {
    name: String,
    lines: usize,
    /// Module path.
    module: Vec<String>,
    syntax: syn::File,
}

impl Source {
    fn read(folder: &Path) -> Source {
        let mut paths = Vec::new();
        collect(folder, &mut paths);
        paths.sort();
        let files: Vec<File> = paths.iter().map(|path| File::read(folder, path)).collect();
        let modules = files.iter().filter_map(|file| file.module.first().cloned()).collect();
        Source { files, modules }
    }

    /// The findings, in the order of [`CEILINGS`].
    fn findings(&self) -> [Vec<String>; 4] {
        let mut visitor = Visitor { file: "", fields: Vec::new(), pairs: Vec::new() };
        for file in &self.files {
            visitor.file = &file.name;
            visitor.visit_file(&file.syntax);
        }
        let long = self.files.iter().filter(|file| file.lines > LONG);
        let long = long.map(|file| format!("{}: {} lines", file.name, file.lines)).collect();
        let (fields, pairs) = (visitor.fields, visitor.pairs);
        [self.in_cycles(), long, fields, pairs]
    }

    /// What each top-level module imports from the others.
    fn imports(&self) -> BTreeMap<&str, BTreeSet<String>> {
        let mut imports: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for file in &self.files {
            let Some(module) = file.module.first() else { continue };
            let mut paths = Paths { module: &file.module, modules: &self.modules, found: BTreeSet::new() };
            paths.visit_file(&file.syntax);
            paths.found.remove(module);
            imports.entry(module).or_default().extend(paths.found);
        }
        imports
    }

    /// Top-level modules that can reach themselves by imports.
    fn in_cycles(&self) -> Vec<String> {
        let imports = self.imports();
        let reaches_itself = |module: &&str| {
            let (mut open, mut seen) = (vec![String::from(*module)], BTreeSet::new());
            while let Some(next) = open.pop() {
                for import in imports.get(next.as_str()).into_iter().flatten() {
                    if import == module {
                        return true;
                    }
                    if seen.insert(import.clone()) {
                        open.push(import.clone());
                    }
                }
            }
            false
        };
        imports.keys().copied().filter(reaches_itself).map(String::from).collect()
    }
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let is_test = entry.file_stem().is_some_and(|stem| stem == "tests" || stem == "test");
        if entry.is_dir() {
            collect(&entry, paths);
        } else if entry.extension().is_some_and(|extension| extension == "rs") && !is_test {
            paths.push(entry);
        }
    }
}

impl File {
    fn read(folder: &Path, path: &Path) -> File {
        let text = std::fs::read_to_string(path).expect("source is text");
        let within = path.strip_prefix(folder).expect("it is in the folder");
        let name = within.display().to_string();
        let mut module: Vec<String> =
            within.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if module.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
            module.pop();
        }
        let syntax = syn::parse_file(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        File { lines: text.lines().count(), name, module, syntax }
    }
}

/// Collects the top-level modules that the paths of a file refer to.
struct Paths<'s> {
    module: &'s [String],
    modules: &'s BTreeSet<String>,
    found: BTreeSet<String>,
}

impl Paths<'_> {
    fn add(&mut self, path: &[String]) {
        let mut at = self.module.to_vec();
        let mut rest = path;
        match path.first().map(String::as_str) {
            Some("crate") => (at, rest) = (Vec::new(), &path[1..]),
            Some("self") => rest = &path[1..],
            Some("super") => {}
            _ => return,
        }
        while rest.first().is_some_and(|part| part == "super") {
            at.pop();
            rest = &rest[1..];
        }
        at.extend(rest.iter().cloned());
        if let Some(first) = at.into_iter().next().filter(|first| self.modules.contains(first)) {
            self.found.insert(first);
        }
    }

    fn walk(&mut self, prefix: &mut Vec<String>, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.walk(prefix, &path.tree);
                prefix.pop();
            }
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.walk(prefix, item)),
            syn::UseTree::Name(name) => {
                prefix.push(name.ident.to_string());
                self.add(prefix);
                prefix.pop();
            }
            syn::UseTree::Rename(_) | syn::UseTree::Glob(_) => self.add(prefix),
        }
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.walk(&mut Vec::new(), &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.add(&parts);
        visit::visit_path(self, path);
    }
}

/// Collects visible fields, and functions with two adjacent bare integers.
struct Visitor<'s> {
    file: &'s str,
    fields: Vec<String>,
    pairs: Vec<String>,
}

impl Visitor<'_> {
    fn signature(&mut self, signature: &syn::Signature) {
        let integers: Vec<Option<String>> = signature.inputs.iter().map(bare_integer).collect();
        if integers.windows(2).any(|pair| pair[0].is_some() && pair[0] == pair[1]) {
            self.pairs.push(format!("{}: fn {}", self.file, signature.ident));
        }
    }
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        for field in item.fields.iter().filter(|field| !matches!(field.vis, syn::Visibility::Inherited)) {
            let name = field.ident.as_ref().map_or_else(|| "0".into(), ToString::to_string);
            self.fields.push(format!("{}: {}.{name}", self.file, item.ident));
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.signature(&item.sig);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.signature(&item.sig);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.signature(&item.sig);
        visit::visit_trait_item_fn(self, item);
    }
}

/// The type of a parameter, if it is an integer.
fn bare_integer(input: &syn::FnArg) -> Option<String> {
    let syn::FnArg::Typed(input) = input else { return None };
    let syn::Type::Path(path) = &*input.ty else { return None };
    let name = path.path.get_ident()?.to_string();
    matches!(name.as_str(), "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i32" | "i64").then_some(name)
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    })
}

/// `Ssd` is an event loop over three state machines: frontend, mapping and backend. `FIELDS` limits the
/// fields of `Ssd`, `FILES` the source files with methods of it; all of them are in the folder `ssd/src/ssd`,
/// and none is long.
#[test]
fn a_drive_is_three_machines_and_a_loop() {
    const FIELDS: usize = 7;
    const FILES: usize = 5;
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates have a folder");
    let source = Source::read(&crates.join("ssd/src"));
    let is_named_ssd = |path: &syn::Path| path.segments.last().is_some_and(|segment| segment.ident == "Ssd");
    let is_ssd =
        |item: &syn::ItemImpl| matches!(&*item.self_ty, syn::Type::Path(path) if is_named_ssd(&path.path));
    let implements = |file: &&File| {
        file.syntax.items.iter().any(|item| matches!(item, syn::Item::Impl(item) if is_ssd(item)))
    };
    let files: Vec<&File> = source.files.iter().filter(implements).collect();
    assert!(files.iter().all(|file| file.module[0] == "ssd"), "a method of Ssd outside of its folder");
    let lines: usize = files.iter().map(|file| file.lines).sum();
    println!("{} files with methods of Ssd, {lines} lines", files.len());
    assert!(files.len() <= FILES, "{} files with methods of Ssd", files.len());
    assert!(files.iter().all(|file| file.lines <= LONG), "a long file with methods of Ssd");
    let fields = source.files.iter().flat_map(|file| &file.syntax.items).find_map(|item| match item {
        syn::Item::Struct(item) if item.ident == "Ssd" => Some(item.fields.len()),
        _ => None,
    });
    assert!(fields.is_some_and(|fields| fields <= FIELDS), "{fields:?} fields");
}

/// No two kinds of block on an array member share a magic number: a misdirected write may replace one by
/// another. A store lies above its array, and its superblock is found by its location.
#[test]
fn kinds_of_blocks_on_members_have_different_magics() {
    let array = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates have a folder");
    let mut paths = Vec::new();
    collect(&array.join("host/src/array"), &mut paths);
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a source file is text");
        for (_, behind) in
            text.match_indices("*b\"tailcut").map(|(at, found)| (at, &text[at + found.len()..]))
        {
            let kind = behind.split('"').next().expect("a literal ends").to_string();
            places.entry(kind).or_default().push(path.display().to_string());
        }
    }
    assert!(places.len() >= 10, "the search for them is broken: {places:?}");
    places.retain(|_, places| places.len() > 1);
    assert!(places.is_empty(), "{places:#?}");
}
