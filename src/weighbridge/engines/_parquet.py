"""Parquet files and folders as Arrow datasets."""

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

from weighbridge.engines._blocks import naming_failures


def open_parquet(path: Path) -> ds.Dataset:
    """Return a file or folder as a dataset, or raise BlockError unless its files are alike."""
    with naming_failures(f"{path.name} could not be opened as Parquet"):
        # A buffer would hold whole row groups.
        options = ds.ParquetFragmentScanOptions(pre_buffer=False, page_checksum_verification=True)
        parquet = ds.ParquetFileFormat(default_fragment_scan_options=options)
        paths: list[str] | str = str(path)
        if path.is_dir():
            paths = sorted(str(file) for file in path.rglob("*") if file.suffix == ".parquet")
        if not paths:
            raise FileNotFoundError("The folder has no .parquet files.")
        hive = {"partitioning": "hive", "partition_base_dir": str(path)} if path.is_dir() else {}
        dataset = ds.dataset(paths, format=parquet, **hive)
        first, *others = dataset.get_fragments()
    schema, names = dataset.schema, first.physical_schema.names
    for file in others:
        with naming_failures(f"{file.path} and {first.path} must have the same columns"):
            if difference := set(file.physical_schema.names) ^ set(names):
                raise ValueError(f"Only one of them has {sorted(difference)}.")
            schema = pa.unify_schemas([schema, file.physical_schema], promote_options="permissive")
    return ds.FileSystemDataset([first, *others], schema, parquet, dataset.filesystem)
