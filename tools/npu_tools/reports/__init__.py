"""Reports on a network: the data of report.json, and tables for people."""
