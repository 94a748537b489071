use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;

/// A value without the table it came from.
#[derive(Debug, Clone, PartialEq)]
enum Owned {
    Null,
    U64(u64),
    I64(i64),
    F64(f64),
    Bool(bool),
    Text(String),
}

impl Owned {
    fn cell(&self) -> Cell<'_> {
        match self {
            Self::Null => Cell::Null,
            Self::U64(value) => Cell::U64(*value),
            Self::I64(value) => Cell::I64(*value),
            Self::F64(value) => Cell::F64(*value),
            Self::Bool(value) => Cell::Bool(*value),
            Self::Text(text) => Cell::Text(text),
        }
    }
}

fn values(kind: Kind, optional: bool) -> BoxedStrategy<Owned> {
    let value = match kind {
        Kind::U64 => any::<u64>().prop_map(Owned::U64).boxed(),
        Kind::I64 => any::<i64>().prop_map(Owned::I64).boxed(),
        Kind::F64 => {
            any::<f64>().prop_filter("equal to itself", |value| !value.is_nan()).prop_map(Owned::F64).boxed()
        }
        Kind::Bool => any::<bool>().prop_map(Owned::Bool).boxed(),
        Kind::Text => "[a-cä\"\n]{0,3}".prop_map(Owned::Text).boxed(),
    };
    if optional { prop_oneof![1 => Just(Owned::Null), 3 => value].boxed() } else { value }
}

fn tables() -> impl Strategy<Value = (Schema, Vec<Vec<Owned>>)> {
    let kind = prop::sample::select(vec![Kind::U64, Kind::I64, Kind::F64, Kind::Bool, Kind::Text]);
    prop::collection::vec((kind, any::<bool>()), 1..5).prop_flat_map(|columns| {
        let row: Vec<_> = columns.iter().map(|&(kind, optional)| values(kind, optional)).collect();
        let named = columns.into_iter().enumerate().map(|(index, (kind, optional))| Column {
            name: format!("column {index}"),
            kind,
            optional,
        });
        let schema = Schema::new(named).unwrap();
        (Just(schema), prop::collection::vec(row, 0..40))
    })
}

fn write(path: &Path, schema: &Schema, options: Options, rows: &[Vec<Owned>]) -> Finished {
    let mut writer = create_with(path, schema.clone(), options).unwrap();
    for row in rows {
        let cells: Vec<_> = row.iter().map(Owned::cell).collect();
        writer.row(&cells).unwrap();
    }
    writer.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read((schema, rows) in tables(), rows_per_group in 1..20usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        let metadata = vec![("seed".to_owned(), "7".to_owned())];
        let options = Options { rows_per_group, metadata: metadata.clone(), ..Options::default() };
        let finished = write(&path, &schema, options, &rows);
        prop_assert_eq!(finished.rows, rows.len() as u64);
        prop_assert_eq!(finished.bytes, fs::metadata(&path).unwrap().len());
        let table = read_table(&path).unwrap();
        prop_assert_eq!(table.schema(), &schema);
        prop_assert_eq!(table.metadata(), &metadata[..]);
        prop_assert_eq!(table.rows(), rows.len());
        for (index, row) in rows.iter().enumerate() {
            let cells: Vec<_> = row.iter().map(Owned::cell).collect();
            prop_assert_eq!(table.row(index), cells);
        }
    }

    #[test]
    fn json_lines_are_json((schema, rows) in tables()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.jsonl");
        write(&path, &schema, Options::default(), &rows);
        let text = fs::read_to_string(&path).unwrap();
        prop_assert_eq!(text.lines().count(), rows.len());
        for (line, row) in text.lines().zip(&rows) {
            let object: serde_json::Value = serde_json::from_str(line).unwrap();
            for (column, value) in schema.columns().iter().zip(row) {
                let expected = match value {
                    Owned::Null => serde_json::Value::Null,
                    Owned::U64(value) => (*value).into(),
                    Owned::I64(value) => (*value).into(),
                    // From finite numbers only; others are null here as in the file.
                    Owned::F64(value) => (*value).into(),
                    Owned::Bool(value) => (*value).into(),
                    Owned::Text(text) => text.as_str().into(),
                };
                let found = &object[&column.name];
                // The parser of the test rounds the last digit of long fractions.
                match (found.as_f64(), expected.as_f64()) {
                    (Some(found), Some(expected)) if found != expected => {
                        prop_assert!((found / expected - 1.0).abs() < 1e-14, "{found} for {expected}");
                    }
                    _ => prop_assert_eq!(found, &expected),
                }
            }
        }
    }
}

fn numbers() -> Schema {
    Schema::new([column("number", Kind::U64), column("name", Kind::Text)]).unwrap()
}

fn written(rows: u64) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("numbers.parquet");
    let mut writer = create(&path, numbers()).unwrap();
    for number in 0..rows {
        writer.row(&[number.into(), "same".into()]).unwrap();
    }
    writer.finish().unwrap();
    (folder, path)
}

