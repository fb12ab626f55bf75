"""Sweeps: a network on many machines and with many options, on many processes.

`npu-explore` and `explore` of `npu_tools.exploring.api` compute a row for each point of a space,
keep the rows in a store of Parquet files, and find those that no other one beats.
"""