#[test]
fn memory_is_bounded_by_the_row_group() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("numbers.parquet");
    let options = Options { rows_per_group: 1000, bytes_per_group: 1 << 20, ..Options::default() };
    let mut writer = ParquetWriter::create(&path, numbers(), options).unwrap();
    for number in 0..10_500u64 {
        writer.row(&[number.into(), "same".into()]).unwrap();
        assert!(writer.buffered_rows() < 1000);
    }
    // Text that is different in every row fills the group earlier.
    let long = "x".repeat(10_000);
    for number in 0..200u64 {
        writer.row(&[number.into(), format!("{number}{long}").as_str().into()]).unwrap();
        assert!(writer.buffered_rows() < 600);
    }
    Box::new(writer).finish().unwrap();
    let reader = TableReader::open(&path).unwrap();
    assert!(reader.groups() >= 13, "{} groups", reader.groups());
    assert_eq!(reader.rows(), 10_700);
    let rows: usize = (0..reader.groups()).map(|group| reader.read_group(group).unwrap().rows()).sum();
    assert_eq!(rows, 10_700);
}

#[test]
fn only_a_finished_table_has_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let names = || -> Vec<String> {
        let entries = fs::read_dir(folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    for name in ["a.parquet", "a.jsonl", "a.csv"] {
        let path = folder.path().join(name);
        let mut writer = create(&path, numbers()).unwrap();
        writer.row(&[1u64.into(), "one".into()]).unwrap();
        assert_eq!(names(), [format!(".{name}.hawser-new-0")]);
        drop(writer);
        assert!(names().is_empty(), "a writer that is given up leaves nothing");
        // What a killed writer left is no part of the next table.
        fs::write(folder.path().join(format!(".{name}.hawser-new-0")), [b'x'; 100_000]).unwrap();
        let finished = create(&path, numbers()).unwrap().finish().unwrap();
        assert_eq!(names(), [name]);
        assert_eq!(fs::metadata(&path).unwrap().len(), finished.bytes);
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_full_disk_has_an_error_of_its_own() {
    for name in ["a.parquet", "a.jsonl", "a.csv"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let mut writer = create(&path, numbers()).unwrap();
        writer.row(&[1u64.into(), "one".into()]).unwrap();
        let error = writer.finish().unwrap_err();
        assert!(matches!(&error, TableError::DiskFull { .. }), "{error}");
    }
}

#[test]
fn no_file_takes_the_place_of_a_device() {
    for name in ["a.parquet", "a.jsonl", "a.csv"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        let mut writer = create(&path, numbers()).unwrap();
        writer.row(&[1u64.into(), "one".into()]).unwrap();
        writer.finish().unwrap();
        drop(create(&path, numbers()).unwrap());
        assert_eq!(fs::read_link(&path).unwrap(), Path::new("/dev/null"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing beside it");
    }
}

#[test]
fn a_truncated_file_is_refused_wherever_it_ends() {
    let (_folder, path) = written(200);
    let bytes = fs::read(&path).unwrap();
    for length in 0..bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        let error = read_table(&path).unwrap_err();
        assert!(error.to_string().contains("is no complete Parquet file"), "{length} bytes: {error}");
    }
}

#[test]
fn rows_that_do_not_fit_are_refused_and_not_added() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = create(&folder.path().join("a.parquet"), numbers()).unwrap();
    let width = writer.row(&[1u64.into()]).unwrap_err();
    assert_eq!(width.to_string(), "a row has 1 cells; the table has 2 columns");
    let kind = writer.row(&[1.0.into(), "one".into()]).unwrap_err();
    assert_eq!(kind.to_string(), "column `number` takes u64, not f64");
    let nothing = writer.row(&[1u64.into(), Cell::Null]).unwrap_err();
    assert_eq!(nothing.to_string(), "column `name` takes string, not nothing");
    assert_eq!(writer.finish().unwrap().rows, 0);
}

#[test]
fn wrong_names_are_refused() {
    let twice = Schema::new([column("a", Kind::U64), column("a", Kind::I64)]);
    assert!(matches!(twice, Err(TableError::BadColumnName { name }) if name == "a"));
    assert!(Schema::new([]).is_err());
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(
        create(&folder.path().join("table.txt"), numbers()),
        Err(TableError::UnknownKind { .. })
    ));
    let missing = read_table(&folder.path().join("none.parquet")).unwrap_err();
    assert!(matches!(missing, TableError::Read { .. }));
}

#[test]
fn tables_are_put_together_and_asked_for_columns() {
    let (_folder, path) = written(3);
    let mut table = read_table(&path).unwrap();
    table.append(&read_table(&path).unwrap()).unwrap();
    let numbers: Vec<_> = table.numbers("number").unwrap().into_iter().flatten().collect();
    assert_eq!(numbers, [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
    assert_eq!(table.texts("name").unwrap(), [Some("same"); 6]);
    let Some(Values::Text(names)) = table.values(1) else { panic!("a text column") };
    assert_eq!(names.dictionary, ["same"]);
    assert!(table.numbers("name").unwrap_err().to_string().contains("number: u64, name: string"));
    let other = Table::new(Schema::new([column("x", Kind::F64)]).unwrap());
    assert!(matches!(table.append(&other), Err(TableError::DifferentSchemas { .. })));
}

#[test]
fn csv_quotes_what_needs_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let schema = Schema::new([column("a,b", Kind::Text).optional(), column("c", Kind::F64)]).unwrap();
    let mut writer = create(&path, schema).unwrap();
    for text in [Cell::Null, "".into(), "x\"y".into(), "plain".into()] {
        writer.row(&[text, 0.5.into()]).unwrap();
    }
    writer.finish().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text, "\"a,b\",c\n,0.5\n\"\",0.5\n\"x\"\"y\",0.5\nplain,0.5\n");
}
